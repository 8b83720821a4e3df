// lstm, gru and their gradients, of sizes whose products go by tiles, beside cpu.so's.
#include "unit/opencl_graphs/opencl_device.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;
using Dims = std::vector<int64_t>;

constexpr int64_t kExamples = 18, kSteps = 4, kInputs = 20, kUnits = 36;

struct Cell {
  const char* name;
  std::vector<Dims> operands, results;
};
void PrintTo(const Cell& c, std::ostream* out) { *out << c.name; }

const Dims kX{kExamples, kSteps, kInputs}, kState{kExamples, kUnits}, kY{kExamples, kSteps, kUnits};
const Dims kGates{kExamples, kSteps, 4 * kUnits};
const Dims kW4{kInputs, 4 * kUnits}, kR4{kUnits, 4 * kUnits}, kB4{4 * kUnits};
const Dims kW3{kInputs, 3 * kUnits}, kR3{kUnits, 3 * kUnits}, kB3{3 * kUnits};

const Cell kCells[] = {
    {"lstm", {kX, kState, kState, kW4, kR4, kB4}, {kY, kState, kGates}},
    {"lstm_grad", {kY, kState, kX, kState, kState, kW4, kR4, kB4, kY, kGates}, {kX, kState, kState, kW4, kR4, kB4}},
    {"gru", {kX, kState, kW3, kR3, kB3, kB3}, {kY, kGates}},
    {"gru_grad", {kY, kX, kState, kW3, kR3, kB3, kB3, kY, kGates}, {kX, kState, kW3, kR3, kB3, kB3}},
};

FlatGraph graph_of(const Cell& c) {
  GraphBuilder b;
  std::vector<uint32_t> operands, results;
  for (const Dims& dims : c.operands) operands.push_back(b.input(TENON_F32, dims, TENON_ROLE_FEED));
  for (const Dims& dims : c.results) results.push_back(b.value(TENON_F32, dims));
  b.node(c.name, operands, results).name("cell");
  for (const uint32_t r : results) b.result(r);
  return b.build();
}

class OpenclRecurrent : public OnOpencl, public testing::WithParamInterface<Cell> {};

TEST_P(OpenclRecurrent, IsThatOfCpu) {
  const FlatGraph graph = graph_of(GetParam());
  const std::vector<Tensor> inputs = drawn_inputs(graph);
  Subject cpu(plugin_path("cpu.so"), 1, 2);
  const std::vector<Tensor> expected = run_graph(cpu, *graph.graph(), inputs);

  const std::vector<Tensor> found = run_graph(*opencl(), *graph.graph(), inputs);

  for (size_t r = 0; r < expected.size(); ++r) {
    double largest = 1;
    for (const double v : expected[r].f) largest = std::max(largest, std::abs(v));
    for (size_t i = 0; i < expected[r].f.size(); ++i)
      ASSERT_NEAR(found[r].f[i], expected[r].f[i], 1e-5 * largest) << "result " << r << ", element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cells, OpenclRecurrent, testing::ValuesIn(kCells),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenon::conformance

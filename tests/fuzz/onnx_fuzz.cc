// ONNX files: either the file is refused, or its nodes are built by rules that refuse one by name, and what is built is a graph.
#include <cstdlib>
#include <string_view>

#include "graph/graph.h"
#include "import/onnx/file/onnx_model_file.h"
#include "import/onnx/plan.h"
#include "op/op.h"

using namespace tenon;

namespace {

constexpr int64_t kRows = 2;
constexpr int64_t kMostElements = int64_t{1} << 20;  // of an input

bool takes(const onnx::OnnxFile& file) {
  for (const onnx::ValueData& input : file.graph.inputs) {
    if (onnx::stored_as(input.element) == DType::kNone || input.dims.size() > kMaxRank) return false;
    int64_t elements = 1;
    for (const onnx::DimData& dim : input.dims) {
      if (dim.size == 0 || dim.size > kMostElements) return false;
      elements *= dim.size < 0 ? kRows : dim.size;
      if (elements > kMostElements) return false;
    }
  }
  return true;
}

void build_in(Graph& graph, const onnx::Plan& plan) {
  Features features;
  for (const onnx::ValueData& input : plan.file.graph.inputs) {
    std::vector<int64_t> dims;
    for (const onnx::DimData& dim : input.dims) dims.push_back(dim.size < 0 ? kRows : dim.size);
    const Type type{onnx::stored_as(input.element), Shape(dims)};
    features.set(input.name, Tensor(&graph, graph.add_input(type, Role::kFeed, input.name)));
  }
  onnx::Walk walk(plan, graph, features);
  walk.run();
  for (const onnx::ValueData& output : plan.file.graph.outputs) {
    const onnx::Value value = walk.find(output.name);
    if (!value.is_empty()) graph.results.push_back({value.file().id()});
  }
}

void expect_bounded(const Status& status) {
  if (status.message().size() > 1 << 16) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Result<onnx::OnnxFile> file = onnx::parse_file(std::string(reinterpret_cast<const char*>(data), size), "f");
  if (!file.ok()) return expect_bounded(file.status()), 0;
  if (!takes(*file)) return 0;
  const Result<std::shared_ptr<onnx::Plan>> plan =
      onnx::make_plan(std::move(*file), {.replace_head = size % 2 == 0 ? 0 : 3});
  if (!plan.ok()) return expect_bounded(plan.status()), 0;
  Graph graph;
  graph.mode = size % 3 == 0 ? Mode::kTrain : Mode::kPredict;
  try {
    const Building building(graph);
    build_in(graph, **plan);
  } catch (const Error& e) {
    return expect_bounded(e.status()), 0;
  }
  if (!verify(graph).ok()) std::abort();
  return 0;
}

// Attention of several blocks of queries, and of few, beside cpu.so's in f32.
#include "conformance/reference/reference.h"
#include "unit/opencl_graphs/opencl_device.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;
using Dims = std::vector<int64_t>;

struct Heads {
  const char* name;
  int64_t B, T, N, D, S, M;
  bool causal, biased;
  double rate;
  int32_t dtype = TENON_F32;
};
void PrintTo(const Heads& c, std::ostream* out) { *out << c.name; }

constexpr Heads kHeads[] = {
    {"long", 1, 101, 2, 32, 130, 2, false, false, 0},
    {"shared", 2, 100, 4, 20, 131, 2, true, true, 0.25},
    {"blind", 1, 150, 3, 17, 70, 1, true, false, 0},  // the first queries see nothing
    {"dropped", 1, 64, 2, 64, 64, 2, false, true, 0.5},
    {"wide", 1, 40, 2, 136, 70, 1, true, false, 0},
    {"double", 2, 13, 2, 6, 9, 2, false, false, 0, TENON_F64},  // keys that fill neither a vector nor a tile
    {"double_shared", 2, 50, 4, 7, 21, 2, true, true, 0.25, TENON_F64},
    {"one", 3, 1, 8, 32, 133, 8, false, true, 0},  // as text is written
    {"few_shared", 2, 4, 4, 80, 35, 2, true, false, 0},
    {"few_blind", 2, 4, 2, 16, 2, 2, true, true, 0},
    {"few_dropped", 1, 2, 2, 16, 64, 2, false, false, 0.5},
    {"double_one", 2, 1, 4, 16, 21, 2, false, true, 0, TENON_F64},
};

GraphBuilder& attributes(GraphBuilder& b, const Heads& c) {
  return b.attr_f64("scale", 0.3).attr_bool("causal", c.causal).attr_f64("rate", c.rate).attr_i64("stream", 77);
}

// y, lse, dq, dk, dv, [dbias]; floats of `dtype`.
FlatGraph attention_of(const Heads& c, int32_t dtype) {
  const Dims query{c.B, c.T, c.N, c.D}, key{c.B, c.S, c.M, c.D}, scores{c.B, c.N, c.T, c.S};
  GraphBuilder b;
  const auto feed = [&](int32_t type, const Dims& dims) { return b.input(type, dims, TENON_ROLE_FEED); };
  const uint32_t dy = feed(dtype, query), q = feed(dtype, query), k = feed(dtype, key);
  const uint32_t v = feed(dtype, key), seed = feed(TENON_I64, {}), step = feed(TENON_I64, {});
  const uint32_t bias = c.biased ? feed(dtype, scores) : TENON_NONE;
  const uint32_t y = b.value(dtype, query), lse = b.value(dtype, {c.B, c.N, c.T});
  attributes(b.node("attention", {q, k, v, bias, seed, step}, {y, lse}).name("a"), c);
  std::vector<uint32_t> results{y, lse}, gradients{b.value(dtype, query), b.value(dtype, key), b.value(dtype, key)};
  if (c.biased) gradients.push_back(b.value(dtype, scores));
  attributes(b.node("attention_grad", {dy, q, k, v, y, lse, bias, seed, step}, gradients).name("b"), c)
      .attr_bool("dbias", c.biased);
  results.insert(results.end(), gradients.begin(), gradients.end());
  for (uint32_t r : results) b.result(r);
  return b.build();
}

class OpenclAttention : public OnOpencl, public testing::WithParamInterface<Heads> {};

TEST_P(OpenclAttention, IsThatOfCpu) {
  const int32_t dtype = GetParam().dtype;
  const FlatGraph single = attention_of(GetParam(), TENON_F32), graph = attention_of(GetParam(), dtype);
  std::vector<Tensor> inputs = drawn_inputs(single);
  Subject cpu(plugin_path("cpu.so"), 1, 2);
  const std::vector<Tensor> expected = run_graph(cpu, *single.graph(), inputs);
  for (Tensor& x : inputs)
    if (x.dtype == TENON_F32) x.dtype = dtype;
  const std::vector<Tensor> found = run_graph(*opencl(), *graph.graph(), inputs);
  for (size_t r = 0; r < expected.size(); ++r)
    for (size_t i = 0; i < expected[r].f.size(); ++i) {
      const double e = expected[r].f[i], f = found[r].f[i];
      if (e == f) continue;  // infinities too
      ASSERT_LE(std::abs(e - f), 2e-5 * (1 + std::abs(e))) << "result " << r << ", element " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, OpenclAttention, testing::ValuesIn(kHeads),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenon::conformance

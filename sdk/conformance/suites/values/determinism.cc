// The same bits each run, at any number of threads.
#include <algorithm>
#include <map>
#include <memory>

#include "conformance/expected.h"
#include "conformance/host/lowering.h"
#include "conformance/suites/support.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using reference::Tensor;

// The same library initialised with hosts of 1, 2 and 3 threads.
Subject& with_threads(Subject& like, uint32_t threads) {
  static std::map<uint32_t, std::unique_ptr<Subject>> subjects;  // closed when the process ends
  std::unique_ptr<Subject>& subject = subjects[threads];
  if (!subject) subject = std::make_unique<Subject>(like.path(), like.seed(), threads, like.spec() ? like.spec() : "");
  return *subject;
}

// Throws Unsupported where the backend says that it cannot comply.
void require_determinism(Subject& s, const FlatGraph& graph) {
  const plugin::GraphView view(*graph.graph());
  std::vector<tenon_verdict> verdicts(view.n_nodes());
  std::vector<uint32_t> nodes;
  for (uint32_t i = 0; i < view.n_nodes(); ++i) nodes.push_back(i);
  tenon_options options{};
  options.struct_size = sizeof options;
  options.flags = TENON_OPTION_DETERMINISTIC;
  expect_ok(s.backend().supports(s.device(), graph.graph(), &options, nodes.data(), view.n_nodes(), verdicts.data(),
                                 sizeof(tenon_verdict)),
            "supports");
  for (uint32_t i = 0; i < view.n_nodes(); ++i) {
    const std::string op(view.node(i).op());
    if (verdicts[i].answer == TENON_DECOMPOSE && !reference::is_primitive(op))
      throw Declined{op + " is left to its decomposition"};
    if (verdicts[i].answer != TENON_TAKE) throw Unsupported{op + ": " + one_line(verdicts[i].reason)};
  }
}

using Bits = std::vector<std::vector<uint8_t>>;

Bits bits_of(Subject& s, const FlatGraph& graph, const std::vector<Tensor>& inputs) {
  tenon_options options{};
  options.flags = TENON_OPTION_DETERMINISTIC;
  Bits bits;
  for (const Tensor& t : run_graph(s, *graph.graph(), inputs, Place::kDevice, options))
    bits.push_back(reference::to_bytes(t));
  return bits;
}

void expect_same_bits(const Bits& found, const Bits& expected, const std::string& when) {
  for (size_t r = 0; r < expected.size(); ++r) {
    const auto [a, b] = std::mismatch(found[r].begin(), found[r].end(), expected[r].begin());
    if (a != found[r].end())
      fail("result " + std::to_string(r) + " of " + std::to_string(expected.size()) + ": byte " +
           std::to_string(a - found[r].begin()) + " is " + std::to_string(*a) + " " + when + ", " + std::to_string(*b) +
           " before");
  }
}

void gives_the_same_bits(Subject& s, const FlatGraph& graph, const std::vector<Tensor>& inputs) {
  require_determinism(s, graph);
  const Bits expected = bits_of(s, graph, inputs);
  for (int i = 0; i < 2; ++i) expect_same_bits(bits_of(s, graph, inputs), expected, "in another run");
  for (uint32_t limit : {1u, 2u}) {
    s.limit_gang(limit);
    const Bits found = bits_of(s, graph, inputs);
    s.limit_gang(0);
    expect_same_bits(found, expected, "with gangs of " + std::to_string(limit));
  }
  for (uint32_t threads : {1u, 2u, 3u}) {
    expect_same_bits(bits_of(with_threads(s, threads), graph, inputs), expected,
                     "with a host of " + std::to_string(threads) + " threads");
  }
}

void case_gives_the_same_bits(Subject& s, const Case& c) {
  gives_the_same_bits(s, lowered_for(s, s.device(), c), inputs_of(c, s.seed()));
}

// ---- graphs large enough for a gang ----

struct Large {
  FlatGraph graph;
  std::vector<Tensor> inputs;
};

class LargeSketch : public Sketch {
 public:
  uint32_t uniform(const Dims& dims) {
    Fill fill;
    fill.kind = Fill::kUniform;
    fill.seed = 100 + inputs_.size();
    fill.low = -1;
    fill.high = 1;
    inputs_.push_back(make_tensor(TENON_F32, dims, fill));
    return state(TENON_F32, dims);
  }
  uint32_t indices(int64_t n, double below) {
    Fill fill;
    fill.kind = Fill::kUniform;
    fill.seed = 7;
    fill.high = below;
    inputs_.push_back(make_tensor(TENON_I32, {n}, fill));
    return state(TENON_I32, {n});
  }
  Large done() { return {builder.build(), std::move(inputs_)}; }

 private:
  std::vector<Tensor> inputs_;
};

Large large_sum(std::vector<int64_t> axes, const Dims& out) {
  LargeSketch g;
  g.builder.result(g.node("reduce", {g.uniform({160, 1025})}, TENON_F32, out));
  g.builder.attr_list("axes", axes).attr_enum("kind", TENON_REDUCE_SUM);
  return g.done();
}

Large large_dot(int64_t m, int64_t k, int64_t n) {
  LargeSketch g;
  const uint32_t a = g.uniform({m, k}), b = g.uniform({k, n});
  g.builder.result(g.node("dot", {a, b}, TENON_F32, {m, n}));
  g.builder.attr_bool("ta", false)
      .attr_bool("tb", false)
      .attr_enum("precision", TENON_PRECISION_HIGHEST)
      .attr_dtype("out", TENON_F32);
  return g.done();
}

Large large_scatter() {
  LargeSketch g;
  const uint32_t x = g.uniform({500, 16}), i = g.indices(20000, 510), u = g.uniform({20000, 16});
  g.builder.result(g.node("scatter", {x, i, u}, TENON_F32, {500, 16}));
  g.builder.attr_i64("axis", 0).attr_i64("batch", 0).attr_enum("kind", TENON_SCATTER_ADD);
  return g.done();
}

void convolution(LargeSketch& g) {
  g.builder.attr_list("strides", {1, 1})
      .attr_list("low", {1, 1})
      .attr_list("high", {1, 1})
      .attr_list("dilation", {1, 1})
      .attr_i64("groups", 1);
  g.builder.attr_enum("precision", TENON_PRECISION_HIGHEST).attr_dtype("out", TENON_F32);
}

Large large_conv() {
  LargeSketch g;
  const uint32_t x = g.uniform({8, 33, 33, 16}), w = g.uniform({3, 3, 16, 24});
  g.builder.result(g.node("conv", {x, w}, TENON_F32, {8, 33, 33, 24}));
  convolution(g);
  return g.done();
}

Large large_conv_grad_filter() {
  LargeSketch g;
  const uint32_t x = g.uniform({8, 33, 33, 16}), dy = g.uniform({8, 33, 33, 24});
  g.builder.result(g.node("conv_grad_filter", {x, dy}, TENON_F32, {3, 3, 16, 24}));
  g.builder.attr_list("size", {3, 3});
  convolution(g);
  return g.done();
}

Large large_conv_grad_input() {
  LargeSketch g;
  const uint32_t dy = g.uniform({8, 33, 33, 24}), w = g.uniform({3, 3, 16, 24});
  g.builder.result(g.node("conv_grad_input", {dy, w}, TENON_F32, {8, 33, 33, 16}));
  g.builder.attr_list("size", {33, 33});
  convolution(g);
  return g.done();
}

// The largest cases of each op, and the models.
std::vector<const Case*> chosen_cases() {
  std::map<std::string, const Case*> largest;
  std::vector<const Case*> chosen;
  for (const Case& c : built_in_corpus()) {
    if (c.min_memory) continue;
    if (c.kind == Case::kTraining) chosen.push_back(&c);
    if (c.kind != Case::kOp && c.kind != Case::kUpdate) continue;
    const Case*& best = largest[c.op];
    if (!best || case_size(c) > case_size(*best)) best = &c;
  }
  for (const auto& [op, c] : largest) chosen.push_back(c);
  return chosen;
}

}  // namespace

void add_determinism_tests(Tests& tests) {
  const auto add = [&](const char* group, const std::string& name, std::function<void(Subject&)> run, int level) {
    Test& test = add_test(tests, "determinism", group, name, std::move(run), level);
    test.required = false;  // an op may say that it cannot comply
  };
  const auto add_large = [&](const char* name, std::function<Large()> make) {
    add(
        "large", name,
        [make](Subject& s) {
          const Large large = make();
          gives_the_same_bits(s, large.graph, large.inputs);
        },
        1);
  };
  add_large("sum of f32[160,1025]", [] { return large_sum({0, 1}, {}); });
  add_large("sum of rows of f32[160,1025]", [] { return large_sum({1}, {160}); });
  add_large("sum of columns of f32[160,1025]", [] { return large_sum({0}, {1025}); });
  add_large("dot of f32[130,1000] and f32[1000,70]", [] { return large_dot(130, 1000, 70); });
  add_large("dot of f32[1,30000] and f32[30000,3]", [] { return large_dot(1, 30000, 3); });
  add_large("scatter of 20,000 rows into 500", large_scatter);
  add_large("conv of f32[8,33,33,16]", large_conv);
  add_large("conv_grad_filter of f32[8,33,33,16]", large_conv_grad_filter);
  add_large("conv_grad_input of f32[8,33,33,24]", large_conv_grad_input);
  for (const Case* c : chosen_cases()) {
    const bool trains = c->kind == Case::kTraining;
    add(
        trains ? "training" : "op", trains ? c->op + " " + c->name : c->op,
        [c](Subject& s) { case_gives_the_same_bits(s, *c); },
        trains                     ? 3
        : c->kind == Case::kUpdate ? 2
                                   : 1);
  }
}

}  // namespace tenon::conformance

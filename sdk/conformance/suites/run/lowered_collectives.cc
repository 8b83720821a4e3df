#include "conformance/suites/run/lowered_collectives.h"

#include "conformance/host/lowering.h"
#include "conformance/suites/support.h"

namespace tenon::conformance {
namespace {

using plugin::NodeView;

// What is done to one operand, as one result of the graph.
using Part = uint32_t (*)(Sketch&, const NodeView&, uint32_t x, const Dims& dims);

int64_t elements_of(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

uint32_t reshaped(Sketch& sketch, uint32_t x, const Dims& dims) {
  const uint32_t y = sketch.node("reshape", {x}, TENON_F32, dims);
  sketch.builder.attr_list("shape", dims);
  return y;
}

// Rows of all units, folded.
uint32_t reduced(Sketch& sketch, const NodeView& node, uint32_t x, const Dims& dims) {
  const int64_t n = elements_of(dims), units = node.i64("replicas");
  const uint32_t rows = sketch.node("all_gather", {reshaped(sketch, x, {1, n})}, TENON_F32, {units, n});
  sketch.builder.attr_i64("axis", 0).attr_i64("group", node.i64("group")).attr_i64("replicas", units);
  const uint32_t folded = sketch.node("reduce", {rows}, TENON_F32, {n});
  sketch.builder.attr_list("axes", {0}).attr_enum("kind", node.enumerator("kind"));
  return reshaped(sketch, folded, dims);
}

// The sum of all units, of which each takes its own part. Groups are of all units here.
uint32_t scattered(Sketch& sketch, const NodeView& node, uint32_t x, const Dims& dims) {
  const int64_t units = node.i64("replicas");
  const auto axis = static_cast<size_t>(node.i64("axis"));
  const uint32_t sum = sketch.node("all_reduce", {x}, TENON_F32, dims);
  sketch.builder.attr_enum("kind", TENON_REDUCE_SUM).attr_i64("group", node.i64("group")).attr_i64("replicas", units);
  const int64_t before = elements_of(Dims(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(axis)));
  const int64_t rest = elements_of(dims) / units / before;
  const uint32_t parts = reshaped(sketch, sum, {before, units, rest});
  const uint32_t own =
      sketch.node("gather", {parts, sketch.node("replica_id", {}, TENON_I32, {})}, TENON_F32, {before, rest});
  sketch.builder.attr_i64("axis", 1);
  Dims to = dims;
  to[axis] /= units;
  return reshaped(sketch, own, to);
}

plugin::FlatGraph decomposition(const NodeView& node, Part part) {
  Sketch sketch;
  std::vector<uint32_t> results;
  for (int k = 0; k < node.operands(); ++k) {
    const Dims dims = node.in(k).dims().vec();
    results.push_back(part(sketch, node, sketch.feed(TENON_F32, dims), dims));
  }
  for (const uint32_t r : results) sketch.builder.result(r);
  return sketch.builder.build();
}

}  // namespace

plugin::FlatGraph lowered_collectives(Subject& subject, tenon_device* device, plugin::FlatGraph graph) {
  for (;;) {
    const plugin::GraphView view(*graph.graph());
    const std::vector<Answer> found = answers(subject, device, *graph.graph());
    std::vector<Decomposition> parts;
    std::vector<bool> decompose(view.n_nodes(), false);
    for (uint32_t i = 0; i < view.n_nodes(); ++i) {
      const std::string_view op = view.node(i).op();
      if (found[i].answer != TENON_DECOMPOSE || (op != "all_reduce" && op != "reduce_scatter")) continue;
      decompose[i] = true;
      parts.push_back({i, decomposition(view.node(i), op == "all_reduce" ? reduced : scattered)});
    }
    if (parts.empty()) return graph;
    graph = inline_decompositions(*graph.graph(), parts, decompose);
  }
}

}  // namespace tenon::conformance

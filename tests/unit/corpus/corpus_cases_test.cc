// The cases: there is one for all that there should be, and the reference evaluates each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "conformance/corpus/corpus.h"
#include "conformance/host/lowering.h"
#include "op/op.h"
#include "tenon/plugin/graph.h"
#include "tenon/plugin/graph_check.h"

namespace tenon::conformance {
namespace {

using plugin::GraphView;
using plugin::NodeView;

std::string name_of(const Case& c) { return c.op + " '" + c.name + "'"; }

bool composite(const NodeView& node) {
  const OpDef* op = find_op(node.op(), static_cast<int>(node.version()));
  return op && !op->primitive();
}

std::vector<reference::Tensor> inputs_of_case(const Case& c, const tenon_graph& graph) {
  const GraphView view(graph);
  std::vector<reference::Tensor> out;
  for (uint32_t i = 0; i < view.n_inputs(); ++i) {
    const plugin::ValueView v = view.value(view.input(i).value);
    out.push_back(make_tensor(v.dtype(), v.dims().vec(), c.inputs[i]));
  }
  return out;
}

bool same_type(const plugin::ValueView& a, const plugin::ValueView& b) {
  return a.dtype() == b.dtype() && a.dims().vec() == b.dims().vec();
}

void expect_decomposes(const Case& c, const NodeView& node, const tenon_graph& graph) {
  const GraphView view(graph);
  uint32_t given = 0, made = 0;
  for (int k = 0; k < node.operands(); ++k)
    if (node.has(k)) {
      ASSERT_LT(given, view.n_inputs()) << name_of(c);
      EXPECT_TRUE(same_type(node.in(k), view.value(view.input(given++).value))) << name_of(c);
    }
  for (int k = 0; k < node.results(); ++k)
    if (node.has_result(k)) {
      ASSERT_LT(made, view.n_results()) << name_of(c);
      EXPECT_TRUE(same_type(node.out(k), view.value(view.result(made++).value))) << name_of(c);
    }
  EXPECT_EQ(given, view.n_inputs()) << name_of(c);
  EXPECT_EQ(made, view.n_results()) << name_of(c);
}

void expect_primitives(const Case& c, const tenon_graph& graph) {
  const GraphView view(graph);
  for (uint32_t i = 0; i < view.n_nodes(); ++i)
    EXPECT_TRUE(reference::is_primitive(view.node(i).op())) << name_of(c) << ": " << view.node(i).op();
}

TEST(Corpus, HasACaseOfEveryOp) {
  std::set<std::string> found;
  for (const Case& c : built_in_corpus()) {
    if (c.kind != Case::kOp) continue;
    const GraphView view(*c.whole.graph());
    bool there = c.op == "constant" && view.n_constants() > 0;
    for (uint32_t i = 0; i < view.n_nodes(); ++i) there = there || view.node(i).op() == c.op;
    EXPECT_TRUE(there) << name_of(c);
    found.insert(c.op);
  }
  for (const OpDef* op : all_ops()) EXPECT_TRUE(found.count(std::string(op->name))) << op->name;
}

TEST(Corpus, InfersWithThePrimitivesOfLevel1Alone) {
  std::set<std::string_view> used, level_1;
  for (const Case& c : built_in_corpus()) {
    if (c.kind != Case::kInference) continue;
    const GraphView view(*c.lowered.graph());
    for (uint32_t i = 0; i < view.n_nodes(); ++i) used.insert(op::row(view.node(i).op()).name);
  }
  for (const op::Row* row : op::kRows)
    if (row->level == op::Level::kInfers) level_1.insert(row->name);
  EXPECT_EQ(used, level_1);
}

TEST(Corpus, NamesEachCaseOnce) {
  std::set<std::string> names;
  for (const Case& c : built_in_corpus())
    EXPECT_TRUE(names.insert(std::to_string(c.kind) + c.op + "/" + c.name).second) << name_of(c);
}

TEST(Corpus, DecomposesEveryCompositeNode) {
  for (const Case& c : built_in_corpus()) {
    EXPECT_EQ(plugin::structure_fault(*c.whole.graph()), "") << name_of(c);
    const GraphView view(*c.whole.graph());
    std::set<uint32_t> expected, found;
    for (uint32_t i = 0; i < view.n_nodes(); ++i)
      if (composite(view.node(i))) expected.insert(i);
    for (const Decomposition& d : c.decompositions) {
      found.insert(d.node);
      expect_primitives(c, *d.graph.graph());
      expect_decomposes(c, view.node(d.node), *d.graph.graph());
    }
    EXPECT_EQ(found, expected) << name_of(c);
    expect_primitives(c, *c.lowered.graph());
    EXPECT_EQ(view.n_results(), GraphView(*c.lowered.graph()).n_results());
  }
}

TEST(Corpus, UsesEveryInput) {
  for (const Case& c : built_in_corpus()) {
    const GraphView view(*c.whole.graph());
    std::set<uint32_t> used;
    for (uint32_t i = 0; i < view.n_nodes(); ++i)
      for (int k = 0; k < view.node(i).operands(); ++k) used.insert(view.node(i).operand_id(k));
    for (uint32_t i = 0; i < view.n_inputs(); ++i)
      EXPECT_TRUE(used.count(view.input(i).value)) << name_of(c) << " input " << i;
  }
}

double distance(const reference::Tensor& a, const reference::Tensor& b) {
  double most = a.i == b.i && a.f.size() == b.f.size() ? 0 : 1;
  for (size_t e = 0; e < a.f.size() && e < b.f.size(); ++e) {
    if (a.f[e] == b.f[e] || (std::isnan(a.f[e]) && std::isnan(b.f[e]))) continue;
    most = std::max(most, std::fabs(a.f[e] - b.f[e]) / std::max(1.0, std::fabs(b.f[e])));
  }
  return most;
}

// What the core lowers a graph to is what its nodes' decompositions make of it, but for constants folded in f64.
TEST(Corpus, MeansTheSameLoweredAndDecomposed) {
  for (const Case& c : built_in_corpus()) {
    if (c.min_memory || c.decompositions.empty()) continue;
    std::vector<bool> all(c.whole.graph()->nodes.count, false);
    for (const Decomposition& d : c.decompositions) all[d.node] = true;
    const plugin::FlatGraph inlined = inline_decompositions(*c.whole.graph(), c.decompositions, all);
    const std::vector<reference::Tensor> inputs = inputs_of_case(c, *c.whole.graph());
    std::vector<reference::Tensor> lowered, decomposed;
    ASSERT_EQ(reference::evaluate_graph(*c.lowered.graph(), inputs, reference::Rounding::kExact, lowered), "")
        << name_of(c);
    ASSERT_EQ(reference::evaluate_graph(*inlined.graph(), inputs, reference::Rounding::kExact, decomposed), "")
        << name_of(c);
    for (size_t r = 0; r < lowered.size(); ++r)
      EXPECT_LE(distance(decomposed[r], lowered[r]), 1e-6) << name_of(c) << " result " << r;
  }
}

TEST(Corpus, IsEvaluatedByTheReference) {
  for (const Case& c : built_in_corpus()) {
    if (c.min_memory) continue;
    std::vector<reference::Tensor> results;
    EXPECT_EQ(reference::evaluate_graph(*c.lowered.graph(), inputs_of_case(c, *c.lowered.graph()),
                                        reference::Rounding::kDtype, results),
              "")
        << name_of(c);
  }
}

}  // namespace
}  // namespace tenon::conformance

// Gradients of embeddings that go to their updates as rows mean what they meant.
#include <gtest/gtest.h>

#include <algorithm>

#include "compile/compile.h"
#include "compile/rewrite.h"
#include "op/rules.h"
#include "unit/op/op_testing.h"

namespace tenon {
namespace {

struct Kind {
  const char* op;
  Attrs attrs;
  int slots;
};
const Kind kKinds[] = {{"sgd_update", {}, 0},
                       {"momentum_update", {{"mu", 0.9}}, 1},
                       {"adam_update", {{"b1", 0.9}, {"b2", 0.999}, {"eps", 1e-7}}, 2},
                       {"adagrad_update", {{"eps", 1e-7}}, 1}};

// An update of f32[rows, columns] by the gradient of rows that were looked up; `shown`: who trains looks at the gradient too.
struct Embedding {
  explicit Embedding(const Kind& kind, bool shown = false, int64_t rows = 9, int64_t columns = 16) {
    add({DType::kF32, {rows, columns}}, op_testing::noise({rows, columns}, 1).values);
    add({DType::kI32, {2, 3}}, {1, 7, 7, 9, -1, 1});
    add({DType::kF32, {2, 3, columns}}, op_testing::noise({2, 3, columns}, 2).values);
    add({DType::kF32, {}}, {0.5});
    add({DType::kI64, {}}, {3});
    for (int k = 0; k < kind.slots; ++k)
      add({DType::kF32, {rows, columns}}, op_testing::noise({rows, columns}, 3 + k, 0.1, 1).values);
    const Tensor g = scatter(full_like(x[0], 0), x[1], x[2], 0, 0, ScatterKind::kAdd);
    Tensors operands{x[0], g, x[3], x[4], Tensor(), Tensor(), Tensor()};
    operands.insert(operands.end(), x.begin() + 5, x.end());
    for (const Tensor& r : emit_all(kind.op, operands, kind.attrs)) graph.results.push_back({r.id()});
    if (shown) graph.results.push_back({g.id()});
  }
  void add(const Type& type, const op_testing::Doubles& values) {
    x.emplace_back(&graph, graph.add_input(type, Role::kFeed, "x" + std::to_string(x.size())));
    reference::Tensor t;
    t.dtype = static_cast<int32_t>(type.dtype);
    t.dims = type.shape.vec();
    for (const double v : values) is_float(type.dtype) ? t.f.push_back(v) : t.i.push_back(static_cast<int64_t>(v));
    inputs.push_back(std::move(t));
  }
  std::vector<reference::Tensor> evaluated(const Graph& of) const {
    std::vector<reference::Tensor> out;
    const GraphImage image = flatten(lower_to_primitives(of));
    EXPECT_EQ(reference::evaluate_graph(*image.flat(), inputs, reference::Rounding::kExact, out), "");
    return out;
  }
  Graph graph;
  Tensors x;
  std::vector<reference::Tensor> inputs;
};

int with_rows(const Graph& graph) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(), has_rows));
}

Graph rows_of(const Embedding& e) { return simplify(give_rows_to_updates(simplify(e.graph))); }

TEST(RowUpdates, TakeThePlaceOfADenseGradientAndComputeTheSame) {
  for (const Kind& kind : kKinds) {
    const Embedding e(kind);
    const Graph rows = rows_of(e);
    EXPECT_TRUE(verify(rows).ok()) << verify(rows).message();
    EXPECT_EQ(with_rows(rows), 1) << kind.op;
    EXPECT_EQ(op_testing::count(rows, "scatter"), 0) << kind.op;
    const auto expected = e.evaluated(e.graph), found = e.evaluated(rows);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t r = 0; r < found.size(); ++r) EXPECT_EQ(found[r].f, expected[r].f) << kind.op << ", result " << r;
  }
}

TEST(RowUpdates, BecomeDenseAgainForADeviceThatTakesNoRows) {
  for (const Kind& kind : kKinds) {
    const Embedding e(kind);
    const Graph rows = rows_of(e);
    Rewrite rewrite(rows);
    const Graph dense = simplify(rewrite.run([&](const Node& node, const Tensors& operands) {
      return has_rows(node) ? dense_update(rewrite, node, operands) : rewrite.copy(node, operands);
    }));
    EXPECT_TRUE(verify(dense).ok()) << verify(dense).message();
    EXPECT_EQ(with_rows(dense), 0) << kind.op;
    const auto expected = e.evaluated(e.graph), found = e.evaluated(dense);
    for (size_t r = 0; r < found.size(); ++r) EXPECT_EQ(found[r].f, expected[r].f) << kind.op << ", result " << r;
  }
}

TEST(RowUpdates, LeaveAGradientThatHasAnotherReader) {
  for (const Kind& kind : kKinds) EXPECT_EQ(with_rows(rows_of(Embedding(kind, true))), 0) << kind.op;
}

TEST(RowUpdates, LeaveATableThatIsSmallOrNarrow) {
  EXPECT_EQ(with_rows(rows_of(Embedding(kKinds[0], false, 6, 16))), 0);
  EXPECT_EQ(with_rows(rows_of(Embedding(kKinds[0], false, 9, 15))), 0);
}

}  // namespace
}  // namespace tenon

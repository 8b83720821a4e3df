#include "unit/reference/node.h"

namespace tenon::reference {
namespace {

using Ints = std::vector<int64_t>;

Tensor counting(const std::vector<int64_t>& dims) {
  Tensor x = zeros(TENON_I32, dims);
  for (size_t i = 0; i < x.i.size(); ++i) x.i[i] = static_cast<int64_t>(i);
  return x;
}

TEST(Movement, IotaCountsAlongItsAxis) {
  EXPECT_EQ(Node("iota", {}).list("shape", {2, 3}).i64("axis", 1).dtype("dtype", TENON_I32).run(TENON_I32, {2, 3}).i,
            (Ints{0, 1, 2, 0, 1, 2}));
  expect_floats(Node("iota", {}).list("shape", {2, 2}).i64("axis", 0).dtype("dtype", TENON_F32).run(TENON_F32, {2, 2}),
                {0, 0, 1, 1});
}

TEST(Movement, ReshapeKeepsTheOrder) {
  EXPECT_EQ(Node("reshape", {counting({2, 3})}).list("shape", {3, 2}).run(TENON_I32, {3, 2}).i, counting({3, 2}).i);
  EXPECT_EQ(Node("reshape", {counting({1})}).list("shape", {}).run(TENON_I32, {}).i, (Ints{0}));
}

TEST(Movement, TransposeTakesResultAxesFromPerm) {
  EXPECT_EQ(Node("transpose", {counting({2, 3})}).list("perm", {1, 0}).run(TENON_I32, {3, 2}).i,
            (Ints{0, 3, 1, 4, 2, 5}));
  // y[a,b,c] = x[b,c,a]
  EXPECT_EQ(Node("transpose", {counting({2, 1, 3})}).list("perm", {2, 0, 1}).run(TENON_I32, {3, 2, 1}).i,
            (Ints{0, 3, 1, 4, 2, 5}));
}

TEST(Movement, BroadcastRepeatsMissingAndUnitDimensions) {
  EXPECT_EQ(Node("broadcast", {counting({2})}).list("shape", {2, 2}).list("dims", {1}).run(TENON_I32, {2, 2}).i,
            (Ints{0, 1, 0, 1}));
  EXPECT_EQ(Node("broadcast", {counting({2})}).list("shape", {2, 2}).list("dims", {0}).run(TENON_I32, {2, 2}).i,
            (Ints{0, 0, 1, 1}));
  EXPECT_EQ(Node("broadcast", {counting({2, 1})}).list("shape", {2, 3}).list("dims", {0, 1}).run(TENON_I32, {2, 3}).i,
            (Ints{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(Node("broadcast", {ints({}, {7})}).list("shape", {2}).list("dims", {}).run(TENON_I32, {2}).i, (Ints{7, 7}));
}

TEST(Movement, SliceStepsAndRoundsItsSizeUp) {
  EXPECT_EQ(
      Node("slice", {counting({6})}).list("start", {1}).list("limit", {6}).list("stride", {2}).run(TENON_I32, {3}).i,
      (Ints{1, 3, 5}));
  Node node("slice", {counting({3, 4})});
  EXPECT_EQ(node.list("start", {1, 0}).list("limit", {3, 4}).list("stride", {1, 3}).run(TENON_I32, {2, 2}).i,
            (Ints{4, 7, 8, 11}));
}

TEST(Movement, PadFillsAroundAndBetween) {
  Node between("pad", {floats({3}, {1, 2, 3})});
  between.list("low", {1}).list("high", {2}).list("interior", {1}).f64("value", -0.5);
  expect_floats(between.run(TENON_F32, {8}), {-0.5, 1, -0.5, 2, -0.5, 3, -0.5, -0.5});
  Node around("pad", {counting({1, 2})});
  around.list("low", {1, 0}).list("high", {0, 1}).list("interior", {0, 0}).i64("value", 9);
  EXPECT_EQ(around.run(TENON_I32, {2, 3}).i, (Ints{9, 9, 9, 0, 1, 9}));
  Node by_float("pad", {ints({1}, {1}, TENON_I64)});
  by_float.list("low", {1}).list("high", {0}).list("interior", {}).f64("value", -kInf);
  EXPECT_EQ(by_float.run(TENON_I64, {2}).i, (Ints{INT64_MIN, 1}));
  Node infinite("pad", {floats({1}, {1})});
  infinite.list("low", {1}).list("high", {0}).list("interior", {0}).f64("value", -kInf);
  expect_floats(infinite.run(TENON_F32, {2}), {-kInf, 1});
}

TEST(Movement, ConcatJoinsAlongTheAxis) {
  EXPECT_EQ(Node("concat", {ints({2, 1}, {1, 2}), ints({2, 2}, {3, 4, 5, 6})}).i64("axis", 1).run(TENON_I32, {2, 3}).i,
            (Ints{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(Node("concat", {ints({1}, {1}), ints({2}, {2, 3}), ints({1}, {4})}).i64("axis", 0).run(TENON_I32, {4}).i,
            (Ints{1, 2, 3, 4}));
}

TEST(Movement, ReverseTurnsItsAxesRound) {
  EXPECT_EQ(Node("reverse", {counting({2, 3})}).list("axes", {1}).run(TENON_I32, {2, 3}).i, (Ints{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(Node("reverse", {counting({2, 3})}).list("axes", {0, 1}).run(TENON_I32, {2, 3}).i,
            (Ints{5, 4, 3, 2, 1, 0}));
}

TEST(Movement, GatherReadsZeroOutside) {
  Node node("gather", {ints({3, 2}, {1, 2, 3, 4, 5, 6}), ints({4}, {2, -1, 3, 0})});
  EXPECT_EQ(node.i64("axis", 0).i64("batch", 0).run(TENON_I32, {4, 2}).i, (Ints{5, 6, 0, 0, 0, 0, 1, 2}));
}

TEST(Movement, GatherPutsTheIndexDimensionsInPlaceOfTheAxis) {
  // y[p, j1, j2, s] = x[p, i[j1, j2], s]
  Node node("gather", {counting({2, 3, 1}), ints({2, 1}, {2, 0}, TENON_I64)});
  EXPECT_EQ(node.i64("axis", 1).i64("batch", 0).run(TENON_I32, {2, 2, 1, 1}).i, (Ints{2, 0, 5, 3}));
}

TEST(Movement, GatherWithABatchTakesEachRowsOwnIndices) {
  // y[b, j] = x[b, i[b, j]]
  Node rows("gather", {counting({2, 3}), ints({2, 2}, {0, 2, 1, 1})});
  EXPECT_EQ(rows.i64("axis", 1).i64("batch", 1).run(TENON_I32, {2, 2}).i, (Ints{0, 2, 4, 4}));
  // y[b, p, s] = x[b, p, i[b], s]: one index a row, and an axis between batch and axis
  Node deep("gather", {counting({2, 2, 2, 2}), ints({2}, {1, 0})});
  EXPECT_EQ(deep.i64("axis", 2).i64("batch", 1).run(TENON_I32, {2, 2, 2}).i, (Ints{2, 3, 6, 7, 8, 9, 12, 13}));
}

TEST(Movement, ScatterAddsEveryUpdateAndDropsThoseOutside) {
  Node node("scatter", {ints({3}, {10, 20, 30}), ints({5}, {0, 2, 0, -1, 3}), ints({5}, {1, 2, 3, 4, 5})});
  node.i64("axis", 0).i64("batch", 0).enumerator("kind", TENON_SCATTER_ADD);
  EXPECT_EQ(node.run(TENON_I32, {3}).i, (Ints{14, 20, 32}));
}

TEST(Movement, ScatterSetKeepsTheLastUpdate) {
  Node node("scatter", {floats({2, 2}, {1, 2, 3, 4}), ints({3}, {1, 0, 1}), floats({3, 2}, {5, 6, 7, 8, 9, 10})});
  node.i64("axis", 0).i64("batch", 0).enumerator("kind", TENON_SCATTER_SET);
  expect_floats(node.run(TENON_F32, {2, 2}), {7, 8, 9, 10});
}

TEST(Movement, ScatterWithABatchWritesEachRowsOwnPlaces) {
  Node node("scatter", {ints({2, 2}, {0, 0, 0, 0}), ints({2, 1}, {1, 0}), ints({2, 1}, {5, 6})});
  node.i64("axis", 1).i64("batch", 1).enumerator("kind", TENON_SCATTER_ADD);
  EXPECT_EQ(node.run(TENON_I32, {2, 2}).i, (Ints{0, 5, 6, 0}));
}

TEST(Movement, ScatterIsTheTransposeOfGather) {
  // <gather(x, i), u> = <x, scatter(0, i, u)>
  const Tensor x = counting({2, 3, 2}), i = ints({2, 2}, {0, 7, 2, 2}), u = ints({2, 2, 2}, {3, 1, 4, 1, 5, 9, 2, 6});
  const Tensor y = Node("gather", {x, i}).i64("axis", 1).i64("batch", 1).run(TENON_I32, {2, 2, 2});
  Node node("scatter", {zeros(TENON_I32, {2, 3, 2}), i, u});
  const Tensor z = node.i64("axis", 1).i64("batch", 1).enumerator("kind", TENON_SCATTER_ADD).run(TENON_I32, {2, 3, 2});
  int64_t left = 0, right = 0;
  for (size_t k = 0; k < u.i.size(); ++k) left += y.i[k] * u.i[k];
  for (size_t k = 0; k < x.i.size(); ++k) right += x.i[k] * z.i[k];
  EXPECT_EQ(left, right);
  EXPECT_EQ(left, 0 * 3 + 1 * 1 + 10 * 5 + 11 * 9 + 10 * 2 + 11 * 6);
}

TEST(Movement, CollectivesOfOneReplicaCopy) {
  expect_floats(Node("all_gather", {floats({2}, {1, 2})}).i64("axis", 0).i64("group", 0).run(TENON_F32, {2}), {1, 2});
  EXPECT_EQ(Node("replica_id", {}).run(TENON_I32, {}).i, (Ints{0}));
}

}  // namespace
}  // namespace tenon::reference

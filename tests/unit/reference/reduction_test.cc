#include "unit/reference/node.h"

namespace tenon::reference {
namespace {

using Ints = std::vector<int64_t>;

Tensor reduce(const Tensor& x, const Ints& axes, int64_t kind, const Ints& dims) {
  return Node("reduce", {x}).list("axes", axes).enumerator("kind", kind).run(x.dtype, dims);
}

struct Sorted {
  Tensor values;
  Ints indices;
};

Sorted sort(const Tensor& x, int64_t k, bool descending) {
  Ints dims = x.dims;
  dims.back() = k;
  std::vector<Tensor> out;
  Node node("sort", {x});
  node.i64("k", k).flag("descending", descending).result(x.dtype, dims).result(TENON_I32, dims);
  EXPECT_EQ(node.evaluate(out), "");
  return {out[0], out[1].i};
}

TEST(Reduction, ReduceDropsItsAxes) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_floats(reduce(x, {1}, TENON_REDUCE_SUM, {2}), {6, 15});
  expect_floats(reduce(x, {0}, TENON_REDUCE_SUM, {3}), {5, 7, 9});
  expect_floats(reduce(x, {0, 1}, TENON_REDUCE_PROD, {}), {720});
  expect_floats(reduce(x, {0}, TENON_REDUCE_MAX, {3}), {4, 5, 6});
  expect_floats(reduce(x, {1}, TENON_REDUCE_MIN, {2}), {1, 4});
  expect_floats(reduce(x, {}, TENON_REDUCE_SUM, {2, 3}), x.f);
}

TEST(Reduction, NaNWinsAndInfinitiesCount) {
  const Tensor x = floats({2, 2}, {1, kNaN, -kInf, -kInf});
  expect_floats(reduce(x, {1}, TENON_REDUCE_MAX, {2}), {kNaN, -kInf});
  expect_floats(reduce(x, {1}, TENON_REDUCE_MIN, {2}), {kNaN, -kInf});
}

TEST(Reduction, IntegersWrapInTheirWidth) {
  EXPECT_EQ(reduce(ints({2}, {INT32_MAX, 1}), {0}, TENON_REDUCE_SUM, {}).i, (Ints{INT32_MIN}));
  EXPECT_EQ(reduce(ints({2}, {65536, 65537}), {0}, TENON_REDUCE_PROD, {}).i, (Ints{65536}));
  EXPECT_EQ(reduce(ints({2}, {INT64_MAX, 1}, TENON_I64), {0}, TENON_REDUCE_SUM, {}).i, (Ints{INT64_MIN}));
  EXPECT_EQ(reduce(ints({3}, {-5, INT32_MIN, -7}), {0}, TENON_REDUCE_MAX, {}).i, (Ints{-5}));
}

TEST(Reduction, MaxAndMinOfBoolAreAnyAndAll) {
  const Tensor x = bools({3, 2}, {0, 0, 0, 1, 1, 1});
  EXPECT_EQ(reduce(x, {1}, TENON_REDUCE_MAX, {3}).i, (Ints{0, 1, 1}));
  EXPECT_EQ(reduce(x, {1}, TENON_REDUCE_MIN, {3}).i, (Ints{0, 0, 1}));
}

TEST(Reduction, SortIsStableAndTiesGoToTheLowestIndex) {
  const Sorted up = sort(floats({4}, {2, 1, 2, 1}), 4, false);
  expect_floats(up.values, {1, 1, 2, 2});
  EXPECT_EQ(up.indices, (Ints{1, 3, 0, 2}));
  const Sorted down = sort(floats({4}, {2, 1, 2, 1}), 3, true);
  expect_floats(down.values, {2, 2, 1});
  EXPECT_EQ(down.indices, (Ints{0, 2, 1}));
}

TEST(Reduction, SortPutsNaNAboveInfinity) {
  const Sorted up = sort(floats({4}, {kNaN, kInf, -kInf, 0}), 4, false);
  expect_floats(up.values, {-kInf, 0, kInf, kNaN});
  EXPECT_EQ(up.indices, (Ints{2, 3, 1, 0}));
  const Sorted down = sort(floats({4}, {0, kNaN, kInf, kNaN}), 4, true);
  expect_floats(down.values, {kNaN, kNaN, kInf, 0});
  EXPECT_EQ(down.indices, (Ints{1, 3, 2, 0}));
}

TEST(Reduction, SortTakesTheFirstKOfEachRow) {
  const Sorted top = sort(ints({2, 3}, {3, 9, 5, -1, -9, -5}), 2, true);
  EXPECT_EQ(top.values.i, (Ints{9, 5, -1, -5}));
  EXPECT_EQ(top.indices, (Ints{1, 2, 0, 2}));
}

}  // namespace
}  // namespace tenon::reference

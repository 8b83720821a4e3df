// Resizing, cropping and projecting images, and the ops over several tensors and replicas.
#include <cmath>

#include "compile/compile.h"
#include "op/op.h"
#include "tenon/gradients.h"
#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

Feed u8(const Shape& shape, Doubles values) { return of(DType::kU8, shape, std::move(values)); }
Feed i32(Doubles values) {
  const auto n = static_cast<int64_t>(values.size());
  return of(DType::kI32, {n}, std::move(values));
}
Feed bools(Doubles values) {
  const auto n = static_cast<int64_t>(values.size());
  return of(DType::kBool, {n}, std::move(values));
}

// ---- resize ----

Doubles resized(const Doubles& row, int64_t w, ResizeMethod method, Coordinates coords) {
  const auto n = static_cast<int64_t>(row.size());
  return value([&](const Tensors& x) { return Tensors{resize(x[0], 1, w, method, coords)}; }, {f64({1, 1, n, 1}, row)});
}

TEST(Resize, InterpolatesAtHalfPixels) {
  // OpenCV's and Keras's bilinear: places -0.25, 0.25, 0.75, 1.25.
  expect_near(resized({0, 4}, 4, ResizeMethod::kBilinear, Coordinates::kHalfPixel), {0, 1, 3, 4});
  expect_near(resized({0, 10, 20, 30}, 2, ResizeMethod::kBilinear, Coordinates::kHalfPixel), {5, 25});
}

TEST(Resize, InterpolatesBetweenAlignedCorners) {
  expect_near(resized({0, 6}, 4, ResizeMethod::kBilinear, Coordinates::kAlignCorners), {0, 2, 4, 6});
  expect_near(resized({3, 7}, 1, ResizeMethod::kBilinear, Coordinates::kAlignCorners), {3});
}

TEST(Resize, InterpolatesAsTensorFlow1Did) {
  expect_near(resized({0, 4}, 4, ResizeMethod::kBilinear, Coordinates::kLegacy), {0, 2, 4, 4});
}

TEST(Resize, PicksTheNearestPixel) {
  const Doubles row{10, 20, 30, 40, 50};
  EXPECT_EQ(resized(row, 3, ResizeMethod::kNearest, Coordinates::kLegacy), (Doubles{10, 20, 40}));
  EXPECT_EQ(resized(row, 3, ResizeMethod::kNearest, Coordinates::kHalfPixel), (Doubles{10, 30, 50}));
  EXPECT_EQ(resized({1, 2, 3, 4}, 3, ResizeMethod::kNearest, Coordinates::kAlignCorners), (Doubles{1, 3, 4}));
  EXPECT_EQ(resized({1, kInf, kNaN}, 6, ResizeMethod::kNearest, Coordinates::kHalfPixel)[1], 1);
}

TEST(Resize, TreatsRowsColumnsAndChannelsAlone) {
  // [2,1,2,2] -> [2,2,4,2]
  const auto y = evaluate(
      [](const Tensors& x) { return Tensors{resize(x[0], 2, 4, ResizeMethod::kBilinear, Coordinates::kHalfPixel)}; },
      {f64({2, 1, 2, 2}, {0, 100, 4, 200, -4, 0, 0, 0})})[0];
  EXPECT_EQ(y.type.str(), "f64[2,2,4,2]");
  const Doubles first{0, 100, 1, 125, 3, 175, 4, 200}, second{-4, 0, -3, 0, -1, 0, 0, 0};
  Doubles expected;
  for (const Doubles& row : {first, first, second, second}) expected.insert(expected.end(), row.begin(), row.end());
  expect_near(y.values, expected);
}

TEST(Resize, HasAGradient) {
  for (ResizeMethod method : {ResizeMethod::kNearest, ResizeMethod::kBilinear})
    expect_gradients([=](const Tensors& x) { return Tensors{resize(x[0], 5, 2, method, Coordinates::kHalfPixel)}; },
                     {noise({2, 3, 4, 2}, 7)});
}

TEST(Resize, KeepsItsTypeInEveryDtype) {
  expect_types_survive_lowering(
      [](const Tensors& x) { return Tensors{resize(x[0], 5, 2, ResizeMethod::kBilinear, Coordinates::kLegacy)}; },
      {{DType::kF64, {1, 2, 3, 1}}});
}

// ---- crop_flip ----

TEST(CropFlip, CutsEachImageAtItsOwnPlace) {
  const Feed x = u8({2, 2, 3, 1}, {1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16});
  const auto y = evaluate([](const Tensors& t) { return Tensors{crop_flip(t[0], t[1], t[2], t[3], 1, 2)}; },
                          {x, i32({1, 0}), i32({0, 1}), bools({0, 1})})[0];
  EXPECT_EQ(y.type.str(), "u8[2,1,2,1]");
  EXPECT_EQ(y.values, (Doubles{4, 5, 13, 12}));
}

TEST(CropFlip, ReadsZeroOutside) {
  const Feed x = u8({1, 2, 2, 1}, {1, 2, 3, 4});
  const Build crop = [](const Tensors& t) { return Tensors{crop_flip(t[0], t[1], t[2], t[3], 3, 4)}; };
  EXPECT_EQ(value(crop, {x, i32({-1}), i32({-1}), bools({0})}), (Doubles{0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0}));
  EXPECT_EQ(value(crop, {x, i32({1}), i32({0}), bools({1})}), (Doubles{0, 0, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(value(crop, {x, i32({INT32_MAX}), i32({INT32_MIN}), bools({0})}), Doubles(12, 0));
}

TEST(CropFlip, NamesTheOperandThatDoesNotFit) {
  EXPECT_EQ(error_of([](const Tensors& t) { return Tensors{crop_flip(t[0], t[1], t[1], t[2], 2, 2)}; },
                     {{DType::kU8, {3, 4, 4, 3}}, {DType::kI32, {2}}, {DType::kBool, {3}}}),
            "crop_flip 'crop_flip': operand 1 'top' has shape [2], expected [3]");
}

// ---- affine_image ----

Doubles projected(const Feed& x, const Doubles& theta, int64_t h, int64_t w, ResizeMethod method, FillMode fill) {
  return value([&](const Tensors& t) { return Tensors{affine_image(t[0], t[1], h, w, method, fill)}; },
               {x, f64({1, 8}, theta)});
}
Doubles shifted(double by, FillMode fill, ResizeMethod method = ResizeMethod::kNearest) {
  return projected(f64({1, 1, 4, 1}, {1, 2, 3, 4}), {1, 0, by, 0, 1, 0, 0, 0}, 1, 12, method, fill);
}

TEST(AffineImage, FillsAsImageProjectiveTransformV3) {
  EXPECT_EQ(shifted(-4, FillMode::kConstant), (Doubles{0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0}));
  EXPECT_EQ(shifted(-4, FillMode::kNearest), (Doubles{1, 1, 1, 1, 1, 2, 3, 4, 4, 4, 4, 4}));
  EXPECT_EQ(shifted(-4, FillMode::kReflect), (Doubles{4, 3, 2, 1, 1, 2, 3, 4, 4, 3, 2, 1}));
}

TEST(AffineImage, FoldsPlacesFarOutside) {
  // Period 8 mirrored.
  EXPECT_EQ(shifted(-24, FillMode::kReflect), (Doubles{1, 2, 3, 4, 4, 3, 2, 1, 1, 2, 3, 4}));
  EXPECT_EQ(shifted(8, FillMode::kReflect), (Doubles{1, 2, 3, 4, 4, 3, 2, 1, 1, 2, 3, 4}));
}

TEST(AffineImage, WrapsWithTensorFlowsPeriods) {
  // TensorFlow adds (trunc(-at / 3) + 1) * 4 on the left and takes trunc(at / 3) * 4 on the right.
  const Doubles y = shifted(-4, FillMode::kWrap);
  EXPECT_EQ((Doubles(y.begin() + 4, y.begin() + 8)), (Doubles{1, 2, 3, 4}));
  EXPECT_EQ(y[3], 4);  // at -1: -1 + 4
  EXPECT_EQ(y[8], 1);  // at 4: 4 - 4
}

TEST(AffineImage, InterpolatesBetweenPixels) {
  const Doubles y = shifted(-0.75, FillMode::kConstant, ResizeMethod::kBilinear);
  expect_near(Doubles(y.begin(), y.begin() + 6), {0.25, 1.25, 2.25, 3.25, 3, 0});
}

TEST(AffineImage, TurnsAndMovesRows) {
  // x' = y, y' = x: the transposed image.
  const Feed x = f64({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(projected(x, {0, 1, 0, 1, 0, 0, 0, 0}, 3, 2, ResizeMethod::kNearest, FillMode::kConstant),
            (Doubles{1, 4, 2, 5, 3, 6}));
}

TEST(AffineImage, DividesByThePerspective) {
  // k = x + 1, so that result x lies at 2 x / (x + 1): 0, 1, 4/3.
  expect_near(projected(f64({1, 1, 3, 1}, {0, 10, 20}), {2, 0, 0, 0, 1, 0, 1, 0}, 1, 3, ResizeMethod::kBilinear,
                        FillMode::kConstant),
              {0, 10, 40.0 / 3});
  // k = 1 - x is 0 in the second column.
  EXPECT_EQ(projected(f64({1, 1, 3, 1}, {5, 10, 20}), {1, 0, 0, 0, 1, 0, -1, 0}, 1, 2, ResizeMethod::kNearest,
                      FillMode::kNearest),
            (Doubles{5, 0}));
}

TEST(AffineImage, MixesBytesInF32AndTruncates) {
  const Feed x = u8({1, 1, 2, 1}, {10, 21});
  const auto y = evaluate(
      [](const Tensors& t) {
        return Tensors{affine_image(t[0], t[1], 1, 1, ResizeMethod::kBilinear, FillMode::kConstant)};
      },
      {x, f32({1, 8}, {1, 0, 0.5, 0, 1, 0, 0, 0})})[0];
  EXPECT_EQ(y.type.str(), "u8[1,1,1,1]");
  EXPECT_EQ(y.values, (Doubles{15}));
}

TEST(AffineImage, HasGradientsOfImagesAndTransforms) {
  const Feed theta = f64({2, 8}, {0.9, 0.1, 0.33, -0.2, 1.1, 0.21, 0.01, 0.02, 1.2, 0, -0.4, 0.1, 0.8, 0.3, 0, -0.01});
  for (FillMode fill : {FillMode::kConstant, FillMode::kReflect})
    expect_gradients(
        [=](const Tensors& t) { return Tensors{affine_image(t[0], t[1], 3, 2, ResizeMethod::kBilinear, fill)}; },
        {noise({2, 3, 4, 2}, 8), theta});
}

// ---- several tensors, several replicas ----

TEST(GlobalNorm, IsTheNormOfAllOperands) {
  const Build norm = [](const Tensors& x) { return Tensors{global_norm(x)}; };
  expect_near(value(norm, {f64({2}, {1, 2}), f64({}, {-2}), f64({1, 1}, {4})}), {5});
  expect_gradients(norm, {noise({2, 2}, 1), noise({3}, 2)});
}

TEST(GlobalNorm, OfZerosHasAZeroGradient) {
  const Build slope = [](const Tensors& x) { return gradients(global_norm(x), x); };
  EXPECT_EQ(value(slope, {f64({2}, {0, 0})}), (Doubles{0, 0}));
}

TEST(GlobalNorm, OfHalvesIsSummedInF32) {
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kF16, {4}}, Role::kFeed, "x"));
  EXPECT_EQ(global_norm({x}).type().str(), "f32[]");
  EXPECT_EQ(gradients(global_norm({x}), {x})[0].type().str(), "f16[4]");
}

TEST(AllReduce, OfOneReplicaGivesTheOperands) {
  const auto y =
      evaluate([](const Tensors& x) { return all_reduce(x, ReduceKind::kMax); }, {f64({2}, {1, 2}), i32({3})});
  EXPECT_EQ(y[0].values, (Doubles{1, 2}));
  EXPECT_EQ(y[1].values, (Doubles{3}));
  EXPECT_EQ(value([](const Tensors& x) { return Tensors{reduce_scatter(x[0], 0)}; }, {f64({2}, {1, 2})}),
            (Doubles{1, 2}));
}

Tensor input(Graph& graph, const Shape& shape) {
  return {&graph, graph.add_input({DType::kF32, shape}, Role::kFeed, "x")};
}

TEST(AllReduce, OfSeveralGathersAndFolds) {
  Graph graph;
  const Tensor x = input(graph, {3, 2});
  const Tensor y = emit1("all_reduce", {x}, {{"kind", Enum{2}}, {"replicas", int64_t{4}}});
  graph.results.push_back({y.id()});
  const Graph lowered = lower_to_primitives(graph);
  ASSERT_TRUE(verify(lowered).ok());
  EXPECT_EQ(lowered.type(lowered.results[0].value).str(), "f32[3,2]");
  EXPECT_EQ(count(lowered, "all_gather"), 1);
  EXPECT_EQ(count(lowered, "reduce"), 1);
}

TEST(AllReduce, IsItsOwnGradient) {
  Graph graph;
  const Tensor a = input(graph, {3}), b = input(graph, {2});
  const Tensors y = all_reduce({a, b}, ReduceKind::kSum);
  const Tensors d = gradients(reduce_sum(y[0]), {a});
  EXPECT_EQ(d[0].type().str(), "f32[3]");
  EXPECT_EQ(count(graph, "all_reduce"), 2);
}

TEST(ReduceScatter, GivesEachReplicaItsPart) {
  Graph graph;
  const Tensor x = input(graph, {2, 8, 3});
  const Attrs attrs{{"axis", int64_t{1}}, {"group", int64_t{4}}, {"replicas", int64_t{4}}};
  const Tensor y = emit1("reduce_scatter", {x}, attrs);
  EXPECT_EQ(y.type().str(), "f32[2,2,3]");
  const Tensor back = gradients(reduce_sum(y), {x})[0];
  EXPECT_EQ(back.type().str(), "f32[2,8,3]");
  graph.results = {{y.id()}, {back.id()}};
  const Graph lowered = lower_to_primitives(graph);
  EXPECT_TRUE(verify(lowered).ok());
  EXPECT_EQ(count(lowered, "replica_id"), 1);
}

TEST(ReduceScatter, RefusesAnAxisThatDoesNotDivide) {
  EXPECT_EQ(error_of(
                [](const Tensors& x) {
                  return Tensors{emit1("reduce_scatter", {x[0]}, {{"axis", int64_t{0}}, {"replicas", int64_t{4}}})};
                },
                {{DType::kF32, {6}}}),
            "reduce_scatter 'reduce_scatter': axis 0 of f32[6] does not divide by 4 replicas");
}

}  // namespace
}  // namespace tenon::op_testing

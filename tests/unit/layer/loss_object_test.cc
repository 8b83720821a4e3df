// Losses as objects: names, functions of one's own, ranks.
#include <gtest/gtest.h>

#include "tenon/losses.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using golden::Numbers;
using model_testing::error_of;
using model_testing::feed;
using model_testing::Session;

// The loss of y = 1, 3 and p = 2, 1, in these shapes.
double squared(const Loss& loss, const Shape& y_shape, const Shape& p_shape) {
  Graph graph;
  const Tensor y = feed(graph, "y", y_shape), p = feed(graph, "p", p_shape);
  return Session(graph, {loss(y, p)}).run({{"y", {1, 3}}, {"p", {2, 1}}})[0][0];
}

TEST(LossObject, IsMadeByKerasNames) {
  for (const char* name : {"mse", "MSE", "mean_squared_error", "MeanSquaredError"}) {
    EXPECT_EQ(squared(name, {2, 1}, {2, 1}), 2.5) << name;
    EXPECT_EQ(Loss(name).name(), "mean_squared_error");
  }
  EXPECT_EQ(Loss("sparse_categorical_crossentropy").name(), "sparse_categorical_crossentropy");
  EXPECT_EQ(Huber().name(), "huber_loss");
  EXPECT_EQ(MeanSquaredError({.name = "distance"}).name(), "distance");
  EXPECT_EQ(Loss(mean_absolute_error).name(), "mean_absolute_error");
  EXPECT_FALSE(Loss());
}

TEST(LossObject, NamesTheNearestOfAnUnknownName) {
  EXPECT_EQ(error_of([] { Loss("mean_square_error"); }),
            "no loss of name 'mean_square_error'; did you mean 'mean_squared_error'?");
  EXPECT_EQ(error_of([] { Loss("sparse_categorical_cross_entropy"); }),
            "no loss of name 'sparse_categorical_cross_entropy'; did you mean 'sparse_categorical_crossentropy'?");
}

TEST(LossObject, IsMadeOfAFunctionOfOnesOwn) {
  const Loss cubic([](Tensor y, Tensor p) { return reduce_sum(abs(y - p) * square(y - p), {-1}); }, {.name = "cubic"});
  EXPECT_EQ(cubic.name(), "cubic");
  EXPECT_EQ(squared(cubic, {2, 1}, {2, 1}), 4.5);  // (1 + 8) / 2
  Graph graph;
  const Tensor y = feed(graph, "y", {2, 1}), p = feed(graph, "p", {2, 1}), w = feed(graph, "w", {2});
  Session session(graph, {cubic(y, p, w)});
  EXPECT_EQ(session.run({{"y", {1, 3}}, {"p", {2, 1}}, {"w", {2, 0.5}}})[0][0], 3);  // (2 + 4) / 2
}

TEST(LossObject, TakesAColumnBesideAVector) {
  for (const Shape& y : {Shape{2}, Shape{2, 1}})
    for (const Shape& p : {Shape{2}, Shape{2, 1}}) EXPECT_EQ(squared(MeanSquaredError(), y, p), 2.5);
  EXPECT_EQ(squared(MeanSquaredError(), {1, 2}, {1, 2, 1}), 2.5);
}

TEST(LossObject, SaysWhatDoesNotFit) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 3});
  EXPECT_EQ(error_of([&] { MeanSquaredError({.sample_weight = x}); }),
            "loss 'mean_squared_error': sample_weight is given when it is called");
  EXPECT_EQ(error_of([&] { MeanSquaredError({.from_logits = true})(x, x); }),
            "mean_squared_error: from_logits is for cross entropies");
  EXPECT_EQ(error_of([&] { Loss()(x, x); }), "a loss was called that was never set");
  EXPECT_EQ(error_of([&] { Loss([](Tensor, Tensor) { return Tensor(); })(x, x); }),
            "loss: the function gave no tensor");
}

}  // namespace
}  // namespace tenon

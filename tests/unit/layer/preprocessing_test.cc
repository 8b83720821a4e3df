// Preprocessing beyond the values of tests/golden and tests/fixtures.
#include "tenon/preprocessing.h"

#include <gtest/gtest.h>

#include "tenon/batch_dot.h"
#include "tenon/einsum_dense.h"
#include "tenon/sequences.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::error_of;
using model_testing::feed;
using model_testing::Numbers;
using model_testing::Session;

// Columns 1 2 3 and 10 10 40: means 2 and 20, population variances 2/3 and 200.
TEST(Normalization, AdaptsToMomentsOfTheData) {
  Normalization layer;
  layer.adapt({1, 10, 2, 10, 3, 40}, {3, 2});
  Graph graph;
  Session session(graph, {layer(feed(graph, "x", {1, 2}))});
  EXPECT_EQ(session.state("normalization/mean"), (Numbers{2, 20}));
  golden::expect_near(session.state("normalization/variance"), {2.0 / 3, 200}, 1e-6);
  EXPECT_EQ(session.state("normalization/count"), Numbers{3});
  golden::expect_near(session.run({{"x", {2 + std::sqrt(2.0 / 3), 20 - std::sqrt(200.0)}}})[0], {1, -1}, 1e-6);
}

TEST(Normalization, OverNoAxisHasOneMean) {
  Normalization layer({.axis = {}});
  layer.adapt({1, 2, 3, 6}, {2, 2});
  Graph graph;
  Session session(graph, {layer(feed(graph, "x", {1, 2}))});
  EXPECT_EQ(session.state("normalization/mean"), Numbers{3});
  EXPECT_EQ(session.state("normalization/variance"), Numbers{3.5});
}

TEST(CategoryEncoding, MarksOrCountsTokens) {
  const auto encoded = [](OutputMode mode, DType type = DType::kI32, Numbers tokens = {0, 2, 2, 1, 1, 5}) {
    Graph graph;
    const Tensor x = feed(graph, "x", {2, 3}, type);
    Session session(graph, {category_encoding(x, {.num_tokens = 3, .output_mode = mode})});
    return session.run({{"x", tokens}})[0];
  };
  EXPECT_EQ(encoded(OutputMode::kMultiHot), (Numbers{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(encoded(OutputMode::kCount), (Numbers{1, 0, 2, 0, 2, 0}));
  EXPECT_EQ(encoded(OutputMode::kCount, DType::kF32, {0.9, 2, 2.5, 1, 1, 5}), (Numbers{1, 0, 2, 0, 2, 0}));
}

TEST(Resizing, TakesPixels) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 1, 2, 1}, DType::kU8);
  Session session(graph, {resizing(x, {.height = 1, .width = 4})});
  golden::expect_near(session.run({{"x", {0, 200}}})[0], {0, 50, 150, 200}, 1e-6);
}

TEST(NewLayers, SayWhatIsWrong) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 4, 4, 3}), s = feed(graph, "s", {2, 4, 3}), f = feed(graph, "f", {2, 3});
  EXPECT_EQ(error_of([&] { resizing(s, {.height = 2, .width = 2, .name = "r"}); }),
            "resizing 'r': input is f32[2,4,3], expected images of rank 4");
  EXPECT_EQ(error_of([&] { center_crop(x, {.height = 2, .name = "c"}); }),
            "center_crop 'c': size is 2x0, expected 1 or more");
  EXPECT_EQ(error_of([&] {
              normalization(f, {.mean = {1, 2, 3}, .name = "n"});
            }),
            "normalization 'n': mean is given alone, expected mean and variance or neither");
  EXPECT_EQ(error_of([&] {
              normalization(f, {.mean = {1, 2}, .variance = {1, 2}, .name = "m"});
            }),
            "normalization 'm': mean has 2 numbers, expected 3");
  EXPECT_EQ(error_of([&] { einsum_dense(s, {.equation = "ab,bc->ac", .output_shape = {2}, .name = "e"}); }),
            "einsum_dense 'e': the input has rank 3, the equation is 'ab,bc->ac'");
  EXPECT_EQ(error_of([&] {
              einsum_dense(s, {.equation = "abc,cd->abd", .output_shape = {5, 2}, .name = "g"});
            }),
            "einsum_dense 'g': output_shape [5,2] has 5 for 'b', expected 4, or -1");
  EXPECT_EQ(error_of([&] {
              batch_dot({f, s}, {.axes = {1, 1}, .name = "d"});
            }),
            "dot 'd': inputs are f32[2,3] and f32[2,4,3], expected the same batch, and axis 1 as long as axis 1");
  EXPECT_EQ(error_of([&] {
              cropping1d(s, {2, 2});
            }),
            "cropping1d 'cropping1d': cropping 2 and 2 steps leaves nothing of f32[2,4,3]");
  EXPECT_EQ(error_of([&] { repeat_vector(s, 2); }),
            "repeat_vector 'repeat_vector': input is f32[2,4,3], expected rank 2");
}

}  // namespace
}  // namespace tenon

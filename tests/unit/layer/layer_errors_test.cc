// Mistakes in the use of layers: one line that names layer, what was expected and what was found.
#include <gtest/gtest.h>

#include "tenon/layers.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::error_of;
using model_testing::feed;

class LayerErrors : public testing::Test {
 protected:
  Tensor f32(const Shape& s) { return feed(graph_, "x", s); }
  Tensor i32(const Shape& s) { return feed(graph_, "i", s, DType::kI32); }
  Graph graph_;
};

TEST_F(LayerErrors, OfDense) {
  EXPECT_EQ(error_of([&] { dense(f32({2, 3}), {.units = 0}); }), "dense 'dense': units is 0, expected 1 or more");
  EXPECT_EQ(error_of([&] { dense(f32({2}), {.units = 3, .name = "head"}); }),
            "dense 'head': input is f32[2], expected a float of rank 2 or more");
  EXPECT_EQ(error_of([&] {
              layer_normalization(i32({2, 3}));
            }),
            "layer_normalization 'layer_normalization': input is i32[2,3], expected a float of rank 2 or more");
  EXPECT_EQ(error_of([&] { dense({}, {.units = 3}); }), "dense 'dense': the input was never set");
  EXPECT_EQ(error_of([&] { dense(f32({0, 3}), {.units = 3, .name = "d"}); }), "dense 'd': input f32[0,3] is empty");
}

TEST_F(LayerErrors, OfConvolutions) {
  const Tensor x = f32({1, 8, 8, 6});
  const auto conv = [&](ConvLayerOptions o) {
    o.name = "c";
    Graph graph;
    return error_of([&] { conv2d(feed(graph, "x", {1, 8, 8, 6}), o); });
  };
  EXPECT_EQ(conv({.filters = 0, .kernel = 3}), "conv2d 'c': filters is 0, expected 1 or more");
  EXPECT_EQ(conv({.filters = 8, .kernel = 0}), "conv2d 'c': kernel size is 0, expected 1 or more");
  EXPECT_EQ(conv({.filters = 8, .kernel = {3, 3, 3}}), "conv2d 'c': kernel size has 3 numbers, expected 1 or 2");
  EXPECT_EQ(conv({.filters = 8, .kernel = 3, .strides = 0}), "conv2d 'c': stride is 0, expected 1 or more");
  EXPECT_EQ(conv({.filters = 8, .kernel = 3, .dilation = 0}), "conv2d 'c': dilation is 0, expected 1 or more");
  EXPECT_EQ(conv({.filters = 8, .kernel = 3, .groups = 4}),
            "conv2d 'c': groups 4 do not divide 6 channels and 8 filters");
  EXPECT_EQ(conv({.filters = 8, .kernel = 3, .groups = 0}),
            "conv2d 'c': groups 0 do not divide 6 channels and 8 filters");
  EXPECT_EQ(conv({.filters = 8, .kernel = 5, .dilation = 2}),
            "conv2d 'c': input f32[1,8,8,6] is smaller than the kernel, 9 in spatial dimension 0");
  EXPECT_EQ(conv({.filters = 8, .kernel = 3, .padding = Padding::kCausal}),
            "conv2d 'c': padding is causal, expected valid or same");
  EXPECT_EQ(error_of([&] {
              conv2d(f32({8, 8, 3}), {.filters = 8});
            }),
            "conv2d 'conv2d': input is f32[8,8,3], expected a float of rank 4");
  EXPECT_EQ(error_of([&] { depthwise_conv2d(x, {.kernel = 3, .depth_multiplier = 0}); }),
            "depthwise_conv2d 'depthwise_conv2d': depth_multiplier is 0, expected 1 or more");
  EXPECT_EQ(error_of([&] { conv2d_transpose(x, {.filters = 2, .kernel = 3, .strides = 2, .output_padding = 2}); }),
            "conv2d_transpose 'conv2d_transpose': output_padding is 2, expected less than the stride 2");
}

TEST_F(LayerErrors, OfPooling) {
  const Tensor x = f32({1, 4, 4, 2});
  EXPECT_EQ(error_of([&] { max_pool2d(x, 0); }), "max_pooling2d 'max_pooling2d': pool_size is 0, expected 1 or more");
  EXPECT_EQ(error_of([&] { max_pool2d(x, {.pool_size = 2, .strides = 0}); }),
            "max_pooling2d 'max_pooling2d_1': stride is 0, expected 1 or more");
  EXPECT_EQ(error_of([&] { average_pool2d(x, 5); }),
            "average_pooling2d 'average_pooling2d': input f32[1,4,4,2] is smaller than the window, 5 in spatial "
            "dimension 0");
  EXPECT_EQ(error_of([&] {
              global_average_pool2d(f32({2, 3}));
            }),
            "global_average_pooling2d 'global_average_pooling2d': input is f32[2,3], expected a float of rank 4");
}

TEST_F(LayerErrors, OfAttention) {
  const auto attend = [](const Shape& value, const Shape& key, const Shape& mask, MultiHeadAttentionOptions o) {
    Graph graph;
    const Tensor x = feed(graph, "x", {2, 5, 6});
    if (key.rank() > 0) o.key = feed(graph, "k", key);
    if (mask.rank() > 0) o.attention_mask = feed(graph, "m", mask, DType::kBool);
    o.name = "a";
    return error_of([&] { multi_head_attention(x, feed(graph, "v", value), o); });
  };
  const Shape v{2, 4, 3};
  EXPECT_EQ(attend(v, {}, {}, {.key_dim = 4}), "multi_head_attention 'a': num_heads is 0, expected 1 or more");
  EXPECT_EQ(attend(v, {}, {}, {.num_heads = 2}), "multi_head_attention 'a': key_dim is 0, expected 1 or more");
  EXPECT_EQ(attend(v, {}, {}, {.num_heads = 2, .key_dim = 4, .dropout = 1}),
            "multi_head_attention 'a': dropout is 1, expected 0 to less than 1");
  EXPECT_EQ(attend({2, 3}, {}, {}, {.num_heads = 2, .key_dim = 4}),
            "multi_head_attention 'a': value is f32[2,3], expected f32[2,..,..] for the query f32[2,5,6]");
  EXPECT_EQ(attend(v, {2, 5, 3}, {}, {.num_heads = 2, .key_dim = 4}),
            "multi_head_attention 'a': key is f32[2,5,3], expected f32[2,4,..] for the query f32[2,5,6]");
  EXPECT_EQ(attend(v, {}, {5, 5}, {.num_heads = 2, .key_dim = 4}),
            "multi_head_attention 'a': attention_mask is bool[5,5], expected [2,5,4], or 1 where it repeats");
}

TEST_F(LayerErrors, OfTheOthers) {
  const Tensor x = f32({2, 4, 6});
  EXPECT_EQ(error_of([&] { dropout(x, 1.5); }), "dropout 'dropout': rate is 1.5, expected 0 to 1");
  EXPECT_EQ(error_of([&] {
              dropout(x, {.rate = 0.5, .residual = f32({2, 4}), .name = "d"});
            }),
            "dropout 'd': residual is f32[2,4], expected f32[2,4,6]");
  EXPECT_EQ(error_of([&] { embedding(cast(x, DType::kBF16), {.input_dim = 5, .output_dim = 2}); }),
            "embedding 'embedding': indices are bf16[2,4,6], expected i32, i64 or f32");
  EXPECT_EQ(error_of([&] { embedding(i32({2}), {.output_dim = 2}); }),
            "embedding 'embedding_1': input_dim is 0, expected 1 or more");
  EXPECT_EQ(error_of([&] { group_normalization(x, {.groups = 4}); }),
            "group_normalization 'group_normalization': groups 4 do not divide 6 channels");
  EXPECT_EQ(error_of([&] { layer_normalization(x, {.axes = {3}}); }),
            "layer_normalization 'layer_normalization': axis 3 is out of range for f32[2,4,6]");
  EXPECT_EQ(error_of([&] {
              reshape(x, ReshapeOptions{.target_shape = {5, -1}});
            }),
            "reshape 'reshape': cannot give f32[2,4,6] the shape [2,5,-1]");
  EXPECT_EQ(error_of([&] {
              reshape(x, ReshapeOptions{.target_shape = {-1, -1}});
            }),
            "reshape 'reshape_1': target has 2 sizes of -1, expected one at most");
  EXPECT_EQ(error_of([&] { permute(x, {1, 1}); }), "permute 'permute': dims [1,1], expected each of 1 to 2 once");
  EXPECT_EQ(error_of([&] {
              cropping2d(f32({1, 4, 4, 1}), 2);
            }),
            "cropping2d 'cropping2d': cropping 2 and 2 rows, 2 and 2 columns leaves nothing of f32[1,4,4,1]");
  EXPECT_EQ(error_of([&] {
              zero_padding2d(f32({1, 4, 4, 1}), {1, 2, 3});
            }),
            "zero_padding2d 'zero_padding2d': padding has 3 numbers, expected 1, 2 or 4");
  EXPECT_EQ(error_of([&] { concatenate({x}, 3); }), "concatenate 'concatenate': axis 3 is out of range for f32[2,4,6]");
  EXPECT_EQ(error_of([&] { add({}); }), "add: has no inputs");
}

TEST_F(LayerErrors, LeaveTheScopeAsItWas) {
  EXPECT_NE(error_of([&] { dense(f32({2, 3}), {.units = 0}); }), "");
  EXPECT_EQ(graph_.scope(), "");
}

}  // namespace
}  // namespace tenon

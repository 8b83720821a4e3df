#include "public_functions.h"
#include "tenon/layers.h"

namespace tenon::public_arguments {
namespace {

using A = Arguments;

const std::vector<Ints> kNoExtent = {{0}, {-1}, {kLeast}, {kMost}, {2, 0}, {1, 2, 3}, {}};
Extent extent(A& a, int64_t good) { return Extent(a.list({good}, kNoExtent)); }
Regularizer regularizer(A& a) {
  Regularizer r;
  r.l1 = a.within(0.01, {-1});
  r.l2 = a.within(0.01, {-1});
  return r;
}
ConvLayerOptions conv_options(A& a) {
  ConvLayerOptions o;
  o.filters = a.size(4);
  o.kernel = extent(a, 3);
  o.strides = extent(a, 1);
  o.dilation = extent(a, 1);
  o.groups = a.size(1);
  o.activation = a.one_of(Activation::kRelu);
  o.kernel_regularizer = regularizer(a);
  return o;
}
PoolLayerOptions pool_options(A& a) {
  PoolLayerOptions o;
  o.pool_size = extent(a, 2);
  o.strides = extent(a, 2);
  return o;
}

const std::vector<Function> kLayers = {
    {"dense",
     [](A& a) {
       auto x = a.numbers({2, 3});
       DenseOptions o;
       o.units = a.size(4);
       o.activation = a.one_of(Activation::kRelu);
       o.kernel_regularizer = regularizer(a);
       dense(x, o);
     }},
    {"dropout",
     [](A& a) {
       auto x = a.floats({2, 3});
       dropout(x, a.within(0.5, {-0.5, 2}));
     }},
    {"dropout in evaluation",
     [](A& a) {
       auto x = a.any({2, 3});
       a.graph().mode = Mode::kEval;
       dropout(x, a.within(0.5, {-0.5, 2}));
     }},
    {"spatial_dropout2d",
     [](A& a) {
       auto x = a.floats({2, 3, 3, 1}, false);
       spatial_dropout2d(x, a.within(0.5, {-0.5, 2}));
     }},
    {"flatten",
     [](A& a) {
       flatten(a.any({2, 3}));
     }},
    {"reshape of examples",
     [](A& a) {
       auto x = a.any({2, 6});
       reshape(x,
               ReshapeOptions{.target_shape = a.list({2, 3}, {{-1, -1}, {7}, {kMost, kMost}, {0}, {-2, 3}, {kLeast}})});
     }},
    {"permute",
     [](A& a) {
       auto x = a.any({2, 6, 3});
       permute(x, a.list({2, 1}, {{0, 1}, {1}, {1, 1}, {1, 3}, {kMost, 1}, {}}));
     }},
    {"embedding",
     [](A& a) {
       auto i = a.tensor(DType::kI32, {2, 6}, {DType::kBool});  // floats are cast, as Keras's are
       EmbeddingOptions o;
       o.input_dim = a.size(5);
       o.output_dim = a.size(4);
       embedding(i, o);
     }},
    {"multi_head_attention",
     [](A& a) {
       auto q = a.floats({2, 6, 8}), v = a.floats({2, 6, 8});
       MultiHeadAttentionOptions o;
       o.num_heads = a.size(2);
       o.key_dim = a.size(4);
       o.dropout = a.rate(0.1);
       o.kernel_regularizer = regularizer(a);
       multi_head_attention(q, v, o);
     }},
    {"conv1d",
     [](A& a) {
       auto x = a.numbers({2, 8, 4});
       ConvLayerOptions o;
       o.filters = a.size(4);
       o.kernel = Extent(a.list({3}, {{0}, {-1}, {kMost}, {2, 2}, {}}));
       conv1d(x, o);
     }},
    {"conv2d",
     [](A& a) {
       auto x = a.numbers({2, 8, 8, 4});
       conv2d(x, conv_options(a));
     }},
    {"depthwise_conv2d",
     [](A& a) {
       auto x = a.numbers({2, 8, 8, 4});
       ConvLayerOptions o;
       o.kernel = extent(a, 3);
       o.strides = extent(a, 1);
       o.depth_multiplier = a.size(2);
       depthwise_conv2d(x, o);
     }},
    {"separable_conv2d",
     [](A& a) {
       auto x = a.numbers({2, 8, 8, 4});
       ConvLayerOptions o;
       o.filters = a.size(4);
       o.kernel = extent(a, 3);
       o.depth_multiplier = a.size(2);
       separable_conv2d(x, o);
     }},
    {"conv2d_transpose",
     [](A& a) {
       auto x = a.numbers({2, 8, 8, 4});
       ConvTransposeOptions o;
       o.filters = a.size(4);
       o.kernel = extent(a, 3);
       o.strides = extent(a, 2);
       o.dilation = extent(a, 1);
       conv2d_transpose(x, o);
     }},
    {"max_pool2d",
     [](A& a) {
       auto x = a.floats({2, 8, 8, 4});
       max_pool2d(x, pool_options(a));
     }},
    {"average_pool2d",
     [](A& a) {
       auto x = a.floats({2, 8, 8, 4});
       average_pool2d(x, pool_options(a));
     }},
    {"max_pool1d",
     [](A& a) {
       auto x = a.floats({2, 8, 4});
       PoolLayerOptions o;
       o.pool_size = Extent(a.list({2}, {{0}, {-1}, {kMost}, {2, 2}, {}}));
       max_pool1d(x, o);
     }},
    {"average_pool1d",
     [](A& a) {
       auto x = a.floats({2, 8, 4});
       PoolLayerOptions o;
       o.pool_size = Extent(a.list({2}, {{0}, {-1}, {kMost}, {2, 2}, {}}));
       average_pool1d(x, o);
     }},
    {"global_average_pool2d",
     [](A& a) {
       global_average_pool2d(a.floats({2, 8, 8, 4}));
     }},
    {"global_max_pool2d",
     [](A& a) {
       global_max_pool2d(a.any({2, 8, 8, 4}));
     }},
    {"batch_normalization",
     [](A& a) {
       auto x = a.floats({2, 8});
       BatchNormOptions o;
       o.momentum = a.within(0.9, {-1, 1.5});
       o.epsilon = a.within(1e-3, {-1});
       o.activation = a.one_of(Activation::kRelu);
       batch_normalization(x, o);
     }},
    {"layer_normalization",
     [](A& a) {
       auto x = a.floats({2, 8});
       LayerNormOptions o;
       o.axes = a.list({-1}, {{9}, {-9}, {kMost}, {1, 1}, {}});
       o.epsilon = a.within(1e-3, {-1});
       layer_normalization(x, o);
     }},
    {"group_normalization",
     [](A& a) {
       auto x = a.floats({2, 8, 8, 4});
       GroupNormOptions o;
       o.groups = a.list({2}, {{0}, {-2}, {3}, {kMost}, {kLeast}})[0];
       o.epsilon = a.within(1e-3, {-1});
       group_normalization(x, o);
     }},
    {"rms_normalization",
     [](A& a) {
       auto x = a.floats({2, 8});
       RmsNormOptions o;
       o.epsilon = a.within(1e-3, {-1});
       rms_normalization(x, o);
     }},
    {"unit_normalization",
     [](A& a) {
       unit_normalization(a.floats({2, 8}));
     }},
    {"activate",
     [](A& a) {
       auto x = a.floats({2, 8});
       activate(x, a.one_of(Activation::kElu));
     }},
    {"elu",
     [](A& a) {
       auto x = a.floats({2, 8});
       elu(x, a.within(1, {-1}));
     }},
    {"relu",
     [](A& a) {
       auto x = a.floats({2, 8});
       ReluOptions o;
       o.max_value = a.no_nan(6);
       o.negative_slope = a.within(0.1, {-1});
       o.threshold = a.within(0.1, {-1});
       relu(x, o);
     }},
    {"leaky_relu",
     [](A& a) {
       auto x = a.floats({2, 8});
       leaky_relu(x, a.within(0.3, {-1}));
     }},
    {"prelu",
     [](A& a) {
       auto x = a.floats({2, 8, 3});
       prelu(x, {.shared_axes = a.list({1}, {{0}, {9}, {-1}, {kMost}})});
     }},
    {"add of several",
     [](A& a) {
       auto x = a.numbers({2, 8});
       add({x, a.tensor(DType::kF32, {2, 8}, {DType::kBool, DType::kI32})});
     }},
    {"concatenate",
     [](A& a) {
       auto x = a.any({2, 8});
       auto y = a.tensor(DType::kF32, {2, 8}, {DType::kI32});
       concatenate({x, y}, a.axis(-1));
     }},
    {"rescaling",
     [](A& a) {
       auto x = a.any({2, 8});
       auto s = a.finite(2);
       rescaling(x, s, a.finite(1));
     }},
    {"zero_padding2d",
     [](A& a) {
       auto x = a.any({2, 8, 8, 4});
       zero_padding2d(x, Extent(a.list({1}, {{-1}, {kMost}, {kLeast}, {1, 2, 3}, {}})));
     }},
    {"cropping2d",
     [](A& a) {
       auto x = a.any({2, 8, 8, 4});
       cropping2d(x, Extent(a.list({1}, {{-1}, {4}, {kMost}, {kLeast}, {1, 2, 3}, {}})));
     }},
    {"up_sampling2d",
     [](A& a) {
       auto x = a.any({2, 8, 8, 4});
       up_sampling2d(x, extent(a, 2));
     }},
    {"variable",
     [](A& a) {
       auto x = a.any({2});
       variable(x, "w", a.shape({2, 3}, {{-1}, {kMost, kMost}}), zeros());
     }},
};

}  // namespace

const std::vector<Function>& layer_functions() { return kLayers; }

}  // namespace tenon::public_arguments

// The defaults of layers.
#include "tenon/attention.h"
#include "tenon/batch_dot.h"
#include "tenon/einsum_dense.h"
#include "tenon/layer_classes.h"
#include "tenon/noise.h"
#include "tenon/recurrent.h"
#include "tenon/sequences.h"
#include "unit/train/signatures/signatures_testing.h"

namespace tenon::signatures {
namespace {

template <class Options>
Ours penalties(const Options& o) {
  return {TENON_FIELD(o, kernel_regularizer), TENON_FIELD(o, bias_regularizer), TENON_FIELD(o, activity_regularizer),
          TENON_FIELD(o, kernel_constraint), TENON_FIELD(o, bias_constraint)};
}
template <class Options>
Ours norm_penalties(const Options& o) {
  return {TENON_FIELD(o, beta_regularizer), TENON_FIELD(o, gamma_regularizer), TENON_FIELD(o, beta_constraint),
          TENON_FIELD(o, gamma_constraint)};
}

template <class Options>
Ours weights(Options o, Tensor (*layer)(Tensor, const Options&), const Shape& shape = {2, 8, 8, 4},
             const std::string& kernel = "kernel", const std::string& as = "kernel_initializer") {
  const auto build = [=](Tensor x) { layer(x, o); };
  return Ours{TENON_FIELD(o, use_bias),
              TENON_FIELD(o, activation),
              {as, first_value(kernel, build, shape)},
              {"bias_initializer", first_value("bias", build, shape)}} +
         penalties(o);
}

template <class Options>
Ours moved(const Options& o) {
  return {TENON_FIELD(o, strides),
          TENON_FIELD(o, padding),
          {"kernel_size", named("kernel", needed())},
          {"dilation_rate", named("dilation", own(o.dilation))}};
}

Ours pooling() {
  const PoolLayerOptions o;
  return {TENON_FIELD(o, strides), TENON_FIELD(o, padding)};
}

// Kernels are drawn as the matrices that they are: with one head, key_dim 4 and 4 inputs, 4 by 4.
Ours attention(const Shape& sequence) {
  const MultiHeadAttentionOptions o{.num_heads = 1, .key_dim = 4};
  const auto build = [=](Tensor x) { multi_head_attention(x, x, o); };
  const Default kernel{"what the layer does", [=](const std::string& golden) {
                         const Graph graph = graph_of(build, sequence);
                         const Variable* v = graph.find_variable("multi_head_attention/query/kernel");
                         return golden == "glorot_uniform" && v && same(v->initializer, glorot_uniform({4, 4}));
                       }};
  return Ours{TENON_NEEDED(o, num_heads),     TENON_NEEDED(o, key_dim),
              TENON_OR_NONE(o, value_dim),    TENON_FIELD(o, dropout),
              TENON_FIELD(o, use_bias),       TENON_OR_NONE(o, output_shape),
              {"kernel_initializer", kernel}, {"bias_initializer", first_value("bias", build, sequence)}} +
         penalties(o);
}

Default drawn_as(const InitializerRule& ours, Initializer (*theirs)(const Shape&), const char* name) {
  return {name, [=](const std::string& golden) { return golden == name && same(ours({6, 8}), theirs({6, 8})); }};
}

Ours group_attention(const Shape& sequence) {
  const GroupQueryAttentionOptions o{.head_dim = 4, .num_query_heads = 1, .num_key_value_heads = 1};
  const auto build = [=](Tensor x) { group_query_attention(x, x, o); };
  return Ours{TENON_NEEDED(o, head_dim),
              TENON_NEEDED(o, num_query_heads),
              TENON_NEEDED(o, num_key_value_heads),
              TENON_FIELD(o, dropout),
              TENON_FIELD(o, use_bias),
              {"kernel_initializer", drawn_as(o.kernel_initializer, glorot_uniform, "glorot_uniform")},
              {"bias_initializer", first_value("bias", build, sequence)}} +
         penalties(o);
}

// Keras's default initializers in the three recurrent layers.
Initializer an_orthogonal(const Shape&) { return orthogonal(); }
Initializer nothing(const Shape&) { return zeros(); }

template <class Options>
Ours cell(const Options& o) {
  return {TENON_NEEDED(o, units),
          TENON_FIELD(o, activation),
          TENON_FIELD(o, use_bias),
          TENON_FIELD(o, dropout),
          TENON_FIELD(o, recurrent_dropout),
          TENON_FIELD(o, return_sequences),
          TENON_FIELD(o, return_state),
          TENON_FIELD(o, go_backwards),
          TENON_FIELD(o, stateful),
          TENON_FIELD(o, kernel_regularizer),
          TENON_FIELD(o, recurrent_regularizer),
          TENON_FIELD(o, bias_regularizer),
          TENON_FIELD(o, activity_regularizer),
          TENON_FIELD(o, kernel_constraint),
          TENON_FIELD(o, recurrent_constraint),
          TENON_FIELD(o, bias_constraint),
          {"kernel_initializer", drawn_as(o.kernel_initializer, glorot_uniform, "glorot_uniform")},
          {"recurrent_initializer", drawn_as(o.recurrent_initializer, an_orthogonal, "orthogonal")},
          {"bias_initializer", drawn_as(o.bias_initializer, nothing, "zeros")}};
}

void add_new_layers(Table& t) {
  const LSTMOptions lstm;
  const GRUOptions gru;
  const auto gated = [](const auto& o) { return Ours{TENON_FIELD(o, recurrent_activation)}; };
  t["SimpleRNN"] = cell(SimpleRNNOptions());
  t["LSTM"] = cell(lstm) + gated(lstm) + Ours{TENON_FIELD(lstm, unit_forget_bias)};
  t["GRU"] = cell(gru) + gated(gru) + Ours{TENON_FIELD(gru, reset_after)};
  t["Bidirectional"] = {
      {"merge_mode", text(BidirectionalOptions().merge_mode == MergeMode::kConcat ? "concat" : "other")}};
  t["TimeDistributed"] = {};
}

template <class Options>
Ours pointwise(Options o, Tensor (*layer)(Tensor, const Options&), const Shape& shape) {
  return moved(o) + weights(o, layer, shape, "depthwise_kernel", "depthwise_initializer") +
         Ours{{"pointwise_initializer", first_value(
                                            "pointwise_kernel", [=](Tensor x) { layer(x, o); }, shape)},
              TENON_FIELD(o, depth_multiplier)};
}

// Sequences, noise, and what needs no more than its name.
void add_sequence_layers(Table& t) {
  const Shape sequence{2, 8, 4};
  const ConvLayerOptions conv{.filters = 4};
  const ConvTransposeOptions transposed{.filters = 4};
  const EinsumDenseOptions sum{.equation = "ab,bc->ac", .output_shape = {4}};
  EinsumDenseOptions biased = sum;
  biased.bias_axes = "c";
  const auto summed = [=](Tensor x) { einsum_dense(x, biased); };
  const auto one = [=](auto layer) { return numbered(layer, sequence); };
  t["Conv1DTranspose"] = moved(transposed) + weights(transposed, conv1d_transpose, sequence) +
                         Ours{TENON_FIELD(transposed, output_padding)};
  t["DepthwiseConv1D"] = moved(conv) + weights(conv, depthwise_conv1d, sequence, "kernel", "depthwise_initializer") +
                         Ours{TENON_FIELD(conv, depth_multiplier)};
  t["SeparableConv1D"] = pointwise(conv, separable_conv1d, sequence);
  t["Cropping1D"] = {{"cropping", one([](Tensor x, auto... v) { cropping1d(x, static_cast<int64_t>(v)...); })}};
  t["ZeroPadding1D"] = {{"padding", one([](Tensor x, auto... v) { zero_padding1d(x, static_cast<int64_t>(v)...); })}};
  t["UpSampling1D"] = {{"size", one([](Tensor x, auto... v) { up_sampling1d(x, static_cast<int64_t>(v)...); })}};
  t["EinsumDense"] = Ours{TENON_NEEDED(sum, equation),
                          TENON_NEEDED(sum, output_shape),
                          TENON_FIELD(sum, activation),
                          TENON_FIELD(sum, bias_axes),
                          {"kernel_initializer", first_value("kernel", summed, {2, 4})},
                          {"bias_initializer", first_value("bias", summed, {2, 4})}} +
                     penalties(sum);
  const DotAttentionOptions dots;
  t["Attention"] = {TENON_FIELD(dots, use_scale), TENON_FIELD(dots, dropout),
                    {"score_mode", text(dots.score_mode == ScoreMode::kDot ? "dot" : "concat")}};
  t["Dot"] = {TENON_NEEDED(BatchDotOptions(), axes), TENON_FIELD(BatchDotOptions(), normalize)};
  t["GaussianNoise"] = {TENON_NEEDED(GaussianNoiseOptions(), stddev)};
  t["GaussianDropout"] = {TENON_NEEDED(GaussianDropoutOptions(), rate)};
  for (const char* name :
       {"AdaptiveAveragePooling2D", "AdaptiveMaxPooling2D", "Identity", "Input", "Layer", "RepeatVector"})
    t[name];
}

}  // namespace

Table layers() {
  ConvLayerOptions conv;
  ConvTransposeOptions transposed;
  DenseOptions fc;
  EmbeddingOptions rows{.input_dim = 5, .output_dim = 3};
  fc.units = conv.filters = transposed.filters = 4;
  const ReluOptions re;
  const PreluOptions pre;
  const BatchNormOptions bn;
  const LayerNormOptions ln;
  const GroupNormOptions gn{.groups = 2};
  const auto batch_norm = [](Tensor x) { batch_normalization(x); };
  const auto layer_norm = [](Tensor x) { layer_normalization(x); };
  const auto group_norm = [=](Tensor x) { group_normalization(x, gn); };
  const auto scaled = [](const auto& norm) -> Ours {
    return {{"beta_initializer", first_value("beta", norm)}, {"gamma_initializer", first_value("gamma", norm)}};
  };
  Ours convolution = moved(conv) + weights(conv, conv2d);
  convolution.insert({TENON_FIELD(conv, groups), TENON_NEEDED(conv, filters)});
  Table t{
      {"Activation", {}},
      {"Add", {}},
      {"Average", {}},
      {"Maximum", {}},
      {"Minimum", {}},
      {"Multiply", {}},
      {"Subtract", {}},
      {"Flatten", {}},
      {"Permute", {}},
      {"Reshape", {TENON_NEEDED(ReshapeOptions(), target_shape)}},
      {"Dropout", {TENON_NEEDED(DropoutOptions(), rate)}},
      {"SpatialDropout1D", {TENON_NEEDED(SpatialDropoutOptions(), rate)}},
      {"SpatialDropout2D", {TENON_NEEDED(SpatialDropoutOptions(), rate)}},
      {"Cropping2D", {{"cropping", numbered([](Tensor x, auto... v) { Cropping2D(static_cast<int64_t>(v)...)(x); })}}},
      {"UnitNormalization", {}},
      {"Conv1D", convolution},
      {"Conv2D", convolution},
      {"DepthwiseConv2D", moved(conv) +
                              weights(conv, depthwise_conv2d, {2, 8, 8, 4}, "kernel", "depthwise_initializer") +
                              Ours{TENON_FIELD(conv, depth_multiplier)}},
      {"SeparableConv2D", pointwise(conv, separable_conv2d, {2, 8, 8, 4})},
      {"Conv2DTranspose",
       moved(transposed) + weights(transposed, conv2d_transpose) + Ours{TENON_FIELD(transposed, output_padding)}},
      {"Dense", weights(fc, dense) + Ours{TENON_NEEDED(fc, units)}},
      {"Embedding",
       {TENON_NEEDED(rows, input_dim),
        TENON_NEEDED(rows, output_dim),
        TENON_FIELD(rows, mask_zero),
        TENON_FIELD(rows, embeddings_regularizer),
        TENON_FIELD(rows, embeddings_constraint),
        {"embeddings_initializer",
         first_value("embeddings", [=](Tensor x) { embedding(cast(x, DType::kI32), rows); })}}},
      {"AveragePooling1D", pooling()},
      {"AveragePooling2D", pooling()},
      {"MaxPooling1D", pooling() + Ours{TENON_FIELD(PoolLayerOptions(), pool_size)}},
      {"MaxPooling2D", pooling() + Ours{TENON_FIELD(PoolLayerOptions(), pool_size)}},
      {"ReLU", {TENON_FIELD(re, max_value), TENON_FIELD(re, negative_slope), TENON_FIELD(re, threshold)}},
      {"LeakyReLU", {{"negative_slope", numbered([](Tensor x, auto... v) { LeakyReLU(v...)(x); })}}},
      {"ELU", {{"alpha", numbered([](Tensor x, auto... v) {
                  ELU(v...)
                  (x);
                })}}},
      {"PReLU",
       {TENON_FIELD(pre, shared_axes),
        TENON_FIELD(pre, alpha_regularizer),
        TENON_FIELD(pre, alpha_constraint),
        {"alpha_initializer", first_value("alpha", [](Tensor x) { prelu(x); })}}},
      {"Softmax", {{"axis", numbered([](Tensor x, auto... v) { softmax(x, static_cast<int64_t>(v)...); })}}},
      {"Concatenate", {{"axis", numbered([](Tensor x, auto... v) {
                          concatenate({x, x}, static_cast<int64_t>(v)...);
                        })}}},
      {"Rescaling", {{"offset", numbered([](Tensor x, auto... v) { rescaling(x, 0.5, v...); })}}},
      {"UpSampling2D",
       {{"size", numbered([](Tensor x, auto... v) { up_sampling2d(x, static_cast<int64_t>(v)...); })},
        {"interpolation",
         {"what the layer does",
          [](const std::string& golden) {
            const auto with = [](Tensor x) { UpSampling2D(2, ResizeMethod::kNearest)(x); };
            const Shape image{2, 8, 8, 4};
            return golden == "nearest" &&
                   same_nodes(graph_of([](Tensor x) { UpSampling2D(2)(x); }, image), graph_of(with, image));
          }}}}},
      {"ZeroPadding2D",
       {{"padding", numbered([](Tensor x, auto... v) { zero_padding2d(x, static_cast<int64_t>(v)...); })}}},
      {"BatchNormalization", scaled(batch_norm) + norm_penalties(bn) +
                                 Ours{TENON_FIELD(bn, axis),
                                      TENON_FIELD(bn, momentum),
                                      TENON_FIELD(bn, epsilon),
                                      TENON_FIELD(bn, center),
                                      TENON_FIELD(bn, scale),
                                      TENON_FIELD(bn, synchronized),
                                      {"moving_mean_initializer", first_value("moving_mean", batch_norm)},
                                      {"moving_variance_initializer", first_value("moving_variance", batch_norm)}}},
      {"LayerNormalization", scaled(layer_norm) + norm_penalties(ln) +
                                 Ours{{"axis", named("axes", own(ln.axes))},
                                      TENON_FIELD(ln, epsilon),
                                      TENON_FIELD(ln, center),
                                      TENON_FIELD(ln, scale)}},
      {"GroupNormalization", scaled(group_norm) + norm_penalties(gn) +
                                 Ours{TENON_FIELD(GroupNormOptions(), groups), TENON_FIELD(gn, epsilon),
                                      TENON_FIELD(gn, center), TENON_FIELD(gn, scale)}},
      {"RMSNormalization", {TENON_FIELD(RmsNormOptions(), epsilon)}},
  };
  const Shape sequence{2, 8, 4};
  t["MultiHeadAttention"] = attention(sequence);
  t["GroupQueryAttention"] = group_attention(sequence);
  const auto keep = [](auto pool, const Shape& shape) -> Ours {
    return {{"keepdims", call([=](Tensor x) { pool(x, false); }, [=](Tensor x, double v) { pool(x, v != 0); }, shape)}};
  };
  t["GlobalAveragePooling1D"] = keep(global_average_pool1d, sequence);
  t["GlobalMaxPooling1D"] = keep(global_max_pool1d, sequence);
  t["GlobalAveragePooling2D"] = keep(global_average_pool2d, {2, 8, 8, 4});
  t["GlobalMaxPooling2D"] = keep(global_max_pool2d, {2, 8, 8, 4});
  add_new_layers(t);
  add_sequence_layers(t);
  return t;
}

}  // namespace tenon::signatures

// The defaults of layers.
#include "tenon/augmentation.h"
#include "tenon/layer_classes.h"
#include "tenon/preprocessing.h"
#include "tenon/recurrent.h"
#include "unit/train/signatures_testing.h"

namespace tenon::signatures {
namespace {

Default padding(Padding p) { return text(p == Padding::kValid ? "valid" : "other"); }
Default act(const ActivationRule& a) {
  return a.fused() == linear ? text("None") : text(std::string(activation_name(a.fused())));
}
Default extent(const Extent& e) { return e.count() == 1 ? number(static_cast<double>(e.of(1)[0])) : text("several"); }
Default penalty(const Regularizer& r) { return none(!r); }
Default limit(const Constraint& c) { return none(!c.project); }

template <class Options>
Ours penalties(const Options& o) {
  return {{"kernel_regularizer", penalty(o.kernel_regularizer)},
          {"bias_regularizer", penalty(o.bias_regularizer)},
          {"activity_regularizer", penalty(o.activity_regularizer)},
          {"kernel_constraint", limit(o.kernel_constraint)},
          {"bias_constraint", limit(o.bias_constraint)}};
}
template <class Options>
Ours norm_penalties(const Options& o) {
  return {{"beta_regularizer", penalty(o.beta_regularizer)},
          {"gamma_regularizer", penalty(o.gamma_regularizer)},
          {"beta_constraint", limit(o.beta_constraint)},
          {"gamma_constraint", limit(o.gamma_constraint)}};
}

template <class Options>
Ours weights(Options o, Tensor (*layer)(Tensor, const Options&), const Shape& shape = {2, 8, 8, 4},
             const std::string& kernel = "kernel", const std::string& as = "kernel_initializer") {
  const auto build = [=](Tensor x) { layer(x, o); };
  return Ours{{"use_bias", flag(o.use_bias)},
              {"activation", act(o.activation)},
              {as, first_value(kernel, build, shape)},
              {"bias_initializer", first_value("bias", build, shape)}} +
         penalties(o);
}

template <class Options>
Ours moved(const Options& o) {
  return {{"strides", extent(o.strides)}, {"padding", padding(o.padding)}, {"dilation_rate", extent(o.dilation)}};
}

Ours pooling() {
  const PoolLayerOptions o;
  return {{"strides", none(!o.strides)}, {"padding", padding(o.padding)}};
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
  return Ours{{"value_dim", none(o.value_dim == 0)}, {"dropout", number(o.dropout)},
              {"use_bias", flag(o.use_bias)},        {"output_shape", none(o.output_shape == 0)},
              {"kernel_initializer", kernel},        {"bias_initializer", first_value("bias", build, sequence)}} +
         penalties(o);
}

// Of the three recurrent layers.
template <class Options>
Ours cell(const Options& o) {
  return {{"activation", text(std::string(activation_name(o.activation.fused())))},
          {"use_bias", flag(o.use_bias)},
          {"dropout", number(o.dropout)},
          {"recurrent_dropout", number(o.recurrent_dropout)},
          {"return_sequences", flag(o.return_sequences)},
          {"return_state", flag(o.return_state)},
          {"go_backwards", flag(o.go_backwards)},
          {"stateful", flag(o.stateful)}};
}

template <class Options>
Ours places(const Options& o) {
  return {{"fill_mode", text(o.fill_mode == FillMode::kReflect ? "reflect" : "other")},
          {"interpolation", text(o.interpolation == ResizeMethod::kBilinear ? "bilinear" : "other")},
          {"fill_value", number(o.fill_value)}};
}

void add_new_layers(Table& t) {
  const LSTMOptions lstm;
  const GRUOptions gru;
  const NormalizationOptions norm;
  const ResizingOptions size;
  const RandomZoomOptions zoom;
  const auto gated = [](const auto& o) {
    return Ours{{"recurrent_activation", text(std::string(activation_name(o.recurrent_activation.fused())))}};
  };
  t["SimpleRNN"] = cell(SimpleRNNOptions());
  t["LSTM"] = cell(lstm) + gated(lstm) + Ours{{"unit_forget_bias", flag(lstm.unit_forget_bias)}};
  t["GRU"] = cell(gru) + gated(gru) + Ours{{"reset_after", flag(gru.reset_after)}};
  t["Bidirectional"] = {
      {"merge_mode", text(BidirectionalOptions().merge_mode == MergeMode::kConcat ? "concat" : "other")}};
  t["Normalization"] = {{"axis", number(static_cast<double>(norm.axis.at(0)))},
                        {"mean", none(norm.mean.empty())},
                        {"variance", none(norm.variance.empty())},
                        {"invert", flag(norm.invert)}};
  t["Resizing"] = {{"interpolation", text(size.interpolation == Interpolation::kBilinear ? "bilinear" : "other")},
                   {"crop_to_aspect_ratio", flag(size.crop_to_aspect_ratio)},
                   {"pad_to_aspect_ratio", flag(size.pad_to_aspect_ratio)},
                   {"fill_value", number(size.fill_value)},
                   {"antialias", flag(size.antialias)}};
  t["RandomRotation"] = places(RandomRotationOptions());
  t["RandomTranslation"] = places(RandomTranslationOptions());
  t["RandomZoom"] = places(zoom) + Ours{{"width_factor", none(!zoom.width_factor)}};
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
  convolution["groups"] = number(static_cast<double>(conv.groups));
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
      {"Reshape", {}},
      {"Dropout", {}},
      {"SpatialDropout2D", {}},
      {"Cropping2D", {}},
      {"UnitNormalization", {{"axis", number(-1)}}},
      {"Conv1D", convolution},
      {"Conv2D", convolution},
      {"DepthwiseConv2D", moved(conv) +
                              weights(conv, depthwise_conv2d, {2, 8, 8, 4}, "kernel", "depthwise_initializer") +
                              Ours{{"depth_multiplier", number(static_cast<double>(conv.depth_multiplier))}}},
      {"SeparableConv2D",
       moved(conv) + weights(conv, separable_conv2d, {2, 8, 8, 4}, "depthwise_kernel", "depthwise_initializer") +
           Ours{
               {"pointwise_initializer", first_value("pointwise_kernel", [=](Tensor x) { separable_conv2d(x, conv); })},
               {"depth_multiplier", number(static_cast<double>(conv.depth_multiplier))}}},
      {"Conv2DTranspose", moved(transposed) + weights(transposed, conv2d_transpose) +
                              Ours{{"output_padding", none(!transposed.output_padding)}}},
      {"Dense", weights(fc, dense)},
      {"Embedding",
       {{"mask_zero", flag(rows.mask_zero)},
        {"embeddings_regularizer", penalty(rows.embeddings_regularizer)},
        {"embeddings_constraint", limit(rows.embeddings_constraint)},
        {"embeddings_initializer",
         first_value("embeddings", [=](Tensor x) { embedding(cast(x, DType::kI32), rows); })}}},
      {"AveragePooling1D", pooling()},
      {"AveragePooling2D", pooling()},
      {"MaxPooling1D", pooling() + Ours{{"pool_size", extent(PoolLayerOptions().pool_size)}}},
      {"MaxPooling2D", pooling() + Ours{{"pool_size", extent(PoolLayerOptions().pool_size)}}},
      {"ReLU",
       {{"max_value", none(!re.max_value)},
        {"negative_slope", number(re.negative_slope)},
        {"threshold", number(re.threshold)}}},
      {"LeakyReLU", {{"negative_slope", numbered([](Tensor x, auto... v) { LeakyReLU(v...)(x); })}}},
      {"ELU", {{"alpha", numbered([](Tensor x, auto... v) {
                  ELU(v...)
                  (x);
                })}}},
      {"PReLU",
       {{"shared_axes", none(pre.shared_axes.empty())},
        {"alpha_regularizer", penalty(pre.alpha_regularizer)},
        {"alpha_constraint", limit(pre.alpha_constraint)},
        {"alpha_initializer", first_value("alpha", [](Tensor x) { prelu(x); })}}},
      {"Softmax", {{"axis", numbered([](Tensor x, auto... v) { softmax(x, static_cast<int64_t>(v)...); })}}},
      {"Concatenate", {{"axis", numbered([](Tensor x, auto... v) {
                          concatenate({x, x}, static_cast<int64_t>(v)...);
                        })}}},
      {"Rescaling", {{"offset", numbered([](Tensor x, auto... v) { rescaling(x, 0.5, v...); })}}},
      {"UpSampling2D",
       {{"size", numbered([](Tensor x, auto... v) { up_sampling2d(x, static_cast<int64_t>(v)...); })},
        {"interpolation", text("nearest")}}},
      {"ZeroPadding2D",
       {{"padding", numbered([](Tensor x, auto... v) { zero_padding2d(x, static_cast<int64_t>(v)...); })}}},
      {"BatchNormalization", scaled(batch_norm) + norm_penalties(bn) +
                                 Ours{{"axis", number(-1)},
                                      {"momentum", number(bn.momentum)},
                                      {"epsilon", number(bn.epsilon)},
                                      {"center", flag(bn.center)},
                                      {"scale", flag(bn.scale)},
                                      {"moving_mean_initializer", first_value("moving_mean", batch_norm)},
                                      {"moving_variance_initializer", first_value("moving_variance", batch_norm)}}},
      {"LayerNormalization", scaled(layer_norm) + norm_penalties(ln) +
                                 Ours{{"axis", number(static_cast<double>(ln.axes.at(0)))},
                                      {"epsilon", number(ln.epsilon)},
                                      {"center", flag(ln.center)},
                                      {"scale", flag(ln.scale)}}},
      {"GroupNormalization", scaled(group_norm) + norm_penalties(gn) +
                                 Ours{{"groups", number(static_cast<double>(GroupNormOptions().groups))},
                                      {"axis", number(-1)},
                                      {"epsilon", number(gn.epsilon)},
                                      {"center", flag(gn.center)},
                                      {"scale", flag(gn.scale)}}},
      {"RMSNormalization", {{"axis", number(-1)}, {"epsilon", number(RmsNormOptions().epsilon)}}},
  };
  const Shape sequence{2, 8, 4};
  t["MultiHeadAttention"] = attention(sequence);
  const auto keep = [](auto pool, const Shape& shape) -> Ours {
    return {{"keepdims", call([=](Tensor x) { pool(x, false); }, [=](Tensor x, double v) { pool(x, v != 0); }, shape)}};
  };
  t["GlobalAveragePooling1D"] = keep(global_average_pool1d, sequence);
  t["GlobalMaxPooling1D"] = keep(global_max_pool1d, sequence);
  t["GlobalAveragePooling2D"] = keep(global_average_pool2d, {2, 8, 8, 4});
  t["GlobalMaxPooling2D"] = keep(global_max_pool2d, {2, 8, 8, 4});
  add_new_layers(t);
  return t;
}

}  // namespace tenon::signatures

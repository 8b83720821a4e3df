// Numbers that nobody means, in the options of layers, losses, metrics, optimizers and constraints.
#include "tenon/augmentation.h"
#include "tenon/constraints.h"
#include "tenon/masking.h"
#include "tenon/noise.h"
#include "tenon/preprocessing.h"
#include "tenon/recurrent.h"
#include "unit/train/option_numbers.h"
#include "unit/train/signatures/signatures_testing.h"

namespace tenon {
namespace {

const Shape kImages = {2, 8, 8, 4}, kSteps = {2, 5, 4}, kRows = {2, 4};

// What `layer` says where it is built in training.
template <class Layer>
void built(const Shape& shape, const Layer& layer) {
  Graph graph;
  graph.mode = Mode::kTrain;
  (void)layer(Tensor(&graph, graph.add_input({DType::kF32, shape}, Role::kFeed, "x")));
}
template <class Layer>
void images(const Layer& layer) {
  built(kImages, layer);
}
template <class Layer>
void steps(const Layer& layer) {
  built(kSteps, layer);
}
template <class Layer>
void rows(const Layer& layer) {
  built(kRows, layer);
}

#define EXPECT_IN_LAYER(kind, base, field, expected, call) \
  TENON_EXPECT_REFUSED(base, field, expected, kind([&](Tensor x) { return call(x, o); }))

TEST(LayerNumbers, OfDenseLayers) {
  const DenseOptions d{.units = 3};
  EXPECT_IN_LAYER(rows, d, units, "negative zero huge", dense);
  const EmbeddingOptions e{.input_dim = 3, .output_dim = 2};
  const auto embed = [](Tensor x, const EmbeddingOptions& o) { return embedding(cast(x, DType::kI32), o); };
  EXPECT_IN_LAYER(rows, e, input_dim, "negative zero huge", embed);
  EXPECT_IN_LAYER(rows, e, output_dim, "negative zero huge", embed);
  const DropoutOptions drop;
  EXPECT_IN_LAYER(rows, drop, rate, "negative huge infinite nan", dropout);
  const SpatialDropoutOptions spatial;
  EXPECT_IN_LAYER(images, spatial, rate, "negative huge infinite nan", spatial_dropout2d);
  const MultiHeadAttentionOptions a{.num_heads = 2, .key_dim = 2};
  const auto attend = [](Tensor x, const MultiHeadAttentionOptions& o) { return multi_head_attention(x, x, o); };
  EXPECT_IN_LAYER(steps, a, num_heads, "negative zero huge", attend);
  EXPECT_IN_LAYER(steps, a, key_dim, "negative zero huge", attend);
  EXPECT_IN_LAYER(steps, a, value_dim, "negative huge", attend);
  EXPECT_IN_LAYER(steps, a, output_shape, "negative huge", attend);
  EXPECT_IN_LAYER(steps, a, dropout, "negative huge infinite nan", attend);
  const GroupQueryAttentionOptions g{.head_dim = 2, .num_query_heads = 2, .num_key_value_heads = 1};
  const auto group = [](Tensor x, const GroupQueryAttentionOptions& o) { return group_query_attention(x, x, o); };
  EXPECT_IN_LAYER(steps, g, head_dim, "negative zero huge", group);
  EXPECT_IN_LAYER(steps, g, num_query_heads, "negative zero huge", group);
  EXPECT_IN_LAYER(steps, g, num_key_value_heads, "negative zero huge", group);
  EXPECT_IN_LAYER(steps, g, dropout, "negative huge infinite nan", group);
}

TEST(LayerNumbers, OfConvolutionsAndPools) {
  const ConvLayerOptions c{.filters = 4, .kernel = 2};
  EXPECT_IN_LAYER(images, c, filters, "negative zero huge", conv2d);
  EXPECT_IN_LAYER(images, c, kernel, "negative zero huge", conv2d);
  TENON_EXPECT_REFUSED_AS("stride", c, strides, "negative zero huge", images([&](Tensor x) { return conv2d(x, o); }));
  EXPECT_IN_LAYER(images, c, dilation, "negative zero huge", conv2d);
  EXPECT_IN_LAYER(images, c, groups, "negative zero huge", conv2d);
  EXPECT_IN_LAYER(images, c, depth_multiplier, "negative zero huge", depthwise_conv2d);
  const ConvTransposeOptions t{.filters = 4, .kernel = 2, .strides = 2};
  EXPECT_IN_LAYER(images, t, filters, "negative zero huge", conv2d_transpose);
  EXPECT_IN_LAYER(images, t, output_padding, "negative huge", conv2d_transpose);
  const PoolLayerOptions p;
  TENON_EXPECT_REFUSED_AS("", p, pool_size, "negative zero huge", images([&](Tensor x) { return max_pool2d(x, o); }));
  TENON_EXPECT_REFUSED_AS("stride", p, strides, "negative zero huge",
                          images([&](Tensor x) { return max_pool2d(x, o); }));
}

TEST(LayerNumbers, OfNormalizations) {
  const BatchNormOptions b;
  EXPECT_IN_LAYER(images, b, momentum, "negative huge infinite nan", batch_normalization);
  EXPECT_IN_LAYER(images, b, epsilon, "negative infinite nan", batch_normalization);
  const LayerNormOptions l;
  EXPECT_IN_LAYER(images, l, epsilon, "negative infinite nan", layer_normalization);
  const GroupNormOptions g{.groups = 2};
  EXPECT_IN_LAYER(images, g, groups, "zero huge", group_normalization);
  EXPECT_IN_LAYER(images, g, epsilon, "negative infinite nan", group_normalization);
  const RmsNormOptions r;
  EXPECT_IN_LAYER(images, r, epsilon, "negative infinite nan", rms_normalization);
}

TEST(LayerNumbers, OfRecurrentLayers) {
  const auto each = [](auto base, auto layer) {
    EXPECT_IN_LAYER(steps, base, units, "negative zero huge", layer);
    EXPECT_IN_LAYER(steps, base, dropout, "negative huge infinite nan", layer);
    TENON_EXPECT_REFUSED_AS("dropout", base, recurrent_dropout, "negative huge infinite nan",
                            steps([&](Tensor x) { return layer(x, o); }));
  };
  each(SimpleRNNOptions{.units = 2}, [](Tensor x, const SimpleRNNOptions& o) { return simple_rnn(x, o); });
  each(LSTMOptions{.units = 2}, [](Tensor x, const LSTMOptions& o) { return lstm(x, o); });
  each(GRUOptions{.units = 2}, [](Tensor x, const GRUOptions& o) { return gru(x, o); });
}

TEST(LayerNumbers, OfImagesAndNoise) {
  const ResizingOptions r{.height = 4, .width = 4};
  TENON_EXPECT_REFUSED_AS("size", r, height, "negative zero huge", images([&](Tensor x) { return resizing(x, o); }));
  TENON_EXPECT_REFUSED_AS("size", r, width, "negative zero huge", images([&](Tensor x) { return resizing(x, o); }));
  EXPECT_IN_LAYER(images, r, fill_value, "infinite nan", resizing);
  const CenterCropOptions c{.height = 4, .width = 4};
  TENON_EXPECT_REFUSED_AS("size", c, height, "negative zero huge", images([&](Tensor x) { return center_crop(x, o); }));
  const RandomCropOptions crop{.height = 4, .width = 4};
  TENON_EXPECT_REFUSED_AS("size", crop, height, "negative zero huge",
                          images([&](Tensor x) { return random_crop(x, o); }));
  const RandomRotationOptions rotation;
  EXPECT_IN_LAYER(images, rotation, factor, "negative huge infinite nan", random_rotation);
  EXPECT_IN_LAYER(images, rotation, fill_value, "infinite nan", random_rotation);
  const RandomZoomOptions zoom;
  EXPECT_IN_LAYER(images, zoom, height_factor, "negative huge infinite nan", random_zoom);
  EXPECT_IN_LAYER(images, zoom, width_factor, "negative huge infinite nan", random_zoom);
  const RandomTranslationOptions translation;
  EXPECT_IN_LAYER(images, translation, height_factor, "negative huge infinite nan", random_translation);
  const RandomContrastOptions contrast;
  EXPECT_IN_LAYER(images, contrast, factor, "negative huge infinite nan", random_contrast);
  const RandomBrightnessOptions brightness;
  EXPECT_IN_LAYER(images, brightness, factor, "negative huge infinite nan", random_brightness);
  const GaussianNoiseOptions noise;
  EXPECT_IN_LAYER(rows, noise, stddev, "negative infinite nan", gaussian_noise);
  const GaussianDropoutOptions drop;
  EXPECT_IN_LAYER(rows, drop, rate, "negative huge infinite nan", gaussian_dropout);
  const AlphaDropoutOptions alpha;
  EXPECT_IN_LAYER(rows, alpha, rate, "negative huge infinite nan", alpha_dropout);
  const ActivityRegularizationOptions activity;
  EXPECT_IN_LAYER(rows, activity, l1, "negative infinite nan", activity_regularization);
  EXPECT_IN_LAYER(rows, activity, l2, "negative infinite nan", activity_regularization);
  const MaskingOptions mask;
  EXPECT_IN_LAYER(steps, mask, mask_value, "infinite nan", masking);
  const CategoryEncodingOptions encoding{.num_tokens = 3};
  EXPECT_IN_LAYER(rows, encoding, num_tokens, "negative zero huge", [](Tensor x, const CategoryEncodingOptions& o) {
    return category_encoding(cast(x, DType::kI32), o);
  });
  const ReluOptions re;
  EXPECT_IN_LAYER(rows, re, max_value, "negative nan", relu);
  EXPECT_IN_LAYER(rows, re, negative_slope, "negative infinite nan", relu);
  EXPECT_IN_LAYER(rows, re, threshold, "negative infinite nan", relu);
}

TEST(LayerNumbers, OfLossesAndMetrics) {
  const LossOptions l;
  TENON_EXPECT_REFUSED(l, label_smoothing, "negative huge infinite nan",
                       rows([&](Tensor x) { return categorical_crossentropy(x, x, o); }));
  const FocalOptions f;
  TENON_EXPECT_REFUSED(f, alpha, "negative infinite nan",
                       rows([&](Tensor x) { return categorical_focal_crossentropy(x, x, o); }));
  TENON_EXPECT_REFUSED(f, gamma, "negative infinite nan",
                       rows([&](Tensor x) { return categorical_focal_crossentropy(x, x, o); }));
  const HuberOptions h;
  TENON_EXPECT_REFUSED(h, delta, "negative zero infinite nan", rows([&](Tensor x) { return huber(x, x, o); }));
  const OverlapOptions t;
  TENON_EXPECT_REFUSED(t, alpha, "negative infinite nan", rows([&](Tensor x) { return tversky(x, x, o); }));
  TENON_EXPECT_REFUSED(t, beta, "negative infinite nan", rows([&](Tensor x) { return tversky(x, x, o); }));
  const auto measured = [](const Metric& metric) { rows([&](Tensor x) { return metric(x, x).sums[0]; }); };
  const BinaryAccuracyOptions b;
  TENON_EXPECT_REFUSED(b, threshold, "infinite nan", measured(BinaryAccuracy(o)));
  const TopKOptions k;
  TENON_EXPECT_REFUSED(k, k, "negative zero", measured(TopKCategoricalAccuracy(o)));
  const AUCOptions a;
  TENON_EXPECT_REFUSED(a, num_thresholds, "negative zero huge", measured(AUC(o)));
  const AtOptions at;
  TENON_EXPECT_REFUSED(at, num_thresholds, "negative zero huge", measured(PrecisionAtRecall(0.5, o)));
  TENON_EXPECT_REFUSED(at, class_id, "negative huge", measured(PrecisionAtRecall(0.5, o)));
  const PrecisionOptions p;
  TENON_EXPECT_REFUSED(p, top_k, "negative zero huge", measured(Precision(o)));
  TENON_EXPECT_REFUSED(p, class_id, "negative huge", measured(Precision(o)));
  const FBetaOptions fb;
  TENON_EXPECT_REFUSED(fb, beta, "negative zero infinite nan", measured(FBetaScore(o)));
  const IoUOptions iou{.num_classes = 4};
  TENON_EXPECT_REFUSED(iou, num_classes, "negative zero huge", measured(MeanIoU(o)));
  const BinaryIoUOptions bi;
  TENON_EXPECT_REFUSED(bi, threshold, "negative huge infinite nan", measured(BinaryIoU(o)));
}

// Options that all optimizers have, and their own.
template <class Options, class Make>
void expect_common(const Options& base, Make make) {
  TENON_EXPECT_REFUSED(base, learning_rate, "negative infinite nan", make(o));
  TENON_EXPECT_REFUSED(base, weight_decay, "negative infinite nan", make(o));
  TENON_EXPECT_REFUSED(base, clipnorm, "negative infinite nan", make(o));
  TENON_EXPECT_REFUSED(base, global_clipnorm, "negative infinite nan", make(o));
  TENON_EXPECT_REFUSED(base, clipvalue, "negative infinite nan", make(o));
  TENON_EXPECT_REFUSED(base, ema_momentum, "negative huge infinite nan", make(o));
  TENON_EXPECT_REFUSED(base, ema_overwrite_frequency, "negative huge", make(o));  // without use_ema
  TENON_EXPECT_REFUSED(base, loss_scale_factor, "negative infinite nan", make(o));
  TENON_EXPECT_REFUSED(base, gradient_accumulation_steps, "negative", make(o));
}

TEST(LayerNumbers, OfOptimizers) {
  const auto sgd = [](const SGDOptions& o) { (void)SGD(o); };
  const auto adam = [](const AdamOptions& o) { (void)Adam(o); };
  const auto rmsprop = [](const RMSpropOptions& o) { (void)RMSprop(o); };
  const auto adafactor = [](const AdafactorOptions& o) { (void)Adafactor(o); };
  const auto muon = [](const MuonOptions& o) { (void)Muon(o); };
  const auto ftrl = [](const FtrlOptions& o) { (void)Ftrl(o); };
  const SGDOptions s;
  const AdamOptions a;
  const RMSpropOptions r;
  const AdafactorOptions af;
  const MuonOptions m;
  const FtrlOptions f;
  expect_common(s, sgd);
  expect_common(a, adam);
  expect_common(r, rmsprop);
  expect_common(af, adafactor);
  expect_common(m, muon);
  TENON_EXPECT_REFUSED(s, momentum, "negative huge infinite nan", sgd(o));
  TENON_EXPECT_REFUSED(a, beta_1, "negative huge infinite nan", adam(o));
  TENON_EXPECT_REFUSED(a, epsilon, "negative infinite nan", adam(o));
  TENON_EXPECT_REFUSED(r, rho, "negative huge infinite nan", rmsprop(o));
  TENON_EXPECT_REFUSED(r, initial_velocity, "negative infinite nan", rmsprop(o));
  TENON_EXPECT_REFUSED(af, epsilon_1, "negative infinite nan", adafactor(o));
  TENON_EXPECT_REFUSED(m, ns_steps, "negative huge", muon(o));
  TENON_EXPECT_REFUSED(m, rms_rate, "negative infinite nan", muon(o));
  TENON_EXPECT_REFUSED(m, adam_beta_1, "negative huge infinite nan", muon(o));
  TENON_EXPECT_REFUSED(f, beta, "negative infinite nan", ftrl(o));
  TENON_EXPECT_REFUSED(f, l1_regularization_strength, "negative infinite nan", ftrl(o));
  const LossScaleOptions scale;
  TENON_EXPECT_REFUSED(scale, initial_scale, "negative zero huge infinite nan", LossScaleOptimizer(SGD(0.1), o));
  TENON_EXPECT_REFUSED(scale, dynamic_growth_steps, "negative zero", LossScaleOptimizer(SGD(0.1), o));
  const MaxNormOptions max;
  TENON_EXPECT_REFUSED(max, max_value, "negative infinite nan", MaxNorm(o));
  const MinMaxNormOptions both;
  TENON_EXPECT_REFUSED(both, rate, "negative huge infinite nan", MinMaxNorm(o));
}

}  // namespace
}  // namespace tenon

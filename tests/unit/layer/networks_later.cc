// Networks of keras.applications of later years.
#include <algorithm>

#include "base/text.h"
#include "tenon/variables.h"
#include "unit/layer/networks.h"

namespace tenon::networks {
namespace {

// ---- Szegedy et al. 2015, 2016: normalizations have no scale ----
Tensor inception_conv(Tensor x, int64_t filters, const Extent& kernel, int64_t stride = 1) {
  const Padding padding = stride == 1 ? same : valid;
  x = conv2d(x, {.filters = filters, .kernel = kernel, .strides = stride, .padding = padding, .use_bias = false});
  return relu(batch_normalization(x, {.scale = false}));
}
// Convolutions one behind the other, of these filters and kernels.
struct Conv {
  int64_t filters;
  Extent kernel;
  int64_t stride = 1;
};
Tensor chain(Tensor x, const std::vector<Conv>& convolutions) {
  for (const Conv& c : convolutions) x = inception_conv(x, c.filters, c.kernel, c.stride);
  return x;
}
Tensor pooled(Tensor x, int64_t filters) {
  return inception_conv(average_pool2d(x, {.pool_size = 3, .strides = 1, .padding = same}), filters, 1);
}
Tensor inception_stem(Tensor x) {
  x = max_pool2d(chain(x, {{32, 3, 2}, {32, 3}, {64, 3}}), {.pool_size = 3, .strides = 2});
  return max_pool2d(chain(x, {{80, 1}, {192, 3}}), {.pool_size = 3, .strides = 2});
}

const Extent kRow{1, 7}, kColumn{7, 1}, kShortRow{1, 3}, kShortColumn{3, 1};

Tensor inception_features(Tensor x) {
  x = inception_stem(x);
  for (const int64_t last : {32, 64, 64})
    x = concatenate(
        {chain(x, {{64, 1}}), chain(x, {{48, 1}, {64, 5}}), chain(x, {{64, 1}, {96, 3}, {96, 3}}), pooled(x, last)});
  const PoolLayerOptions half{.pool_size = 3, .strides = 2};
  x = concatenate({chain(x, {{384, 3, 2}}), chain(x, {{64, 1}, {96, 3}, {96, 3, 2}}), max_pool2d(x, half)});
  for (const int64_t n : {128, 160, 160, 192})
    x = concatenate({chain(x, {{192, 1}}), chain(x, {{n, 1}, {n, kRow}, {192, kColumn}}),
                     chain(x, {{n, 1}, {n, kColumn}, {n, kRow}, {n, kColumn}, {192, kRow}}), pooled(x, 192)});
  x = concatenate({chain(x, {{192, 1}, {320, 3, 2}}), chain(x, {{192, 1}, {192, kRow}, {192, kColumn}, {192, 3, 2}}),
                   max_pool2d(x, half)});
  for (int i = 0; i < 2; ++i) {
    const Tensor a = chain(x, {{384, 1}}), b = chain(x, {{448, 1}, {384, 3}});
    x = concatenate({chain(x, {{320, 1}}), chain(a, {{384, kShortRow}}), chain(a, {{384, kShortColumn}}),
                     chain(b, {{384, kShortRow}}), chain(b, {{384, kShortColumn}}), pooled(x, 192)});
  }
  return x;
}

Tensor with_residual(Tensor x, const Tensors& ways, double scale, bool last = false) {
  const Tensor y = x + biased(concatenate(ways), x.dim(-1)) * scale;
  return last ? y : relu(y);
}

Tensor inception_resnet_features(Tensor x) {
  x = inception_stem(x);
  x = concatenate(
      {chain(x, {{96, 1}}), chain(x, {{48, 1}, {64, 5}}), chain(x, {{64, 1}, {96, 3}, {96, 3}}), pooled(x, 64)});
  for (int i = 0; i < 10; ++i)
    x = with_residual(x, {chain(x, {{32, 1}}), chain(x, {{32, 1}, {32, 3}}), chain(x, {{32, 1}, {48, 3}, {64, 3}})},
                      0.17);
  const PoolLayerOptions half{.pool_size = 3, .strides = 2};
  x = concatenate({chain(x, {{384, 3, 2}}), chain(x, {{256, 1}, {256, 3}, {384, 3, 2}}), max_pool2d(x, half)});
  for (int i = 0; i < 20; ++i)
    x = with_residual(x, {chain(x, {{192, 1}}), chain(x, {{128, 1}, {160, kRow}, {192, kColumn}})}, 0.1);
  x = concatenate({chain(x, {{256, 1}, {384, 3, 2}}), chain(x, {{256, 1}, {288, 3, 2}}),
                   chain(x, {{256, 1}, {288, 3}, {320, 3, 2}}), max_pool2d(x, half)});
  for (int i = 0; i < 10; ++i)
    x = with_residual(x, {chain(x, {{192, 1}}), chain(x, {{192, 1}, {224, kShortRow}, {256, kShortColumn}})},
                      i == 9 ? 1 : 0.2, i == 9);
  return inception_conv(x, 1536, 1);
}

// ---- Zoph et al. 2017 ----
Tensor relu_conv_norm(Tensor x, int64_t filters) { return conv_norm(relu(x), filters, 1, 1, linear); }
Tensor separable_twice(Tensor x, int64_t filters, int64_t kernel, int64_t stride = 1) {
  for (const int64_t s : {stride, int64_t{1}})
    x = batch_normalization(separable_conv2d(
        relu(x), {.filters = filters, .kernel = kernel, .strides = s, .padding = same, .use_bias = false}));
  return x;
}
Tensor mean_of_three(Tensor x, int64_t stride = 1) {
  return average_pool2d(x, {.pool_size = 3, .strides = stride, .padding = same});
}

struct Cell {
  Tensor x, before;
};
// What was before, of the size and the filters of what is.
Tensor adjusted(const Cell& c, int64_t filters) {
  if (!c.before) return c.x;
  if (c.before.dim(2) == c.x.dim(2)) return c.before.dim(-1) == filters ? c.before : relu_conv_norm(c.before, filters);
  const Tensor p = relu(c.before), moved = cropping2d(zero_padding2d(p, {0, 1, 0, 1}), {1, 0, 1, 0});
  Tensors halves;
  for (const Tensor& way : {p, moved})
    halves.push_back(conv2d(average_pool2d(way, {.pool_size = 1, .strides = 2}),
                            {.filters = filters / 2, .kernel = 1, .padding = same, .use_bias = false}));
  return batch_normalization(concatenate(halves));
}
Cell normal_cell(const Cell& c, int64_t n) {
  const Tensor p = adjusted(c, n), h = relu_conv_norm(c.x, n);
  return {concatenate({p, separable_twice(h, n, 5) + separable_twice(p, n, 3),
                       separable_twice(p, n, 5) + separable_twice(p, n, 3), mean_of_three(h) + p,
                       mean_of_three(p) + mean_of_three(p), separable_twice(h, n, 3) + h}),
          c.x};
}
Cell reduction_cell(const Cell& c, int64_t n) {
  const Tensor p = adjusted(c, n), h = relu_conv_norm(c.x, n), most = halved(h);
  const Tensor one = separable_twice(h, n, 5, 2) + separable_twice(p, n, 7, 2);
  const Tensor two = most + separable_twice(p, n, 7, 2);
  return {concatenate({two, mean_of_three(h, 2) + separable_twice(p, n, 5, 2), two + mean_of_three(one),
                       separable_twice(one, n, 3) + most}),
          c.x};
}

Tensor nasnet_features(Tensor x) {
  constexpr int64_t kFilters = 44;
  const Tensor stem = conv2d(x, {.filters = 32, .kernel = 3, .strides = 2, .use_bias = false});
  Cell c{batch_normalization(stem), {}};
  c = reduction_cell(reduction_cell(c, kFilters / 4), kFilters / 2);
  for (const int64_t wider : {1, 2, 4}) {
    if (wider > 1) c = reduction_cell(c, kFilters * wider);
    for (int i = 0; i < 4; ++i) c = normal_cell(c, kFilters * wider);
  }
  return relu(c.x);
}

// ---- Howard et al. 2019 ----
int64_t rounded(double filters) {
  const auto near = std::max<int64_t>(8, static_cast<int64_t>(filters + 4) / 8 * 8);
  return static_cast<double>(near) < 0.9 * filters ? near + 8 : near;
}
struct Inverted {
  double wider;
  int64_t filters, kernel, stride;
  bool squeezes;
  ActivationRule after;
};
Tensor inverted(Tensor x, const Inverted& b, bool first) {
  const double inner = static_cast<double>(x.dim(-1)) * b.wider;
  Tensor y = first ? x : conv_norm(x, rounded(inner), 1, 1, b.after);
  y = depthwise_norm(y, b.kernel, b.stride, b.after);
  if (b.squeezes) {
    const Tensor all =
        biased(global_average_pool2d(y, true), rounded(static_cast<double>(rounded(inner)) * 0.25), 1, 1, relu);
    y = multiply({y, biased(all, y.dim(-1), 1, 1, hard_sigmoid)});
  }
  y = conv_norm(y, b.filters, 1, 1, linear);
  return b.stride == 1 && b.filters == x.dim(-1) ? add(Tensors{x, y}) : y;
}
Network mobilenet_v3(std::vector<Inverted> blocks, int64_t last) {
  return {
      [=](Tensor x) {
        x = conv_norm(rescaling(x, 1 / 127.5, -1), 16, 3, 2, hard_silu);
        for (size_t i = 0; i < blocks.size(); ++i) x = inverted(x, blocks[i], i == 0);
        return conv_norm(x, rounded(static_cast<double>(x.dim(-1)) * 6), 1, 1, hard_silu);
      },
      [=](Tensor x) { return flatten(biased(biased(global_average_pool2d(x, true), last, 1, 1, hard_silu), 1000)); }};
}
std::vector<Inverted> small_blocks() {
  return {{1, 16, 3, 2, true, relu},      {72.0 / 16, 24, 3, 2, false, relu}, {88.0 / 24, 24, 3, 1, false, relu},
          {4, 40, 5, 2, true, hard_silu}, {6, 40, 5, 1, true, hard_silu},     {6, 40, 5, 1, true, hard_silu},
          {3, 48, 5, 1, true, hard_silu}, {3, 48, 5, 1, true, hard_silu},     {6, 96, 5, 2, true, hard_silu},
          {6, 96, 5, 1, true, hard_silu}, {6, 96, 5, 1, true, hard_silu}};
}
std::vector<Inverted> large_blocks() {
  return {{1, 16, 3, 1, false, relu},        {4, 24, 3, 2, false, relu},        {3, 24, 3, 1, false, relu},
          {3, 40, 5, 2, true, relu},         {3, 40, 5, 1, true, relu},         {3, 40, 5, 1, true, relu},
          {6, 80, 3, 2, false, hard_silu},   {2.5, 80, 3, 1, false, hard_silu}, {2.3, 80, 3, 1, false, hard_silu},
          {2.3, 80, 3, 1, false, hard_silu}, {6, 112, 3, 1, true, hard_silu},   {6, 112, 3, 1, true, hard_silu},
          {6, 160, 5, 2, true, hard_silu},   {6, 160, 5, 1, true, hard_silu},   {6, 160, 5, 1, true, hard_silu}};
}

// ---- Tan and Le 2021 ----
Tensor efficientnet_v2_features(Tensor x) {
  struct Stage {
    bool fused;
    int64_t times, filters, wider, stride;
  };
  x = conv_norm(rescaling(x, 1.0 / 255), 32, 3, 2, silu);
  for (const Stage& s : {Stage{true, 1, 16, 1, 1}, Stage{true, 2, 32, 4, 2}, Stage{true, 2, 48, 4, 2},
                         Stage{false, 3, 96, 4, 2}, Stage{false, 5, 112, 6, 1}, Stage{false, 8, 192, 6, 2}})
    for (int64_t i = 0; i < s.times; ++i) {
      const int64_t stride = i == 0 ? s.stride : 1, inner = s.wider * x.dim(-1);
      Tensor y = x;
      if (s.fused && s.wider > 1) y = conv_norm(x, inner, 3, stride, silu);
      if (!s.fused) y = squeezed(depthwise_norm(conv_norm(x, inner, 1, 1, silu), 3, stride, silu), x.dim(-1) / 4);
      y = s.wider > 1 ? conv_norm(y, s.filters, 1, 1, linear) : conv_norm(y, s.filters, 3, stride, silu);
      x = stride == 1 && s.filters == x.dim(-1) ? add(Tensors{x, y}) : y;
    }
  return conv_norm(x, 1280, 1, 1, silu);
}

// ---- Liu et al. 2022 ----
Tensor convnext_features(Tensor x) {
  constexpr double kEpsilon = 1e-6;
  const std::pair<int64_t, int> stages[] = {{96, 3}, {192, 3}, {384, 9}, {768, 3}};
  int blocks = 0;
  for (const auto& [filters, times] : stages) {
    const int64_t patch = filters == 96 ? 4 : 2;
    if (patch == 2) x = layer_normalization(x, {.epsilon = kEpsilon});
    x = conv2d(x, {.filters = filters, .kernel = patch, .strides = patch});
    if (patch == 4) x = layer_normalization(x, {.epsilon = kEpsilon});
    for (int i = 0; i < times; ++i) {
      Tensor y = layer_normalization(depthwise_conv2d(x, {.kernel = 7, .padding = same}), {.epsilon = kEpsilon});
      y = dense(dense(y, {.units = 4 * filters, .activation = gelu}), {.units = filters});
      const Tensor scale = variable(x, cat("layer_scale_", blocks++), {filters}, constant_initializer(1e-6), true);
      x = x + y * broadcast_to(scale, y.shape());
    }
  }
  return layer_normalization(x, {.epsilon = kEpsilon});
}

}  // namespace

const std::map<std::string, Network>& later() {
  static const std::map<std::string, Network> all{
      {"InceptionV3", {inception_features, mean_and_dense}},
      {"InceptionResNetV2", {inception_resnet_features, mean_and_dense}},
      {"NASNetMobile", {nasnet_features, mean_and_dense}},
      {"MobileNetV3Small", mobilenet_v3(small_blocks(), 1024)},
      {"MobileNetV3Large", mobilenet_v3(large_blocks(), 1280)},
      {"EfficientNetV2B0", {efficientnet_v2_features, mean_and_dense}},
      {"ConvNeXtTiny", {convnext_features, mean_and_dense}},
  };
  return all;
}

}  // namespace tenon::networks

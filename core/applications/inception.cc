// InceptionV3 and InceptionResNetV2.
#include "applications/maps.h"
#include "base/strings.h"

namespace tenon::applications {
namespace {

struct Conv {
  int64_t filters;
  Extent kernel;
  int64_t stride = 1;
  Padding padding = same;
};
using Branch = std::vector<Conv>;

Map inception_conv(const Map& x, const Conv& c) {
  const Map y =
      conv(x, {.filters = c.filters, .kernel = c.kernel, .strides = c.stride, .padding = c.padding, .use_bias = false});
  return act(norm(y, {.scale = false}), relu);
}

Map along(Map x, const Branch& branch) {
  for (const Conv& c : branch) x = inception_conv(x, c);
  return x;
}

Map averaged(const Map& x) { return average_pool(x, {.pool_size = 3, .strides = Extent(1), .padding = same}); }
Map pooled_3(const Map& x) { return max_pool(x, {.pool_size = 3, .strides = Extent(2)}); }

// The branches side by side, the last one behind an average, or with no convolutions the maximum of every other place.
Map mixed(const Map& x, const std::vector<Branch>& branches, const Branch& behind_pool, std::string name) {
  Maps all;
  for (const Branch& branch : branches) all.push_back(along(x, branch));
  all.push_back(behind_pool.empty() ? pooled_3(x) : along(averaged(x), behind_pool));
  return concat(all, std::move(name));
}

Map inception_stem(const Map& input) {
  Map x = along(input, {{32, 3, 2, valid}, {32, 3, 1, valid}, {64, 3}});
  x = along(pooled_3(x), {{80, 1, 1, valid}, {192, 3, 1, valid}});
  return pooled_3(x);
}

// Two convolutions of what one gave, 1x3 and 3x1, side by side.
Map forked(const Map& x, std::string name) {
  const Map wide = inception_conv(x, {384, {1, 3}});
  const Map high = inception_conv(x, {384, {3, 1}});
  return concat({wide, high}, std::move(name));
}

Map last_of_v3(const Map& x, int number) {
  const Map one = inception_conv(x, {320, 1});
  const Map three = forked(inception_conv(x, {384, 1}), cat("mixed9_", number));
  const Map twice = forked(along(x, {{448, 1}, {384, 3}}), {});
  const Map behind = along(averaged(x), {{192, 1}});
  return concat({one, three, twice, behind}, cat("mixed", 9 + number));
}

// Keras's CustomScaleLayer: the first and so much of the second.
class CustomScaleLayer : public LayerOf<CustomScaleLayer> {
 public:
  explicit CustomScaleLayer(double scale) : scale_(scale) {}
  Tensor call(const Tensors& xs) override { return xs[0] + xs[1] * scale_; }

 private:
  double scale_;
};

Map residual(const Map& x, const std::vector<Branch>& branches, double scale, const std::string& name,
             bool last = false) {
  Maps all;
  for (const Branch& branch : branches) all.push_back(along(x, branch));
  const Map up = conv(concat(all, name + "_mixed"), {.filters = x.channels, .padding = same, .name = name + "_conv"});
  const Map y{CustomScaleLayer(scale)(std::vector{x.x, up.x}), x.height, x.width, x.channels};
  return last ? y : act(y, relu, name + "_ac");
}

}  // namespace

Model InceptionV3(const Options& options) {
  expect_options(options, "InceptionV3", {});
  const Map input = image(options, {.size = 299, .least = 75});
  Map x = inception_stem(input);
  for (int i = 0; i < 3; ++i)
    x = mixed(x, {{{64, 1}}, {{48, 1}, {64, 5}}, {{64, 1}, {96, 3}, {96, 3}}}, {{i == 0 ? 32 : 64, 1}},
              cat("mixed", i));
  x = mixed(x, {{{384, 3, 2, valid}}, {{64, 1}, {96, 3}, {96, 3, 2, valid}}}, {}, "mixed3");
  for (int i = 4; i < 8; ++i) {
    const int64_t n = i == 4 ? 128 : i == 7 ? 192 : 160;
    x = mixed(x,
              {{{192, 1}},
               {{n, 1}, {n, {1, 7}}, {192, {7, 1}}},
               {{n, 1}, {n, {7, 1}}, {n, {1, 7}}, {n, {7, 1}}, {192, {1, 7}}}},
              {{192, 1}}, cat("mixed", i));
  }
  x = mixed(x, {{{192, 1}, {320, 3, 2, valid}}, {{192, 1}, {192, {1, 7}}, {192, {7, 1}}, {192, 3, 2, valid}}}, {},
            "mixed8");
  for (int i = 0; i < 2; ++i) x = last_of_v3(x, i);
  return finish(input, x, options, "inception_v3", {.classifier_pool = "avg_pool"});
}

Model InceptionResNetV2(const Options& options) {
  expect_options(options, "InceptionResNetV2", {});
  const Map input = image(options, {.size = 299, .least = 75});
  Map x = inception_stem(input);
  x = mixed(x, {{{96, 1}}, {{48, 1}, {64, 5}}, {{64, 1}, {96, 3}, {96, 3}}}, {{64, 1}}, "mixed_5b");
  for (int i = 1; i <= 10; ++i)
    x = residual(x, {{{32, 1}}, {{32, 1}, {32, 3}}, {{32, 1}, {48, 3}, {64, 3}}}, 0.17, cat("block35_", i));
  x = mixed(x, {{{384, 3, 2, valid}}, {{256, 1}, {256, 3}, {384, 3, 2, valid}}}, {}, "mixed_6a");
  for (int i = 1; i <= 20; ++i)
    x = residual(x, {{{192, 1}}, {{128, 1}, {160, {1, 7}}, {192, {7, 1}}}}, 0.1, cat("block17_", i));
  x = mixed(x,
            {{{256, 1}, {384, 3, 2, valid}}, {{256, 1}, {288, 3, 2, valid}}, {{256, 1}, {288, 3}, {320, 3, 2, valid}}},
            {}, "mixed_7a");
  for (int i = 1; i <= 10; ++i)
    x = residual(x, {{{192, 1}}, {{192, 1}, {224, {1, 3}}, {256, {3, 1}}}}, i < 10 ? 0.2 : 1, cat("block8_", i),
                 i == 10);
  x = conv(x, {.filters = 1536, .padding = same, .use_bias = false, .name = "conv_7b"});
  x = act(norm(x, {.scale = false, .name = "conv_7b_bn"}), relu, "conv_7b_ac");
  return finish(input, x, options, "inception_resnet_v2", {.classifier_pool = "avg_pool"});
}

}  // namespace tenon::applications

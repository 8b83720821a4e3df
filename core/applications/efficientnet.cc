#include <cmath>

#include "applications/maps.h"
#include "base/strings.h"
#include "tenon/preprocessing.h"

namespace tenon::applications {
namespace {

struct Stage {
  int64_t kernel, repeats, in, out, expansion, stride;
  bool excited = true;
  bool fused = false;  // one convolution instead of a wider 1x1 and a depthwise one
};
using Stages = std::vector<Stage>;

const Stages kFirstStages = {{3, 1, 32, 16, 1, 1},  {3, 2, 16, 24, 6, 2},   {5, 2, 24, 40, 6, 2},  {3, 3, 40, 80, 6, 2},
                             {5, 3, 80, 112, 6, 1}, {5, 4, 112, 192, 6, 2}, {3, 1, 192, 320, 6, 1}};

Stage fused(int64_t repeats, int64_t in, int64_t out, int64_t expansion, int64_t stride) {
  return {3, repeats, in, out, expansion, stride, false, true};
}
const Stages kBStages = {fused(1, 32, 16, 1, 1), fused(2, 16, 32, 4, 2), fused(2, 32, 48, 4, 2),
                         {3, 3, 48, 96, 4, 2},   {3, 5, 96, 112, 6, 1},  {3, 8, 112, 192, 6, 2}};
const Stages kSStages = {fused(2, 24, 24, 1, 1), fused(4, 24, 48, 4, 2), fused(4, 48, 64, 4, 2),
                         {3, 6, 64, 128, 4, 2},  {3, 9, 128, 160, 6, 1}, {3, 15, 160, 256, 6, 2}};
const Stages kMStages = {fused(3, 24, 24, 1, 1), fused(5, 24, 48, 4, 2),  fused(5, 48, 80, 4, 2),
                         {3, 7, 80, 160, 4, 2},  {3, 14, 160, 176, 6, 1}, {3, 18, 176, 304, 6, 2},
                         {3, 5, 304, 512, 6, 1}};
const Stages kLStages = {fused(4, 32, 32, 1, 1), fused(7, 32, 64, 4, 2),  fused(7, 64, 96, 4, 2),
                         {3, 10, 96, 192, 4, 2}, {3, 19, 192, 224, 6, 1}, {3, 25, 224, 384, 6, 2},
                         {3, 7, 384, 640, 6, 1}};

// One of either version.
struct Version {
  const char* name;
  const Stages& stages;
  bool second;
  double width, depth;
  int64_t size;
  double dropout;
  double momentum() const { return second ? 0.9 : 0.99; }
  int64_t filters(int64_t n) const { return eights(static_cast<double>(n) * width, !second); }
  int64_t repeats(int64_t n) const { return static_cast<int64_t>(std::ceil(depth * static_cast<double>(n))); }
};

struct Filters {
  int64_t in, out;
};

class Efficient {
 public:
  Efficient(const Version& version, const Options& options) : version_(version), options_(options) {}

  Map body(Map x) const {
    x = prepared(x);
    if (!version_.second) x = pad(x, correct_pad(x, 3), "stem_conv_pad");
    x = swished(
        normed(plain(x, version_.filters(version_.stages[0].in), 3, 2, version_.second ? same : valid, "stem_conv"),
               "stem_bn"),
        "stem_activation");
    double all = 0;  // version 2 counts blocks as they are before it gets deeper
    for (const Stage& stage : version_.stages)
      all += static_cast<double>(version_.second ? stage.repeats : version_.repeats(stage.repeats));
    int done = 0;
    for (size_t i = 0; i < version_.stages.size(); ++i) {
      Stage stage = version_.stages[i];
      stage.in = version_.filters(stage.in);
      stage.out = version_.filters(stage.out);
      for (int64_t j = 0, n = version_.repeats(stage.repeats); j < n; ++j) {
        const double dropped = options_.drop_connect_rate.value_or(0.2) * done++ / all;
        x = block(x, stage, dropped, cat("block", i + 1, std::string(1, static_cast<char>('a' + j)), "_"));
        stage.stride = 1;
        stage.in = stage.out;
      }
    }
    return swished(normed(plain(x, version_.filters(1280), 1, 1, same, "top_conv"), "top_bn"), "top_activation");
  }

 private:
  Map prepared(Map x) const {
    if (!version_.second) return normalized(apply(x, Rescaling(1.0 / 255)));
    if (!options_.include_preprocessing) return x;
    const bool is_b = std::string(version_.name).find("-b") != std::string::npos;
    if (!is_b || x.channels != 3) return apply(x, Rescaling(1.0 / 128, -1));
    return apply(apply(x, Rescaling(1.0 / 255)),
                 Normalization({.mean = {0.485F, 0.456F, 0.406F},
                                .variance = {0.229F * 0.229F, 0.224F * 0.224F, 0.225F * 0.225F}}));
  }

  // By moments that are weights.
  Map normalized(const Map& x) const {
    const Map y = apply(x, Normalization());
    if (!options_.imagenet_weights) return y;
    if (x.channels != 3)
      fail("applications: imagenet_weights are of images of 3 channels, and these have ", x.channels);
    return apply(y, Normalization({.mean = {0, 0, 0}, .variance = {0.229F, 0.224F, 0.225F}}));
  }

  static Map plain(const Map& x, int64_t filters, int64_t kernel, int64_t stride, Padding padding,
                   const std::string& name) {
    return conv(x, {.filters = filters,
                    .kernel = kernel,
                    .strides = stride,
                    .padding = padding,
                    .use_bias = false,
                    .kernel_initializer = fan_out_kernel(),
                    .name = name});
  }
  Map normed(const Map& x, const std::string& name) const {
    return norm(x, {.momentum = version_.momentum(), .name = name});
  }
  static Map swished(const Map& x, const std::string& name) { return act(x, swish, name); }

  // Where the depthwise convolution has a stride, version 1 pads before it.
  Map by_channel(Map x, const Stage& stage, const std::string& name) const {
    const bool padded = !version_.second && stage.stride == 2;
    if (padded) x = pad(x, correct_pad(x, stage.kernel), name + "dwconv_pad");
    return depthwise(x, {.kernel = stage.kernel,
                         .strides = stage.stride,
                         .padding = padded ? valid : same,
                         .use_bias = false,
                         .kernel_initializer = fan_out_kernel(),
                         .name = name + (version_.second ? "dwconv2" : "dwconv")});
  }

  Map block(const Map& in, const Stage& stage, double dropped, const std::string& name) const {
    const int64_t wide = stage.in * stage.expansion;
    const bool widens = stage.expansion != 1;
    Map x = in;
    if (widens) {
      x = stage.fused ? plain(x, wide, stage.kernel, stage.stride, same, name + "expand_conv")
                      : plain(x, wide, 1, 1, same, name + "expand_conv");
      x = swished(normed(x, name + "expand_bn"), name + "expand_activation");
    }
    if (!stage.fused) x = swished(normed(by_channel(x, stage, name), name + "bn"), name + "activation");
    if (stage.excited) x = excited(x, std::max<int64_t>(1, stage.in / 4), name);
    const bool whole = stage.fused && !widens;  // its only convolution
    x = plain(x, stage.out, whole ? stage.kernel : 1, whole ? stage.stride : 1, same, name + "project_conv");
    x = normed(x, name + "project_bn");
    if (whole) x = swished(x, name + "project_activation");
    if (stage.stride != 1 || stage.in != stage.out) return x;
    if (dropped > 0) x = apply(x, DropPath(dropped, name + "drop"));
    return add(x, in, name + "add");
  }

  const Version& version_;
  const Options& options_;
};

Model efficientnet(const Options& o, const Version& version) {
  expect_options(o, version.name,
                 {.preprocessing = version.second, .dropout = true, .drop_connect = true, .imagenet = !version.second});
  const Map input = image(o, {.size = version.size});
  Top top = named_top();
  top.dropout = o.dropout.value_or(version.dropout);
  top.kernel_initializer = fan_out_classifier();
  return finish(input, Efficient(version, o).body(input), o, version.name, top);
}

Model first(const Options& o, const char* name, double width, double depth, int64_t size, double dropout) {
  return efficientnet(o, {name, kFirstStages, false, width, depth, size, dropout});
}
Model second(const Options& o, const char* name, const Stages& stages, int64_t size, double width = 1,
             double depth = 1) {
  return efficientnet(o, {name, stages, true, width, depth, size, 0.2});
}

}  // namespace

Model EfficientNetB0(const Options& o) { return first(o, "efficientnetb0", 1.0, 1.0, 224, 0.2); }
Model EfficientNetB1(const Options& o) { return first(o, "efficientnetb1", 1.0, 1.1, 240, 0.2); }
Model EfficientNetB2(const Options& o) { return first(o, "efficientnetb2", 1.1, 1.2, 260, 0.3); }
Model EfficientNetB3(const Options& o) { return first(o, "efficientnetb3", 1.2, 1.4, 300, 0.3); }
Model EfficientNetB4(const Options& o) { return first(o, "efficientnetb4", 1.4, 1.8, 380, 0.4); }
Model EfficientNetB5(const Options& o) { return first(o, "efficientnetb5", 1.6, 2.2, 456, 0.4); }
Model EfficientNetB6(const Options& o) { return first(o, "efficientnetb6", 1.8, 2.6, 528, 0.5); }
Model EfficientNetB7(const Options& o) { return first(o, "efficientnetb7", 2.0, 3.1, 600, 0.5); }
Model EfficientNetV2B0(const Options& o) { return second(o, "efficientnetv2-b0", kBStages, 224); }
Model EfficientNetV2B1(const Options& o) { return second(o, "efficientnetv2-b1", kBStages, 240, 1.0, 1.1); }
Model EfficientNetV2B2(const Options& o) { return second(o, "efficientnetv2-b2", kBStages, 260, 1.1, 1.2); }
Model EfficientNetV2B3(const Options& o) { return second(o, "efficientnetv2-b3", kBStages, 300, 1.2, 1.4); }
Model EfficientNetV2S(const Options& o) { return second(o, "efficientnetv2-s", kSStages, 384); }
Model EfficientNetV2M(const Options& o) { return second(o, "efficientnetv2-m", kMStages, 480); }
Model EfficientNetV2L(const Options& o) { return second(o, "efficientnetv2-l", kLStages, 480); }

}  // namespace tenon::applications

#include "applications/maps.h"
#include "base/strings.h"

namespace tenon::applications {
namespace {

Map nas_norm(const Map& x, const std::string& name) {
  return norm(x, {.momentum = 0.9997, .epsilon = 1e-3, .name = name});
}
Map pointwise_he(const Map& x, int64_t filters, const std::string& name) {
  return conv(x,
              {.filters = filters, .padding = same, .use_bias = false, .kernel_initializer = &he_normal, .name = name});
}

// Two separable convolutions, the first with a stride.
Map twice_separated(const Map& in, int64_t filters, int64_t kernel, int64_t stride, const std::string& id) {
  Map x = act(in, relu);
  if (stride == 2) x = pad(x, correct_pad(x, kernel), "separable_conv_1_pad_" + id);
  x = separable(x, {.filters = filters,
                    .kernel = kernel,
                    .strides = stride,
                    .padding = stride == 2 ? valid : same,
                    .use_bias = false,
                    .name = "separable_conv_1_" + id});
  x = act(nas_norm(x, "separable_conv_1_bn_" + id), relu);
  x = separable(
      x, {.filters = filters, .kernel = kernel, .padding = same, .use_bias = false, .name = "separable_conv_2_" + id});
  return nas_norm(x, "separable_conv_2_bn_" + id);
}

// Half the places without losing any: every other one, and every other one from the second on.
Map halved_whole(const Map& in, int64_t filters, const std::string& id) {
  const Map p = act(in, relu, "adjust_relu_1_" + id);
  const auto every_other = [&](const Map& x, const std::string& n) {
    const Map y = average_pool(x, {.pool_size = 1, .strides = Extent(2), .name = "adjust_avg_pool_" + n + "_" + id});
    return pointwise_he(y, filters / 2, "adjust_conv_" + n + "_" + id);
  };
  const Map first = every_other(p, "1");
  Map moved = pad(p, {0, 1, 0, 1});
  moved = {Cropping2D({1, 0, 1, 0})(moved.x), p.height, p.width, p.channels};
  const Map second = every_other(moved, "2");
  return nas_norm(concat({first, second}), "adjust_bn_" + id);
}

// The cell before the last one, as large as that one gives.
Map adjusted(const std::optional<Map>& p, const Map& x, int64_t filters, const std::string& id) {
  if (!p) return x;
  if (p->width != x.width) return halved_whole(*p, filters, id);
  if (p->channels == filters) return *p;
  return nas_norm(pointwise_he(act(*p, relu), filters, "adjust_conv_projection_" + id), "adjust_bn_" + id);
}

Map normal_cell(const Map& in, const std::optional<Map>& before, int64_t filters, const std::string& id) {
  const Map p = adjusted(before, in, filters, id);
  const auto named = [&](const char* part) { return cat("normal_", part, "_", id); };
  const Map h = nas_norm(pointwise_he(act(in, relu), filters, named("conv_1")), named("bn_1"));
  const auto separated = [&](const Map& x, int64_t kernel, const char* part) {
    return twice_separated(x, filters, kernel, 1, named(part));
  };
  const auto mean = [&](const Map& x, const char* part) {
    return average_pool(x, {.pool_size = 3, .strides = Extent(1), .padding = same, .name = named(part)});
  };
  const Map left1 = separated(h, 5, "left1"), right1 = separated(p, 3, "right1");
  const Map x1 = add(left1, right1, named("add_1"));
  const Map left2 = separated(p, 5, "left2"), right2 = separated(p, 3, "right2");
  const Map x2 = add(left2, right2, named("add_2"));
  const Map x3 = add(mean(h, "left3"), p, named("add_3"));
  const Map left4 = mean(p, "left4"), right4 = mean(p, "right4");
  const Map x4 = add(left4, right4, named("add_4"));
  const Map x5 = add(separated(h, 3, "left5"), h, named("add_5"));
  return concat({p, x1, x2, x3, x4, x5}, named("concat"));
}

Map reduction_cell(const Map& in, const std::optional<Map>& before, int64_t filters, const std::string& id) {
  const Map p = adjusted(before, in, filters, id);
  const auto named = [&](const char* part) { return cat("reduction_", part, "_", id); };
  const Map h = nas_norm(pointwise_he(act(in, relu), filters, named("conv_1")), named("bn_1"));
  const Map padded = pad(h, correct_pad(h, 3), named("pad_1"));
  const auto separated = [&](const Map& x, int64_t kernel, const char* part, int64_t stride = 2) {
    return twice_separated(x, filters, kernel, stride, named(part));
  };
  const auto every_other = [&](const char* part) {
    return PoolLayerOptions{.pool_size = 3, .strides = Extent(2), .name = named(part)};
  };
  const Map left1 = separated(h, 5, "left1"), right1 = separated(p, 7, "right1");
  const Map x1 = add(left1, right1, named("add_1"));
  const Map left2 = max_pool(padded, every_other("left2")), right2 = separated(p, 7, "right2");
  const Map x2 = add(left2, right2, named("add_2"));
  const Map left3 = average_pool(padded, every_other("left3")), right3 = separated(p, 5, "right3");
  const Map x3 = add(left3, right3, named("add3"));
  const Map mean = average_pool(x1, {.pool_size = 3, .strides = Extent(1), .padding = same, .name = named("left4")});
  const Map x4 = add(x2, mean);
  const Map left5 = separated(x1, 3, "left4", 1), right5 = max_pool(padded, every_other("right5"));
  const Map x5 = add(left5, right5, named("add4"));
  return concat({x2, x3, x4, x5}, named("concat"));
}

struct Sizes {
  int64_t penultimate, blocks, stem, size;
  bool skip_reduction;  // cells behind a reduction see the cell before it
};

Model nasnet(const Options& options, const Sizes& sizes, const char* name) {
  expect_options(options, name, {});
  const Map input = image(options, {.size = sizes.size, .any = false});
  const int64_t filters = sizes.penultimate / 24;
  Map x = conv(input, {.filters = sizes.stem,
                       .kernel = 3,
                       .strides = 2,
                       .use_bias = false,
                       .kernel_initializer = &he_normal,
                       .name = "stem_conv1"});
  x = nas_norm(x, "stem_bn1");
  std::optional<Map> before;
  const auto reduce = [&](int64_t n, const std::string& id, bool skips) {
    const Map y = reduction_cell(x, before, n, id);
    if (!skips) before = x;
    x = y;
  };
  reduce(filters / 4, "stem_1", false);
  reduce(filters / 2, "stem_2", false);
  for (int64_t stage = 0; stage < 3; ++stage) {
    if (stage > 0) reduce(filters << stage, cat("reduce_", stage * sizes.blocks), sizes.skip_reduction);
    for (int64_t i = 0; i < sizes.blocks; ++i) {
      const Map y = normal_cell(x, before, filters << stage, cat(stage * sizes.blocks + i + (stage > 0)));
      before = x;
      x = y;
    }
  }
  return finish(input, act(x, relu), options, name, {});
}

}  // namespace

Model NASNetMobile(const Options& options) { return nasnet(options, {1056, 4, 32, 224, false}, "nasnet_mobile"); }
Model NASNetLarge(const Options& options) { return nasnet(options, {4032, 6, 96, 331, true}, "nasnet_large"); }

}  // namespace tenon::applications

#include <array>

#include "applications/maps.h"
#include "base/strings.h"

namespace tenon::applications {
namespace {

constexpr double kResnetEpsilon = 1.001e-5;
using Blocks = std::array<int, 4>;  // of the four stages, 64 to 512 filters

Map resnet_norm(const Map& x, const std::string& name) { return norm(x, {.epsilon = kResnetEpsilon, .name = name}); }

Map resnet_conv(const Map& x, int64_t filters, int64_t kernel, int64_t stride, const std::string& name) {
  return conv(x, {.filters = filters, .kernel = kernel, .strides = stride, .padding = same, .name = name});
}

Map first_block(const Map& x, int64_t filters, int64_t stride, bool shortcut, const std::string& name) {
  Map beside = x;
  if (shortcut) beside = resnet_norm(resnet_conv(x, 4 * filters, 1, stride, name + "_0_conv"), name + "_0_bn");
  Map y = resnet_norm(resnet_conv(x, filters, 1, stride, name + "_1_conv"), name + "_1_bn");
  y = act(y, relu, name + "_1_relu");
  y = resnet_norm(resnet_conv(y, filters, 3, 1, name + "_2_conv"), name + "_2_bn");
  y = act(y, relu, name + "_2_relu");
  y = resnet_norm(resnet_conv(y, 4 * filters, 1, 1, name + "_3_conv"), name + "_3_bn");
  return act(add(beside, y, name + "_add"), relu, name + "_out");
}

Map second_block(const Map& x, int64_t filters, int64_t stride, bool shortcut, const std::string& name) {
  const Map before = act(resnet_norm(x, name + "_preact_bn"), relu, name + "_preact_relu");
  Map beside = x;
  if (shortcut)
    beside = resnet_conv(before, 4 * filters, 1, stride, name + "_0_conv");
  else if (stride > 1)
    beside = max_pool(x, {.pool_size = 1, .strides = Extent(stride)});
  Map y = conv(before, {.filters = filters, .use_bias = false, .name = name + "_1_conv"});
  y = act(resnet_norm(y, name + "_1_bn"), relu, name + "_1_relu");
  y = pad(y, {1, 1, 1, 1}, name + "_2_pad");
  y = conv(y, {.filters = filters, .kernel = 3, .strides = stride, .use_bias = false, .name = name + "_2_conv"});
  y = act(resnet_norm(y, name + "_2_bn"), relu, name + "_2_relu");
  return add(beside, resnet_conv(y, 4 * filters, 1, 1, name + "_3_conv"), name + "_out");
}

Map resnet_stem(const Map& input, bool activated) {
  Map x = conv(pad(input, {3, 3, 3, 3}, "conv1_pad"), {.filters = 64, .kernel = 7, .strides = 2, .name = "conv1_conv"});
  if (activated) x = act(resnet_norm(x, "conv1_bn"), relu, "conv1_relu");
  return max_pool(pad(x, {1, 1, 1, 1}, "pool1_pad"), {.pool_size = 3, .strides = Extent(2), .name = "pool1_pool"});
}

Model resnet(const Options& options, const Blocks& blocks, const char* name) {
  expect_options(options, name, {});
  const Map input = image(options, {.size = 224});
  Map x = resnet_stem(input, true);
  for (size_t stage = 0; stage < blocks.size(); ++stage)
    for (int i = 1; i <= blocks[stage]; ++i)
      x = first_block(x, 64 << stage, i == 1 && stage > 0 ? 2 : 1, i == 1, cat("conv", stage + 2, "_block", i));
  return finish(input, x, options, name, named_top());
}

// Strides are those of a stage's last block, none in the last stage.
Model resnet_v2(const Options& options, const Blocks& blocks, const char* name) {
  expect_options(options, name, {});
  const Map input = image(options, {.size = 224});
  Map x = resnet_stem(input, false);
  for (size_t stage = 0; stage < blocks.size(); ++stage)
    for (int i = 1; i <= blocks[stage]; ++i)
      x = second_block(x, 64 << stage, i == blocks[stage] && stage + 1 < blocks.size() ? 2 : 1, i == 1,
                       cat("conv", stage + 2, "_block", i));
  x = act(resnet_norm(x, "post_bn"), relu, "post_relu");
  return finish(input, x, options, name, named_top());
}

}  // namespace

Model ResNet50(const Options& options) { return resnet(options, {3, 4, 6, 3}, "resnet50"); }
Model ResNet101(const Options& options) { return resnet(options, {3, 4, 23, 3}, "resnet101"); }
Model ResNet152(const Options& options) { return resnet(options, {3, 8, 36, 3}, "resnet152"); }
Model ResNet50V2(const Options& options) { return resnet_v2(options, {3, 4, 6, 3}, "resnet50v2"); }
Model ResNet101V2(const Options& options) { return resnet_v2(options, {3, 4, 23, 3}, "resnet101v2"); }
Model ResNet152V2(const Options& options) { return resnet_v2(options, {3, 8, 36, 3}, "resnet152v2"); }

}  // namespace tenon::applications

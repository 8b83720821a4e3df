#include <array>

#include "applications/maps.h"
#include "base/strings.h"

namespace tenon::applications {
namespace {

constexpr int64_t kGrowth = 32;

Map rectified_norm(const Map& x, const std::string& norm_name, const std::string& act_name) {
  return act(norm(x, {.epsilon = 1.001e-5, .name = norm_name}), relu, act_name);
}

Map grown(const Map& x, const std::string& name) {
  Map y = rectified_norm(x, name + "_0_bn", name + "_0_relu");
  y = conv(y, {.filters = 4 * kGrowth, .use_bias = false, .name = name + "_1_conv"});
  y = rectified_norm(y, name + "_1_bn", name + "_1_relu");
  y = conv(y, {.filters = kGrowth, .kernel = 3, .padding = same, .use_bias = false, .name = name + "_2_conv"});
  return concat({x, y}, name + "_concat");
}

Map halved(const Map& x, const std::string& name) {
  Map y = rectified_norm(x, name + "_bn", name + "_relu");
  y = conv(y, {.filters = y.channels / 2, .use_bias = false, .name = name + "_conv"});
  return average_pool(y, {.pool_size = 2, .name = name + "_pool"});
}

Model densenet(const Options& options, const std::array<int, 4>& blocks, const char* name) {
  expect_options(options, name, {});
  const Map input = image(options, {.size = 224});
  Map x = conv(pad(input, {3, 3, 3, 3}),
               {.filters = 64, .kernel = 7, .strides = 2, .use_bias = false, .name = "conv1_conv"});
  x = rectified_norm(x, "conv1_bn", "conv1_relu");
  x = max_pool(pad(x, {1, 1, 1, 1}), {.pool_size = 3, .strides = Extent(2), .name = "pool1"});
  for (size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int i = 1; i <= blocks[stage]; ++i) x = grown(x, cat("conv", stage + 2, "_block", i));
    if (stage < 3) x = halved(x, cat("pool", stage + 2));
  }
  return finish(input, rectified_norm(x, "bn", "relu"), options, name, named_top());
}

}  // namespace

Model DenseNet121(const Options& options) { return densenet(options, {6, 12, 24, 16}, "densenet121"); }
Model DenseNet169(const Options& options) { return densenet(options, {6, 12, 32, 32}, "densenet169"); }
Model DenseNet201(const Options& options) { return densenet(options, {6, 12, 48, 32}, "densenet201"); }

}  // namespace tenon::applications

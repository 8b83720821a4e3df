#include "applications/maps.h"
#include "base/strings.h"

namespace tenon::applications {
namespace {

Map rectified_conv(const Map& x, int64_t filters, int64_t stride, const std::string& name) {
  const Map y = conv(x, {.filters = filters, .kernel = 3, .strides = stride, .use_bias = false, .name = name});
  return act(norm(y, {.name = name + "_bn"}), relu, name + "_act");
}

Map separated_norm(const Map& x, int64_t filters, const std::string& name) {
  const Map y = separable(x, {.filters = filters, .kernel = 3, .padding = same, .use_bias = false, .name = name});
  return norm(y, {.name = name + "_bn"});
}

// Two separable convolutions and a pool, beside a 1x1 convolution; the first of all blocks gets activations.
Map halving(const Map& in, int64_t first, int64_t second, int number) {
  const std::string name = cat("block", number);
  Map beside = conv(in, {.filters = second, .strides = 2, .padding = same, .use_bias = false});
  beside = norm(beside);
  Map x = in;
  if (number > 2) x = act(x, relu, name + "_sepconv1_act");
  x = separated_norm(x, first, name + "_sepconv1");
  x = separated_norm(act(x, relu, name + "_sepconv2_act"), second, name + "_sepconv2");
  x = max_pool(x, {.pool_size = 3, .strides = Extent(2), .padding = same, .name = name + "_pool"});
  return add(x, beside);
}

Map middle(const Map& in, int number) {
  Map x = in;
  for (int i = 1; i <= 3; ++i) {
    const std::string name = cat("block", number, "_sepconv", i);
    x = separated_norm(act(x, relu, name + "_act"), 728, name);
  }
  return add(x, in);
}

}  // namespace

Model Xception(const Options& options) {
  expect_options(options, "Xception", {});
  const Map input = image(options, {.size = 299, .least = 71});
  Map x = rectified_conv(input, 32, 2, "block1_conv1");
  x = rectified_conv(x, 64, 1, "block1_conv2");
  x = halving(x, 128, 128, 2);
  x = halving(x, 256, 256, 3);
  x = halving(x, 728, 728, 4);
  for (int number = 5; number <= 12; ++number) x = middle(x, number);
  x = halving(x, 728, 1024, 13);
  x = act(separated_norm(x, 1536, "block14_sepconv1"), relu, "block14_sepconv1_act");
  x = act(separated_norm(x, 2048, "block14_sepconv2"), relu, "block14_sepconv2_act");
  return finish(input, x, options, "xception", {.classifier_pool = "avg_pool"});
}

}  // namespace tenon::applications

#include "applications/maps.h"
#include "base/strings.h"

namespace tenon::applications {
namespace {

// `deep`: convolutions in each of the last three blocks.
Model vgg(const Options& options, int deep, const char* name) {
  expect_options(options, name, {});
  const Map input = image(options, {.size = 224});
  Map x = input;
  constexpr int64_t kFilters[] = {64, 128, 256, 512, 512};
  for (int block = 1; block <= 5; ++block) {
    for (int i = 1; i <= (block < 3 ? 2 : deep); ++i)
      x = conv(x, {.filters = kFilters[block - 1],
                   .kernel = 3,
                   .padding = same,
                   .activation = relu,
                   .name = cat("block", block, "_conv", i)});
    x = max_pool(x, {.pool_size = 2, .name = cat("block", block, "_pool")});
  }
  if (!options.include_top) return finish(input, pooled(x, options), options, name);
  Symbol y = Flatten("flatten")(x.x);
  for (const char* layer : {"fc1", "fc2"}) y = Dense({.units = 4096, .activation = relu, .name = layer})(y);
  return finish(input, classified(y, options), options, name);
}

}  // namespace

Model VGG16(const Options& options) { return vgg(options, 3, "vgg16"); }
Model VGG19(const Options& options) { return vgg(options, 4, "vgg19"); }

}  // namespace tenon::applications

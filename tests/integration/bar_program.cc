// The model of tests/fixtures/make_bars.py: it prints what Keras prints there.
#include <numeric>

#include "tenon/layer_classes.h"
#include "tenon/model.h"

using namespace tenon;

int main() {
  std::vector<float> values(24), sums;
  std::iota(values.begin(), values.end(), 0.0f);
  for (float& v : values) v /= 8;
  for (size_t i = 0; i < values.size(); i += 2) sums.push_back(values[i] + values[i + 1]);
  const Array x(values, {12, 2}), y(sums, {12, 1}), nothing(std::vector<float>(12), {12, 1});
  Sequential model({Dense({.units = 1, .kernel_initializer = zeros()})});
  model.compile({.optimizer = SGD(0.01), .loss = "mse", .metrics = {"mae"}, .strategy = Strategy("cpu")});
  model.fit(x, y, {.batch_size = 4, .epochs = 2, .validation_data = {x, y}, .shuffle = false});
  model.fit(x, nothing, {.batch_size = 4, .shuffle = false});
  model.evaluate(x, y, {.batch_size = 4});
  model.predict(x, {.batch_size = 4, .verbose = Verbose::kAuto});
}

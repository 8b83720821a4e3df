// A training loop of one's own: gradients by hand, ten steps inside one compiled function, on any device.
#include <cstdio>

#include "examples/example_program.h"
#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"

using namespace tenon;

// y = 2 a - b + 0.5, eight examples a batch, for ever.
Dataset line() {
  std::vector<float> x, y;
  for (int i = 0; i < 40; ++i) {
    const float a = static_cast<float>(i % 8) / 8, b = static_cast<float>(i % 5) / 5;
    x.insert(x.end(), {a, b});
    y.push_back(2 * a - b + 0.5f);
  }
  return Dataset::from_arrays({{"x", Array(x, {40, 2})}, {"y", Array(y, {40, 1})}},
                              {.batch_size = 8, .training = true, .repeat = true});
}

examples::Figures train(const examples::Flags& flags) {
  Strategy strategy = flags.strategy();
  Sequential model({Dense({.units = 16, .activation = relu}), Dense({.units = 1})});
  const Optimizer adam = Adam(0.05);
  Function step = strategy.function(
      [&](const Features& in) {
        const Tensor loss = mean_squared_error(in["y"], model(in["x"]));
        const Tensors weights = model.trainable_variables();
        adam.apply(gradients(loss, weights), weights);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain, .steps_per_call = 10});
  const Dataset data = line();
  double loss = 0;
  for (int epoch = 0; epoch < 20; ++epoch) {
    loss = step(data)["loss"].mean();
    if (!flags.json) std::printf("epoch %2d  loss %.3g\n", epoch + 1, loss);
  }
  return {{"loss", loss}, {"steps", strategy.read("global_step").item()}};
}

int main(int argc, char** argv) { return examples::run(argc, argv, train); }

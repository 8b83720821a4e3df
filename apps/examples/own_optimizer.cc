// An optimizer of one's own: a function of ops. It trains beside the built-in SGD with momentum, and reaches the same loss.
#include "examples/example_program.h"
#include "tenon/layer_classes.h"

using namespace tenon;

Optimizer heavy_ball(double learning_rate, double momentum) {
  return CustomOptimizer({.name = "heavy_ball", .learning_rate = learning_rate, .update = [momentum](Update& u) {
                            const Tensor velocity = momentum * u.slot("velocity") - u.learning_rate() * u.gradient();
                            u.assign("velocity", velocity);
                            u.assign(u.variable() + velocity);
                          }});
}

// y = 2 a - b + 0.5 and what no line explains.
Dataset measurements() {
  std::vector<float> x, y;
  for (int i = 0; i < 40; ++i) {
    const float a = static_cast<float>(i % 8) / 8, b = static_cast<float>(i % 5) / 5;
    x.insert(x.end(), {a, b});
    y.push_back(2 * a - b + 0.5f + 0.25f * static_cast<float>(i % 3 - 1));
  }
  return Dataset::from_arrays({{"x", Array(x, {40, 2})}, {"y", Array(y, {40, 1})}},
                              {.batch_size = 8, .training = true});
}

// The last epoch's.
double loss_with(const Optimizer& optimizer, const examples::Flags& flags) {
  Sequential model({Dense(1)});
  model.compile({.optimizer = optimizer, .loss = "mse", .steps_per_execution = 5, .strategy = flags.strategy()});
  return model.fit(measurements(), {.epochs = 40, .verbose = flags.verbose()})["loss"].back();
}

examples::Figures train(const examples::Flags& flags) {
  const double own = loss_with(heavy_ball(0.02, 0.9), flags);
  return {{"loss", own}, {"built_in_loss", loss_with(SGD({.learning_rate = 0.02, .momentum = 0.9}), flags)}};
}

int main(int argc, char** argv) { return examples::run(argc, argv, train); }

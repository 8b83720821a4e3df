// An optimizer of one's own: a function of ops. It trains beside the built-in SGD with momentum, and reaches the same loss.
#include <cstdio>

#include "examples/example.h"
#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"

using namespace tenon;

Optimizer heavy_ball(double learning_rate, double momentum) {
  return CustomOptimizer({.name = "heavy_ball", .learning_rate = learning_rate, .update = [momentum](Update& u) {
                            const Tensor velocity = momentum * u.slot("velocity") - u.learning_rate() * u.gradient();
                            u.assign("velocity", velocity);
                            u.assign(u.variable() + velocity);
                          }});
}

// y = 2 a - b + 0.5 and what no line explains, eight examples a batch, for ever.
Dataset measurements() {
  std::vector<float> x, y;
  for (int i = 0; i < 40; ++i) {
    const float a = static_cast<float>(i % 8) / 8, b = static_cast<float>(i % 5) / 5;
    x.insert(x.end(), {a, b});
    y.push_back(2 * a - b + 0.5f + 0.25f * static_cast<float>(i % 3 - 1));
  }
  return Dataset::from_memory(
             {memory_feature<float>("x", DType::kF32, {2}, x), memory_feature<float>("y", DType::kF32, {1}, y)},
             {.batch_size = 8, .training = true, .repeat = true})
      .take();
}

// The loss after 200 steps.
double loss_with(const Optimizer& optimizer, const examples::Flags& flags) {
  Strategy strategy(flags.device, {.seed = flags.seed});
  Dense model({.units = 1});
  Function step = strategy.function(
      [&](const Features& in) {
        const Tensor loss = mean_squared_error(in["y"], model(in["x"]));
        const Tensors weights = model.trainable_variables();
        optimizer.apply(gradients(loss, weights), weights);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain, .steps_per_call = 10});
  const Dataset data = measurements();
  double loss = 0;
  for (int epoch = 0; epoch < 20; ++epoch) {
    loss = step(data)["loss"].mean();
    if (!flags.json) std::printf("%s epoch %2d  loss %.3g\n", optimizer.name.c_str(), epoch + 1, loss);
  }
  return loss;
}

examples::Figures train(const examples::Flags& flags) {
  const double own = loss_with(heavy_ball(0.02, 0.9), flags);
  return {{"loss", own}, {"built_in_loss", loss_with(SGD({.learning_rate = 0.02, .momentum = 0.9}), flags)}};
}

int main(int argc, char** argv) { return examples::run(argc, argv, train); }

// A critic whose slope is kept to 1 (Gulrajani et al. 2017): the gradient of what it says by its input is a part of the
// loss, which is differentiated again. What it says of two clouds of points, by its slope, is how far they lie apart:
// Wasserstein's distance. The penalty and the distance meet at a slope of 1 + apart / 20.
#include <cmath>
#include <cstdio>

#include "examples/example_program.h"
#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/random.h"

using namespace tenon;

constexpr int64_t kBatch = 256;
constexpr double kApart = 3;

examples::Figures train(const examples::Flags& flags) {
  Strategy strategy = flags.strategy();
  Sequential critic({Dense({.units = 64, .activation = tanh}), Dense({.units = 64, .activation = tanh}), Dense(1)});
  const Optimizer adam = Adam({.learning_rate = 1e-3, .beta_1 = 0.5, .beta_2 = 0.9});
  Function step = strategy.function(
      [&](const Features&) {
        const Tensor here = draw_normal({kBatch, 2}, 0, 0.3),
                     there = draw_normal({kBatch, 2}, 0, 0.3) + constant({float(kApart), 0.0f});
        const Tensor between = here + (there - here) * draw_uniform({kBatch, 1});
        const Tensor distance = reduce_mean(critic(there)) - reduce_mean(critic(here));
        const Tensor slope = gradients(reduce_sum(critic(between)), {between})[0];
        const Tensor norm = sqrt(reduce_sum(slope * slope, {-1}) + 1e-12), off = norm - 1;
        const Tensor loss = reduce_mean(off * off) * 10 - distance;
        const Tensors weights = critic.trainable_variables();
        adam.apply(gradients(loss, weights), weights);
        return Outputs{{"distance", distance}, {"slope", reduce_mean(norm)}};
      },
      {.mode = Mode::kTrain, .steps_per_call = 100});
  double distance = 0, slope = 0;
  for (int round = 1; round <= 5; ++round) {
    const Results results = step.repeat(100);
    distance = results["distance"].mean(), slope = results["slope"].mean();
    if (!flags.json) std::printf("step %3d  distance %.3f  slope %.3f\n", round * 100, distance, slope);
  }
  return {{"distance", distance / slope}, {"apart", kApart}, {"slope", slope}};
}

int main(int argc, char** argv) { return examples::run(argc, argv, train); }

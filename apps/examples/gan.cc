// Two models that train against each other: a generator of points, and a discriminator that tells them from those of a
// ring. Two functions with an optimizer each share the variables of one strategy.
#include <cmath>
#include <cstdio>

#include "examples/example_program.h"
#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/random.h"

using namespace tenon;

constexpr int kBatch = 64, kNoise = 4, kSteps = 50, kRounds = 40;

// Points of the unit circle.
Dataset ring(uint64_t seed) {
  constexpr int kPoints = 4096;
  std::vector<float> points;
  for (int i = 0; i < kPoints; ++i) {
    const double angle = 2 * std::acos(-1.0) * i / kPoints;
    points.insert(points.end(), {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  return Dataset::from_arrays({{"point", Array(points, {kPoints, 2})}},
                              {.batch_size = kBatch, .training = true, .repeat = true, .seed = seed});
}

Sequential layers(int64_t units, int64_t outputs) {
  return Sequential(
      {Dense({.units = units, .activation = relu}), Dense({.units = units, .activation = relu}), Dense(outputs)});
}

examples::Figures train(const examples::Flags& flags) {
  Strategy strategy = flags.strategy();
  Sequential generator = layers(32, 2), discriminator = layers(32, 1);
  const Optimizer of_generator = Adam({.learning_rate = 1e-3, .beta_1 = 0.5}),
                  of_discriminator = Adam({.learning_rate = 1e-3, .beta_1 = 0.5});
  const Loss cross_entropy = BinaryCrossentropy({.from_logits = true});
  const auto made = [&](Tensor like) { return generator(draw_normal({like.dim(0), kNoise})); };

  Function judge = strategy.function(
      [&](const Features& in) {
        const Tensor real = discriminator(in["point"]), fake = discriminator(stop_gradient(made(in["point"])));
        const Tensor loss = cross_entropy(ones_like(real), real) + cross_entropy(zeros_like(fake), fake);
        const Tensors weights = discriminator.trainable_variables();
        of_discriminator.apply(gradients(loss, weights), weights);
        return Outputs{{"loss", loss}};
      },
      {.mode = Mode::kTrain, .name = "judge"});
  Function deceive = strategy.function(
      [&](const Features& in) {
        const Tensor points = made(in["point"]), opinion = discriminator(points);
        const Tensor loss = cross_entropy(ones_like(opinion), opinion);
        const Tensors weights = generator.trainable_variables();
        of_generator.apply(gradients(loss, weights), weights);
        return Outputs{{"loss", loss}, {"radius", reduce_mean(sqrt(reduce_sum(points * points, {-1})))}};
      },
      {.mode = Mode::kTrain, .name = "deceive"});

  const Dataset data = ring(flags.seed);
  double radius = 0, loss = 0;
  for (int round = 0; round < kRounds; ++round)
    for (int step = 0; step < kSteps; ++step) {
      loss = judge(data)["loss"].item();
      const Results fooled = deceive(data);
      radius = fooled["radius"].item();
      if (step + 1 == kSteps && round % 10 == 9 && !flags.json)
        std::printf("step %4d  discriminator %.3f  generator %.3f  mean radius %.3f\n", (round + 1) * kSteps, loss,
                    fooled["loss"].item(), radius);
    }
  return {{"discriminator_loss", loss}, {"radius", radius}};
}

int main(int argc, char** argv) { return examples::run(argc, argv, train); }

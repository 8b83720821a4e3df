// A layer of one's own, made of others, in a model that fit() trains: two spirals are told apart.
#include <cmath>

#include "examples/example_program.h"
#include "tenon/layer_classes.h"

using namespace tenon;

struct Residual : LayerOf<Residual> {
  Dense a{{.units = 32, .activation = relu}}, b{{.units = 32}};
  Tensor call(Tensor x) override { return relu(b(a(x)) + x); }
};

examples::Figures train(const examples::Flags& flags) {
  constexpr int kPoints = 512;
  std::vector<float> points;
  std::vector<int32_t> arm;
  for (int i = 0; i < kPoints; ++i) {
    const float t = 0.5f + 5.0f * static_cast<float>(i / 2) / (kPoints / 2),
                turn = static_cast<float>(i % 2) * 3.14159f;
    points.insert(points.end(), {t / 3 * std::cos(t + turn), t / 3 * std::sin(t + turn)});
    arm.push_back(i % 2);
  }
  const auto scope = flags.strategy().scope();
  Sequential model({Dense({.units = 32, .activation = relu}), Residual(), Residual(), Dense(2)});
  model.compile(
      {.optimizer = Adam(3e-3), .loss = SparseCategoricalCrossentropy({.from_logits = true}), .metrics = {"accuracy"}});
  const History h = model.fit(Array(points, {kPoints, 2}), Array(arm), {.epochs = 60, .verbose = flags.verbose()});
  return {{"loss", h["loss"].back()}, {"accuracy", h["accuracy"].back()}};
}

int main(int argc, char** argv) { return examples::run(argc, argv, train); }

// Two inputs through the same layers: the model learns which pairs of points are of one class, and so a space in which
// classes lie apart. The embedding is called twice and has one set of weights.
#include "examples/example_program.h"
#include "tenon/layer_classes.h"

using namespace tenon;

constexpr int kClasses = 3, kPairs = 1024;

// Points around three centres, in four dimensions of which two are noise.
std::vector<float> point(int label, SampleRandom& random) {
  const float centres[kClasses][2] = {{1, 0}, {-0.5f, 0.9f}, {-0.5f, -0.9f}};
  std::vector<float> p = {centres[label][0], centres[label][1], 0, 0};
  for (float& x : p) x += random.uniform(-0.5f, 0.5f);
  return p;
}

examples::Figures train(const examples::Flags& flags) {
  SampleRandom random(flags.seed, 0, 0);
  std::vector<float> a, b, same;
  for (int i = 0; i < kPairs; ++i) {
    const int first = random.below(kClasses),
              second = i % 2 ? first : (first + 1 + random.below(kClasses - 1)) % kClasses;
    for (const float x : point(first, random)) a.push_back(x);
    for (const float x : point(second, random)) b.push_back(x);
    same.push_back(first == second ? 1.0f : 0.0f);
  }

  const Symbol left = Input({4}, DType::kF32, "left"), right = Input({4}, DType::kF32, "right");
  Sequential embed({Dense({.units = 16, .activation = relu}), Dense(4)}, "embed");
  const Symbol alike = AnyLayer(Lambda([](const Tensors& xs) {  // a logit: below a distance of 1 they are of one class
    const Tensor d = xs[0] - xs[1];
    return 1 - reduce_sum(d * d, {-1}, true);
  }))(std::vector<Symbol>{AnyLayer(embed)(left), AnyLayer(embed)(right)});
  Model model({left, right}, {alike});
  model.compile({.optimizer = Adam(0.01),
                 .loss = BinaryCrossentropy({.from_logits = true}),
                 .metrics = {BinaryAccuracy({.threshold = 0})},
                 .strategy = flags.strategy()});
  const Arrays x{{"left", Array(a, {kPairs, 4})}, {"right", Array(b, {kPairs, 4})}};
  const History h = model.fit(x, Array(same, {kPairs, 1}), {.epochs = 20, .verbose = flags.verbose()});
  return {{"loss", h["loss"].back()}, {"accuracy", h["binary_accuracy"].back()}};
}

int main(int argc, char** argv) { return examples::run(argc, argv, train); }

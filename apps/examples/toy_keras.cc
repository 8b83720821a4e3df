// A model of one neuron, trained the way Keras trains it, on any device. Seed 19 is one with which fifty steps of Adagrad
// bring the loss below 1e-8 on cpu and on tpu-emulator:v2-8; apps/README.md says how many do.
#include "examples/example_program.h"
#include "tenon/layer_classes.h"

using namespace tenon;

Dataset pairs() {
  return Dataset::from_arrays({{"x", Array({1.0f, 1.5f}, {1, 2})}, {"y", Array({0.3f}, {1, 1})}},
                              {.batch_size = 8, .repeat = true});
}

examples::Figures train(const examples::Flags& flags) {
  const auto scope = flags.strategy().scope();
  Sequential model({Dense(1)});
  model.compile({.optimizer = Adagrad(0.05), .loss = "mse", .metrics = {"mae"}, .steps_per_execution = 10});
  const History history = model.fit(pairs(), {.epochs = 5, .verbose = flags.verbose(), .steps_per_epoch = 10});
  const Logs found = model.evaluate(pairs(), {.verbose = flags.verbose(), .steps = 10});
  const Array prediction = model.predict(Array({1.0f, 1.5f}, {1, 2}))[0];
  return {{"loss", history["loss"].back()}, {"eval_loss", found.at("loss")}, {"prediction", prediction.item()}};
}

int main(int argc, char** argv) { return examples::run(argc, argv, train, {.seed = 19}); }

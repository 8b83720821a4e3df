// Training that is cut in two calls, and layers that are frozen or freed between calls.
#include <gtest/gtest.h>

#include "tenon/callbacks.h"
#include "unit/data/temporary_directory.h"
#include "unit/model/model_data_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

Sequential dropping() { return Sequential({Dense(tanh_of(5)), Dropout(0.3), Dense(dense_of(3))}); }

CompileOptions adam() {
  return {.optimizer = Adam(0.01),
          .loss = SparseCategoricalCrossentropy({.from_logits = true}),
          .strategy = Strategy("cpu")};
}

FitOptions until(int epochs, int from = 0) {
  return {.batch_size = 10, .epochs = epochs, .verbose = Verbose::kSilent, .initial_epoch = from};
}

std::vector<float> kernel_of(Model& model) { return model.strategy().read<float>("dense/kernel"); }

std::vector<float> trained_in_one_call() {
  Sequential model = dropping();
  model.compile(adam());
  model.fit(first_input(), labels(), until(4));
  return kernel_of(model);
}

TEST(FitResumed, GoesOnWithTheBitsOfOneCall) {
  Sequential model = dropping();
  model.compile(adam());
  model.fit(first_input(), labels(), until(2));
  EXPECT_EQ(model.fit(first_input(), labels(), until(4, 2)).epoch, (std::vector<int>{2, 3}));
  EXPECT_EQ(kernel_of(model), trained_in_one_call());
}

TEST(FitResumed, GoesOnWhereTheEpochsAreCountedAnew) {
  Sequential model = dropping();
  model.compile(adam());
  model.fit(first_input(), labels(), until(2));
  model.fit(first_input(), labels(), until(2));
  EXPECT_EQ(kernel_of(model), trained_in_one_call());
}

TEST(FitResumed, GoesOnInAnotherProgram) {
  const TemporaryDirectory directory;
  {
    Sequential model = dropping();
    model.compile(adam());
    model.fit(first_input(), labels(), until(2));
    model.save(directory / "model");
  }
  Sequential model = dropping();
  model.compile(adam());
  model.load(directory / "model");
  model.fit(first_input(), labels(), until(4, 2));
  EXPECT_EQ(kernel_of(model), trained_in_one_call());
}

TEST(FitResumed, GoesOnFromABackup) {
  const TemporaryDirectory directory;
  struct Fails : Callback {
    void on_epoch_begin(TrainingRun&, int epoch) override {
      if (epoch == 2) throw std::runtime_error("power is gone");
    }
  };
  FitOptions all = until(4);
  {
    Sequential model = dropping();
    model.compile(adam());
    all.callbacks = {BackupAndRestore(directory / "backup"), Fails()};
    EXPECT_THROW(model.fit(first_input(), labels(), all), Error);
  }
  Sequential model = dropping();
  model.compile(adam());
  all.callbacks = {BackupAndRestore(directory / "backup")};
  model.fit(first_input(), labels(), all);
  EXPECT_EQ(kernel_of(model), trained_in_one_call());
}

// A Dataset of the user's own begins with the epoch that is asked for.
TEST(FitResumed, GoesOnInADatasetToo) {
  const auto shuffled = [] {
    InputOptions o;
    o.batch_size = 6;
    o.training = true;
    std::vector<MemoryFeature> features;
    for (const auto& [name, array] : Arrays{{"x", first_input()}, {"y", labels()}}) {
      const auto dims = array.shape().dims();
      features.push_back({{name, {array.dtype(), Shape(dims.subspan(1))}},
                          std::vector<std::byte>(array.bytes().begin(), array.bytes().end())});
    }
    return Dataset::from_memory(std::move(features), o).take();
  };
  std::vector<std::vector<float>> found;
  for (const bool resumed : {false, true}) {
    const TemporaryDirectory directory;
    Sequential model = dropping();
    model.compile(adam());
    model.fit(shuffled(), until(resumed ? 2 : 4));
    if (resumed) model.fit(shuffled(), until(4, 2));
    found.push_back(kernel_of(model));
  }
  EXPECT_EQ(found[1], found[0]);
}

// Keras's rule: what is trainable is settled when a model is compiled. Batches of a size that is new are traced later, and
// train the same.
TEST(Freezing, CountsOnceTheModelIsCompiledAgain) {
  for (const bool frozen_first : {true, false}) {
    Dense body(tanh_of(5, "body"));
    body.set_trainable(!frozen_first);
    Sequential model({body, Dense(dense_of(3))});
    CompileOptions options = adam();
    model.compile(options);
    const auto moves = [&](int64_t batch) {
      const auto before = model.strategy().read<float>("body/kernel");
      model.train_on_batch(first_input().rows(0, batch), labels().rows(0, batch));
      return model.strategy().read<float>("body/kernel") != before;
    };
    model.train_on_batch(first_input().rows(0, 8), labels().rows(0, 8));
    body.set_trainable(frozen_first);
    EXPECT_EQ(moves(8), !frozen_first);
    EXPECT_EQ(moves(6), !frozen_first) << "a batch of another size";
    options.strategy = model.strategy();
    model.compile(options);
    EXPECT_EQ(moves(8), frozen_first);
    EXPECT_EQ(moves(5), frozen_first);
  }
}

}  // namespace
}  // namespace tenon

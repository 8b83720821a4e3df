// Which of input and device waits for the other, as callbacks, the History and a Function tell.
#include <gtest/gtest.h>

#include <chrono>

#include "unit/model/model_data_testing.h"

namespace tenon {
namespace {

using namespace model_testing;

Sequential classifier(const CompileOptions& more = {}) {
  Sequential model({Dense(dense_of(3))});
  CompileOptions options = more;
  options.optimizer = SGD(0.1);
  options.loss = SparseCategoricalCrossentropy({.from_logits = true});
  model.compile(options);
  return model;
}

struct Watches : Callback {
  std::vector<int64_t> examples;
  void on_train_batch_end(TrainingRun& run, int64_t, const Logs&) override {
    examples.push_back(run.throughput().examples);
  }
};

TEST(Throughput, CountsTheExamplesOfTheCallAndOfEachEpoch) {
  Sequential model = classifier({.strategy = Strategy("cpu")});
  for (int fit = 0; fit < 2; ++fit) {
    Watches watches;
    const History h = model.fit(first_input(), labels(),
                                {.batch_size = 8, .epochs = 2, .verbose = Verbose::kSilent, .callbacks = {watches}});
    EXPECT_EQ(watches.examples, (std::vector<int64_t>{8, 16, 24, 32, 40, 48}));
    ASSERT_EQ(h.throughput.size(), 2u);
    for (const Throughput& t : h.throughput) {
      EXPECT_EQ(t.examples, 24);
      EXPECT_GT(t.input_seconds, 0);
      EXPECT_GT(t.device_seconds, 0);
      EXPECT_DOUBLE_EQ(t.input_rate(), 24 / t.input_seconds);
      EXPECT_DOUBLE_EQ(t.device_rate(), 24 / t.device_seconds);
    }
  }
}

// An example takes a millisecond of a processor, a step of the device some thousand additions.
TEST(Throughput, NamesAnInputThatIsSlow) {
  const auto fill = [](int64_t, const Sample&, Slots& out) -> Status {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < end) out.get<float>(0)[0] += 1;
    out.get<float>(0)[0] = 1;
    return {};
  };
  const Dataset data = Dataset::from_function(64, {{"x", {DType::kF32, {}}}}, fill, {.batch_size = 8}).take();
  Function sum = Strategy("cpu").function([](const Features& in) { return Outputs{{"y", in["x"] + in["x"]}}; });
  while (sum(data)) {
  }
  const Throughput done = sum.throughput();
  EXPECT_EQ(done.examples, 64);
  EXPECT_TRUE(done.input_is_limit()) << done.input_seconds << " s, device " << done.device_seconds << " s";
}

// Four floats an example, and products of two billion multiplications.
TEST(Throughput, NamesADeviceThatIsSlow) {
  const Dataset data = Dataset::from_memory({memory_feature<float>("x", DType::kF32, {}, std::vector<float>(16, 1.0f))},
                                            {.batch_size = 4})
                           .take();
  Function products = Strategy("cpu").function([](const Features& in) {
    Tensor y = broadcast(reduce_mean(in["x"]), Shape({512, 512}), {});
    for (int i = 0; i < 16; ++i) y = dot(y, y) * (1.0 / 512);
    return Outputs{{"y", reduce_mean(y)}};
  });
  while (products(data)) {
  }
  const Throughput done = products.throughput();
  EXPECT_EQ(done.examples, 16);
  EXPECT_FALSE(done.input_is_limit()) << done.input_seconds << " s, device " << done.device_seconds << " s";
}

TEST(Scope, GivesItsStrategyToModelsThatAreCompiledInIt) {
  const Strategy two("cpu:units=2");
  Sequential model;
  {
    const auto scope = two.scope();
    model = classifier();
  }
  EXPECT_EQ(model.strategy().device(), "cpu:units=2");
  model.fit(first_input(), labels(), {.batch_size = 8, .verbose = Verbose::kSilent});
  EXPECT_EQ(two.read("dense/kernel").shape(), Shape({4, 3}));
}

}  // namespace
}  // namespace tenon

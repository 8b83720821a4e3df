#include "tenon/strategy.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

Outputs sum_of(const Features& in) { return {{"sum", in["a"] + in["b"]}}; }

// y = w x + b from w = 1, b = 0 on (1, 3), (2, 5).
Outputs line(const Features& in) {
  const Tensor y = dense(in["x"], {.units = 1, .kernel_initializer = ones()});
  const Tensor loss = reduce_mean(square(y - in["y"]));
  minimize(SGD(0.1), loss);
  return {{"loss", loss}};
}

const Arrays kLine{{"x", Array({1.0f, 2.0f}, {2, 1})}, {"y", Array({3.0f, 5.0f}, {2, 1})}};

Dataset numbers(int64_t count, int64_t batch) {
  const auto fill = [](int64_t example, const Sample&, Slots& out) -> Status {
    out.get<float>(0)[0] = static_cast<float>(example);
    return {};
  };
  return Dataset::from_function(count, {{"x", {DType::kF32, {}}}}, fill, {.batch_size = batch}).take();
}

TEST(Strategy, RunsAFunctionOfArrays) {
  Strategy strategy("cpu");
  Function sum = strategy.function(sum_of);
  const Results r = sum({{"a", {1.0f, 2.0f}}, {"b", {10.0f, 20.0f}}});
  EXPECT_EQ(r["sum"].to<float>(), (std::vector<float>{11, 22}));
  EXPECT_EQ(r.steps(), 1);
  EXPECT_EQ(r.examples(), 2);
}

TEST(Strategy, TracesOnceForEachSignature) {
  Strategy strategy("cpu");
  int calls = 0;
  Function sum = strategy.function([&](const Features& in) {
    ++calls;
    return sum_of(in);
  });
  for (int i = 0; i < 9; ++i) sum({{"a", {1.0f, 2.0f}}, {"b", {1.0f, 2.0f}}});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(sum({{"a", {7}}, {"b", {8}}})["sum"].item(), 15);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(sum({{"a", {1.0f, 2.0f}}, {"b", {5.0f, 5.0f}}})["sum"].sum(), 13);
  EXPECT_EQ(sum.traces(), 2);
}

// Predictions 1, 2; differences -2, -3; loss (4 + 9) / 2. dL/dw = (2 * -2 * 1 + 2 * -3 * 2) / 2 = -8, dL/db = -5.
TEST(Strategy, AStepOfDescentIsThatOfAHandCalculation) {
  Strategy strategy("cpu");
  Function train = strategy.function(line, {.mode = Mode::kTrain});
  EXPECT_FLOAT_EQ(static_cast<float>(train(kLine)["loss"].item()), 6.5f);
  EXPECT_FLOAT_EQ(strategy.read<float>("dense/kernel")[0], 1.8f);
  EXPECT_FLOAT_EQ(strategy.read<float>("dense/bias")[0], 0.5f);
  EXPECT_EQ(strategy.read("global_step").item(), 1);
}

TEST(Strategy, FunctionsShareVariablesByName) {
  Strategy strategy("cpu");
  Function train = strategy.function(line, {.mode = Mode::kTrain});
  Function predict = strategy.function([](const Features& in) { return Outputs{{"y", dense(in["x"], {.units = 1})}}; });
  train(kLine);
  const Arrays three{{"x", Array({3.0f}, {1, 1})}};
  EXPECT_FLOAT_EQ(static_cast<float>(predict(three)["y"].item()), 5.9f);
  strategy.write("dense/kernel", Array({2.0f}, {1, 1}));
  EXPECT_FLOAT_EQ(static_cast<float>(predict(three)["y"].item()), 6.5f);
  std::vector<std::string> names;
  for (const auto& v : strategy.variables()) names.push_back(v.name);
  EXPECT_EQ(names, (std::vector<std::string>{"dense/bias", "dense/kernel", "global_step"}));
}

TEST(Strategy, KeepsEachStepOrTheLastAndStopsWhenTold) {
  Strategy strategy("cpu");
  Function count = strategy.function(
      [](const Features& in) {
        const Tensor n = variable(in["by"], "n", {}, zeros());
        const Tensor next = n + in["by"];
        assign(n, next);
        return Outputs{{"n", next},
                       {"newest", last(next)},
                       {"stop", until(compare(next, scalar_like(next, 6), CompareKind::kGe))}};
      },
      {.steps_per_call = 5});
  const Results first = count.repeat(2, {{"by", 1.0f}});
  EXPECT_EQ(first["n"].to<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(first["newest"].item(), 2);
  const Results second = count.repeat(5, {{"by", 2.0f}});
  EXPECT_EQ(second["n"].to<float>(), (std::vector<float>{4, 6}));
  EXPECT_EQ(second["newest"].item(), 6);
  EXPECT_EQ(second.steps(), 2);
}

TEST(Strategy, TakesBatchesOfDataAndTheirSmallerLastOne) {
  Strategy strategy("cpu");
  Function sum = strategy.function(
      [](const Features& in) {
        return Outputs{{"sum", reduce_sum(in["x"])}};
      },
      {.steps_per_call = 2});
  const Dataset data = numbers(10, 4);
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(sum(data)["sum"].to<float>(), (std::vector<float>{6, 22}));
    const Results rest = sum(data);
    EXPECT_EQ(rest["sum"].to<float>(), (std::vector<float>{17}));
    EXPECT_EQ(rest.examples(), 2);
    const Results none = sum(data);
    EXPECT_FALSE(none);
    EXPECT_EQ(message_of([&] { none["sum"]; }), "there is no result 'sum': no step was done, as the data have ended");
  }
  EXPECT_EQ(sum.traces(), 2);
  sum(data);
  sum.rewind();
  EXPECT_EQ(sum(data)["sum"].to<float>(), (std::vector<float>{6, 22}));
}

// The end of an epoch is -1.
TEST(Strategy, GoesOnWithEachOfTheDataThatItTakesInTurn) {
  Strategy strategy("cpu");
  Function sum = strategy.function([](const Features& in) { return Outputs{{"sum", reduce_sum(in["x"])}}; });
  const auto next = [&](const Dataset& data) {
    const Results r = sum(data);
    return r ? r["sum"].item() : -1;
  };
  const Dataset three = numbers(12, 4), two = numbers(4, 2), again = numbers(12, 4);
  std::vector<double> of_three, of_two, of_again;
  for (int i = 0; i < 5; ++i) {
    of_three.push_back(next(three));
    of_two.push_back(next(two));
    of_again.push_back(next(again));
  }
  EXPECT_EQ(of_three, (std::vector<double>{6, 22, 38, -1, 6}));
  EXPECT_EQ(of_two, (std::vector<double>{1, 5, -1, 1, 5}));
  EXPECT_EQ(of_again, of_three);
  sum.next_epoch();
  EXPECT_EQ(next(three), 6);
  EXPECT_EQ(next(two), 1);
  EXPECT_EQ(next(three), 22);
  // Only four keep their places: the one that was taken from longest ago begins anew.
  for (const Dataset& other : {numbers(4, 4), numbers(4, 4), numbers(4, 4)}) next(other);
  EXPECT_EQ(next(three), 38);
  EXPECT_EQ(next(two), 1);
  EXPECT_EQ(sum.throughput().examples, 11 * 4 + 6 * 2 + 3 * 4);
}

TEST(Strategy, TakesBatchesOfDataAfterArraysOfTheirShape) {
  Strategy strategy("cpu");
  Function sum = strategy.function([](const Features& in) { return Outputs{{"sum", reduce_sum(in["x"])}}; });
  EXPECT_EQ(sum({{"x", {1.0f, 1.0f}}})["sum"].item(), 2);
  EXPECT_EQ(sum(numbers(4, 2))["sum"].item(), 1);
  EXPECT_EQ(sum({{"x", {2.0f, 1.0f}}})["sum"].item(), 3);
  EXPECT_EQ(sum.traces(), 1);
}

TEST(Strategy, UnitsShareABatchAndAgree) {
  Strategy units("tpu-emulator:v2-8"), one("cpu");
  ASSERT_EQ(units.num_replicas_in_sync(), 8);
  std::vector<float> x(16);
  std::iota(x.begin(), x.end(), 0.0f);
  const auto function = [](const Features& in) {
    return Outputs{
        {"mean", reduce_mean(in["x"])}, {"twice", in["x"] * 2.0}, {"one", full(*in["x"].graph(), DType::kF32, {}, 1)}};
  };
  for (Strategy* strategy : {&units, &one}) {
    Function f = strategy->function(function);
    const Results r = f({{"x", x}});
    EXPECT_EQ(r["mean"].item(), 7.5) << strategy->device();
    EXPECT_EQ(r["twice"].shape(), (Shape{16})) << strategy->device();
    EXPECT_EQ(r["twice"].to<float>()[15], 30) << strategy->device();
    EXPECT_EQ(r["one"].item(), 1) << strategy->device();
  }
  EXPECT_EQ(message_of([&] {
              units.function(function)({{"x", {1.0f, 2.0f}}});
            }),
            "input 'x' has 2 rows, which must be divisible by number of replicas 8");
}

TEST(Strategy, SaysWhatIsWrong) {
  Strategy strategy("cpu");
  const Arrays x{{"x", {1.0f}}};
  const auto call = [&](TensorFunction f, FunctionOptions options = {}) {
    return message_of([&] { strategy.function(std::move(f), options)(x); });
  };
  EXPECT_EQ(call([](const Features& in) {
              return Outputs{{"y", in["z"]}};
            }),
            "the input has no feature 'z'; it has: x");
  EXPECT_EQ(call([](const Features&) {
              return Outputs{{"y", Tensor()}};
            }),
            "function gave 'y', a tensor that was never set");
  EXPECT_EQ(call(
                [](const Features& in) {
                  return Outputs{{"y", in["x"]}, {"y", in["x"]}};
                },
                {.name = "step"}),
            "step gave two results 'y'");
  EXPECT_EQ(call([](const Features& in) {
              return Outputs{{"y", until(in["x"])}};
            }),
            "function gave 'y' to stop by, which is f32[1], expected bool[]");
  EXPECT_EQ(call([](const Features&) -> Outputs { throw std::runtime_error("no"); }), "function threw: no");
  EXPECT_EQ(call(sum_of, {.steps_per_call = 0}), "function: steps_per_call is 0, expected 1 to 1048576");
  Tensor kept;
  call([&](const Features& in) { return Outputs{{"y", kept = in["x"]}}; });
  EXPECT_EQ(message_of([&] { strategy.function([](const Features&) { return Outputs{}; })(x)["y"]; }),
            "there is no result 'y'; there are: ");
}

TEST(Strategy, NamesTheVariableThatIsMeant) {
  Strategy strategy("cpu");
  EXPECT_EQ(message_of([&] { strategy.read("w"); }),
            "there is no variable 'w' yet: no function with variables was called");
  strategy.function(line, {.mode = Mode::kTrain})(kLine);
  EXPECT_EQ(message_of([&] { strategy.read("dense/kernl"); }),
            "there is no variable 'dense/kernl'; did you mean 'dense/kernel'?");
  EXPECT_EQ(message_of([&] {
              strategy.write("dense/bias", {1.0f, 2.0f});
            }),
            "variable 'dense/bias' is f32[1], given f32[2]");
  EXPECT_FLOAT_EQ(strategy.read<float>("dense/bias")[0], 0.5f);
}

TEST(Strategy, HoldsIndicesAgainstTheirRange) {
  Strategy strategy("cpu");
  Function look = strategy.function([](const Features& in) {
    return Outputs{{"y", embedding(in["word"], {.input_dim = 3, .output_dim = 2})}};
  });
  look({{"word", {0, 2}}});
  EXPECT_EQ(message_of([&] {
              look({{"word", {0, 3}}});
            }),
            "example 1: feature 'word' is 3, expected 0 to 2 for gather 'embedding/gather'");
}

}  // namespace
}  // namespace tenon

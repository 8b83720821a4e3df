// What print() and check_numerics() show of a step while it runs.
#include "tenon/debug.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tenon/gradients.h"
#include "tenon/layers.h"
#include "tenon/ops.h"
#include "tenon/optimizers.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

// What the call writes to standard error.
std::string shown_by(const std::function<void()>& call) {
  testing::internal::CaptureStderr();
  call();
  return testing::internal::GetCapturedStderr();
}

Array counted(std::vector<int64_t> dims) {
  const Shape shape(dims);
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0.0f);
  return Array(values, shape);
}

const std::vector<std::string> kDevices = {"cpu", "cpu:units=2", "tpu-emulator:v2-8"};

TEST(Print, ShowsAnArrayWithItsNameAndItsTypeAndGivesItOn) {
  for (const std::string& device : kDevices) {
    Strategy strategy(device);
    Function twice = strategy.function([](const Features& in) {
      return Outputs{{"y", print(in["x"], "the input") * 2.0}};
    });
    Results result;
    const std::string text = shown_by([&] { result = twice({{"x", counted({8, 2})}}); });
    EXPECT_EQ(text, "step 1: the input, f32[8,2]: [[0 1]\n [2 3]\n [4 5]\n ...\n [10 11]\n [12 13]\n [14 15]]\n")
        << device;
    EXPECT_EQ(result["y"].to<float>()[15], 30) << device;
    EXPECT_NE(shown_by([&] { twice({{"x", counted({8, 2})}}); }).find("step 2: "), std::string::npos) << device;
  }
}

TEST(Print, ShowsTheEdgesOfLongAxesOfAllUnitsTogether) {
  for (const std::string& device : kDevices) {
    Strategy strategy(device);
    Function show = strategy.function([](const Features& in) {
      print(in["x"]);
      return Outputs{};
    });
    EXPECT_EQ(shown_by([&] { show({{"x", counted({64})}}); }), "step 1: x, f32[64]: [0 1 2 ... 61 62 63]\n") << device;
    EXPECT_EQ(shown_by([&] {
                show({{"x", counted({8, 1, 10})}});
              }),
              "step 2: x, f32[8,1,10]: [[[0 1 2 ... 7 8 9]]\n [[10 11 12 ... 17 18 19]]\n [[20 21 22 ... 27 28 29]]\n"
              " ...\n [[50 51 52 ... 57 58 59]]\n [[60 61 62 ... 67 68 69]]\n [[70 71 72 ... 77 78 79]]]\n")
        << device;
  }
}

TEST(Print, NothingIsNoTensor) {
  EXPECT_THROW(print(Tensor{}), Error);
  EXPECT_THROW(check_numerics(Tensor{}, "nothing"), Error);
}

TEST(Print, ShowsWhatIsThereOfDynamicDimensions) {
  Strategy strategy("cpu");
  Function show = strategy.function(
      [](const Features& in) {
        print(in["x"] + 1.0);
        return Outputs{{"sum", reduce_sum(check_numerics(1.0 / (in["x"] + 1.0), "inverses"))}};
      },
      {.dynamic_shapes = {{"x", {{0, {"rows", 8}}}}}});
  EXPECT_EQ(shown_by([&] { show({{"x", counted({4})}}); }), "step 1: add, f32[4]: [1 2 3 4]\n");
  EXPECT_EQ(shown_by([&] { show({{"x", counted({7})}}); }), "step 2: add, f32[7]: [1 2 3 ... 5 6 7]\n");
  EXPECT_EQ(shown_by([&] { show({{"x", counted({1})}}); }), "step 3: add, f32[1]: [1]\n");
  EXPECT_EQ(show.traces(), 1);
}

// As a program of that very size shows it, of any rank, in one axis with another, of few rows a unit and of many.
TEST(Print, ShowsOfSeveralUnitsTheRowsThatAreThere) {
  const TensorFunction look = [](const Features& in) {
    const Tensor x = in["x"];
    print(x, "all");
    print(cast(x, DType::kBF16), "half");
    print(compare(x, scalar_like(x, 40), CompareKind::kGt), "above 40");
    print(reshape(x, {x.dim(0) * x.dim(1), x.dim(2)}), "steps");
    print(transpose(x, {1, 2, 0}), "rows last");
    check_numerics(x, "all");
    return Outputs{};
  };
  const BoundedDim batch{"batch", 64}, time{"time", 9};
  for (const std::string& device : kDevices) {
    Function bounded = Strategy(device).function(look, {.dynamic_shapes = {{"x", {{0, batch}, {1, time}}}}});
    Function fixed = Strategy(device).function(look);
    for (const auto& [rows, steps] : {std::pair<int64_t, int64_t>{64, 9}, {8, 1}, {16, 4}, {40, 7}, {8, 8}, {24, 3}}) {
      const Arrays x{{"x", counted({rows, steps, 2})}};
      EXPECT_EQ(shown_by([&] { bounded(x); }), shown_by([&] { fixed(x); })) << device << " " << rows << " " << steps;
    }
    EXPECT_EQ(bounded.traces(), 1);
  }
}

TEST(CheckNumerics, LooksAtWhatIsThereOnly) {
  for (const std::string& device : kDevices) {
    Strategy strategy(device);
    Function inverse = strategy.function(
        [](const Features& in) {
          check_numerics(1.0 / in["x"], "inverses");  // infinite behind the end
          return Outputs{};
        },
        {.name = "f", .max_batch = 32});
    EXPECT_EQ(message_of([&] { inverse({{"x", std::vector<float>(8, 2.0f)}}); }), "no error") << device;
    EXPECT_EQ(message_of([&] {
                inverse({{"x", std::vector<float>(16, 0.0f)}});
              }),
              "f: check_numerics: inverses ('div'), f32[16], holds infinity at step 2")
        << device;
  }
}

// All steps of the call were done, and the first that is wrong is named.
TEST(CheckNumerics, NamesTheFirstStepOfACallThatIsDoneToItsEnd) {
  Strategy strategy("cpu");
  Function count = strategy.function(
      [](const Features& in) {
        const Tensor n = variable(in["by"], "n", {}, zeros());
        check_numerics(1.0 / (2.0 - print(n, "n")), "what is left");
        check_numerics(1.0 / (1.0 - n), "what was left");
        assign(n, n + in["by"]);
        return Outputs{};
      },
      {.steps_per_call = 5, .name = "count"});
  const std::string text = shown_by([&] {
    EXPECT_EQ(message_of([&] {
                count.repeat(5, {{"by", Array(1.0f)}});
              }),
              "count: check_numerics: what was left ('div_1'), f32[], holds infinity at step 2");
  });
  EXPECT_EQ(text, "step 1: n, f32[]: 0\nstep 2: n, f32[]: 1\n");
  EXPECT_EQ(strategy.read<float>("n")[0], 5);
}

TEST(Print, ShowsNumbersOfEveryKind) {
  Strategy strategy("cpu");
  Function show = strategy.function([](const Features& in) {
    const Tensor x = in["x"];
    print(cast(x, DType::kI32), "whole");
    print(compare(x, scalar_like(x, 1), CompareKind::kGt), "above 1");
    print(cast(x, DType::kBF16), "bf16");
    print(x / zeros_like(x), "by zero");
    print(reduce_sum(x), "sum");
    return Outputs{};
  });
  EXPECT_EQ(shown_by([&] {
              show({{"x", {0.0f, 1.5f, -2.25f}}});
            }),
            "step 1: whole, i32[3]: [0 1 -2]\nstep 1: above 1, bool[3]: [0 1 0]\nstep 1: bf16, bf16[3]: [0 1.5 -2.25]\n"
            "step 1: by zero, f32[3]: [nan inf -inf]\nstep 1: sum, f32[]: -0.75\n");
}

// n' = n + 1 from 0, four steps in one call; its gradient is that of n without print.
TEST(Print, ShowsEachStepOfACallInOrder) {
  Strategy strategy("cpu");
  Function count = strategy.function(
      [](const Features& in) {
        const Tensor n = variable(in["by"], "n", {}, zeros());
        const Tensor next = print(n + in["by"], "n");
        assign(n, next);
        return Outputs{{"n", next}, {"slope", gradients(square(check_numerics(next, "n")), {n})[0]}};
      },
      {.steps_per_call = 4});
  Results result;
  EXPECT_EQ(shown_by([&] {
              result = count.repeat(4, {{"by", Array(1.0f)}});
            }),
            "step 1: n, f32[]: 1\nstep 2: n, f32[]: 2\nstep 3: n, f32[]: 3\nstep 4: n, f32[]: 4\n");
  EXPECT_EQ(result["slope"].to<float>(), (std::vector<float>{2, 4, 6, 8}));
}

TEST(Print, EscapesTheName) {
  Strategy strategy("cpu");
  Function show = strategy.function([](const Features& in) {
    print(in["x"], "a\x1b[2J");
    return Outputs{};
  });
  EXPECT_EQ(shown_by([&] { show({{"x", {1.0f}}}); }), "step 1: a\\x1b[2J, f32[1]: [1]\n");
}

// n = 1, 0, -1: log(n) is 0, then -infinity, then NaN.
TEST(CheckNumerics, EndsTheCallNamingTensorStepAndWhatItIs) {
  for (const std::string& device : kDevices) {
    Strategy strategy(device);
    Function logarithm = strategy.function(
        [](const Features& in) {
          return Outputs{{"y", check_numerics(log(in["x"]), "after the logarithm")}};
        },
        {.name = "train"});
    const auto message = [&](float first, float last) {
      std::vector<float> values(8, 1.0f);
      values[0] = first;
      values[7] = last;
      return message_of([&] { logarithm({{"x", values}}); });
    };
    const std::string named = "train: check_numerics: after the logarithm ('log'), f32[8], holds ";
    EXPECT_EQ(message(1, 2), "no error") << device;
    EXPECT_EQ(message(1, 0), named + "infinity at step 2") << device;
    EXPECT_EQ(message(-1, 1), named + "NaN at step 3") << device;
    EXPECT_EQ(message(0, -1), named + "NaN and infinity at step 4") << device;
    EXPECT_EQ(message(3, 4), "no error") << device;
  }
}

TEST(CheckNumerics, NamesTheFirstStepOfACallThatHasSome) {
  Strategy strategy("cpu");
  Function down = strategy.function(
      [](const Features& in) {
        const Tensor n = variable(in["by"], "n", {}, ones());
        assign(n, n - in["by"]);
        return Outputs{{"y", check_numerics(1.0 / n, "")}};
      },
      {.steps_per_call = 4});
  EXPECT_EQ(message_of([&] {
              down.repeat(4, {{"by", Array(0.5f)}});
            }),
            "function: check_numerics: 'div', f32[], holds infinity at step 3");
  EXPECT_EQ(strategy.read("n").item(), -1);  // the call was done to its end
}

TEST(CheckNumerics, RefusesIntegers) {
  Strategy strategy("cpu");
  Function check = strategy.function([](const Features& in) { return Outputs{{"y", check_numerics(in["i"], "i")}}; });
  EXPECT_EQ(message_of([&] { check({{"i", {1, 2}}}); }), "check_numerics: 'i' is i32[2], expected floats");
}

}  // namespace
}  // namespace tenon

#include "tenon/gradients.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/ops.h"
#include "tenon/strategy.h"
#include "tenon/variables.h"

namespace tenon {
namespace {

double value_of(const std::function<Tensor(Tensor x)>& f, double x) {
  Strategy strategy("cpu");
  Function run = strategy.function([&](const Features& in) { return Outputs{{"y", f(in["x"])}}; });
  return run({{"x", static_cast<float>(x)}})["y"].item();
}

TEST(Gradients, OfAGradientAreSecondDerivatives) {
  const auto second = [](Tensor x) {
    const Tensor first = gradients(x * x * x, {x})[0];
    return gradients(first, {x})[0];
  };
  EXPECT_FLOAT_EQ(static_cast<float>(value_of(second, 5)), 30);  // 6 x
  const auto of_tanh = [](Tensor x) { return gradients(gradients(tanh(x), {x})[0], {x})[0]; };
  const double t = std::tanh(0.5);
  EXPECT_NEAR(value_of(of_tanh, 0.5), -2 * t * (1 - t * t), 1e-6);
}

TEST(Gradients, OfAPenaltyOnTheGradientReachTheWeights) {
  // f = w x^2, penalty (df/dx)^2 = 4 w^2 x^2, d penalty / dw = 8 w x^2.
  const auto penalty = [](Tensor x) {
    const Tensor w = variable(x, "w", {}, constant_initializer(3));
    const Tensor slope = gradients(w * x * x, {x})[0];
    return gradients(slope * slope, {w})[0];
  };
  EXPECT_FLOAT_EQ(static_cast<float>(value_of(penalty, 2)), 96);
}

TEST(Gradients, DoNotFlowThroughStopGradient) {
  const auto f = [](Tensor x) { return gradients(x * stop_gradient(x), {x})[0]; };
  EXPECT_EQ(value_of(f, 7), 7);
  const auto none = [](Tensor x) {
    const Tensor g = gradients(stop_gradient(x) * 2.0, {x})[0];
    return g ? g : scalar_like(x, -1);
  };
  EXPECT_EQ(value_of(none, 7), -1);
}

TEST(Gradients, OfAnIntermediateTensorAreThoseOfThePartBehindIt) {
  const auto f = [](Tensor x) {
    const Tensor h = x * x;
    return gradients(h * h * x, {h})[0];  // 2 h x
  };
  EXPECT_EQ(value_of(f, 3), 54);
}

// w = 2, loss w^2 = 4; then w = 2 * 5 is assigned, and read again: loss (10 w')^2 with w' = 10.
TEST(Gradients, OfAnAssignedVariableAreThoseOfAllItsReads) {
  const auto f = [](Tensor x) {
    const Tensor w = variable(x, "w", {}, constant_initializer(2));
    assign(w, w * x);
    const Tensor again = current(w);
    return gradients(w * w + again * 3.0, {w})[0];
  };
  EXPECT_EQ(value_of(f, 5), 2 * 2 + 3);
}

TEST(Gradients, AVariableThatIsAssignedTwiceHasTheLastValue) {
  Strategy strategy("cpu");
  Function twice = strategy.function([](const Features& in) {
    const Tensor w = variable(in["x"], "w", {}, constant_initializer(1));
    assign(w, current(w) + in["x"]);
    assign(w, current(w) * 2.0);
    return Outputs{{"now", current(w)}};
  });
  EXPECT_EQ(twice({{"x", 3.0f}})["now"].item(), 8);
  EXPECT_EQ(strategy.read("w").item(), 8);
  EXPECT_EQ(twice({{"x", 3.0f}})["now"].item(), 22);
}

TEST(Gradients, SayWhatTheyAreNotOf) {
  const auto message = [](const std::function<Tensor(Tensor)>& f) -> std::string {
    try {
      value_of(f, 1);
    } catch (const Error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([](Tensor x) { return gradients(reshape(x, {1}), {x})[0]; }),
            "gradients: the loss is f32[1], expected a float scalar");
  EXPECT_EQ(message([](Tensor x) { return gradients(x, {Tensor()})[0]; }), "gradients: variable 0 was never set");
  EXPECT_EQ(message([](Tensor x) { return gradients(x, {variable(x, "w", {}, zeros())})[0]; }),
            "function gave 'y', the gradient by 'w', on which the loss does not depend");
}

}  // namespace
}  // namespace tenon

// Optimizers of other times that the golden files have rows of and the library has not: each is written as a user would.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "unit/optimizer/optimizer_testing.h"

namespace tenon::optimizer_testing {

using golden::Arguments;

inline LearningRate rate_of(const Arguments& a) {
  const auto named = a.find("learning_rate");
  const std::string text = named != a.end() ? named->second : a.count("0") ? a.at("0") : "";
  if (text.empty()) return 0.001;
  if (text == "ExponentialDecay(0.1, 1, 0.5)" || text == "exponential_decay(0.1, gs, 1, 0.5)")
    return ExponentialDecay(0.1, 1, 0.5);
  return std::stod(text);
}

// Keras 2's legacy Nadam (Dozat 2016): u_t = b1 (1 - 0.96^(0.004 t) / 2).
inline void legacy_nadam(Update& u) {
  const Tensor g = u.gradient(), t = u.step() + 1;
  const auto schedule = [](Tensor n) { return 0.9 * (1 - 0.5 * exp(n * (0.004 * std::log(0.96)))); };
  const Tensor now = schedule(t), then = schedule(t + 1), product = u.slot("product", Shape(), 1) * now;
  const Tensor m = 0.9 * u.slot("m") + 0.1 * g, v = 0.999 * u.slot("v") + 0.001 * square(g);
  const Tensor mean = (1 - now) * g / (1 - product) + then * m / (1 - product * then);
  u.assign("product", product);
  u.assign("m", m);
  u.assign("v", v);
  u.assign(u.variable() - u.learning_rate() * mean / (sqrt(v / (1 - exp(t * std::log(0.999)))) + 1e-7));
}

// Keras 2's legacy Adagrad: epsilon outside of the root.
inline auto legacy_adagrad(double initial, double epsilon) {
  return [=](Update& u) {
    const Tensor sum = u.slot("accumulator", initial) + square(u.gradient());
    u.assign("accumulator", sum);
    u.assign(u.variable() - u.learning_rate() * u.gradient() / (sqrt(sum) + epsilon));
  };
}

// Keras 2's legacy RMSprop without momentum: epsilon outside of the root.
inline auto legacy_rmsprop(double epsilon, bool centered) {
  return [=](Update& u) {
    const Tensor g = u.gradient(), squares = 0.9 * u.slot("rms") + 0.1 * square(g);
    u.assign("rms", squares);
    Tensor variance = squares;
    if (centered) {
      const Tensor mean = 0.9 * u.slot("mg") + 0.1 * g;
      u.assign("mg", mean);
      variance = squares - square(mean);
    }
    u.assign(u.variable() - u.learning_rate() * g / (sqrt(variance) + epsilon));
  };
}

// A step that shrinks what is left towards 0 (Duchi and Singer 2009), as TensorFlow 1's Proximal optimizers make it.
inline Tensor proximal(Tensor stepped, Tensor rate) {
  return sign(stepped) * maximum(abs(stepped) - 0.01 * rate, scalar_like(stepped, 0)) / (1 + 0.02 * rate);
}

inline void proximal_adagrad(Update& u) {
  const Tensor sum = u.slot("accumulator", 0.1) + square(u.gradient()), rate = u.learning_rate() / sqrt(sum);
  u.assign("accumulator", sum);
  u.assign(proximal(u.variable() - rate * u.gradient(), rate));
}

inline void proximal_descent(Update& u) {
  u.assign(proximal(u.variable() - u.learning_rate() * u.gradient(), u.learning_rate()));
}

// Dual averaging (Duchi et al. 2011): the variable is a function of the sums alone.
inline void adagrad_da(Update& u) {
  const Tensor sum = u.slot("sum") + u.gradient(), squares = u.slot("squares", 0.1) + square(u.gradient());
  u.assign("sum", sum);
  u.assign("squares", squares);
  u.assign(-(u.learning_rate() * sum / sqrt(squares)));
}

inline std::optional<Optimizer> own(const std::string& name, const Arguments& a) {
  const double epsilon = golden::number(a, "epsilon", 1e-7);
  std::function<void(Update&)> update;
  if (name == "legacy Nadam") update = legacy_nadam;
  if (name == "legacy Adagrad") update = legacy_adagrad(golden::number(a, "initial_accumulator_value", 0.1), epsilon);
  if (name == "legacy RMSprop") update = legacy_rmsprop(epsilon, golden::flag(a, "centered"));
  if (name == "ProximalAdagradOptimizer") update = proximal_adagrad;
  if (name == "ProximalGradientDescentOptimizer") update = proximal_descent;
  if (name == "AdagradDAOptimizer") update = adagrad_da;
  if (!update) return {};
  return CustomOptimizer({.name = "own", .learning_rate = rate_of(a), .update = update});
}

}  // namespace tenon::optimizer_testing

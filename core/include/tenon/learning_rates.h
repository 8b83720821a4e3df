// Learning rates: numbers, formulas of the step, variables that a program reads and writes while it trains.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tenon/ops.h"

namespace tenon {

class LearningRate {
 public:
  LearningRate(double fixed) : initial_(fixed) {}  // NOLINT: implicit by design
  // A formula of the step, which is how often the optimizer was applied so far: f32 scalars both.
  explicit LearningRate(std::function<Tensor(Tensor step)> schedule) : schedule_(std::move(schedule)) {}
  // One that is read in each step: the f32 scalar variable "learning_rate" of the Strategy, of the first optimizer, and
  // NAME/learning_rate of others. What is written to it between two calls of the device holds from the next on.
  static LearningRate variable(double initial);

  bool is_fixed() const { return !schedule_ && !is_variable_; }
  bool is_variable() const { return is_variable_; }
  double fixed() const { return initial_; }
  double initial() const { return initial_; }  // of a variable
  Tensor operator()(Tensor step) const { return schedule_(step); }

 private:
  double initial_ = 0;
  bool is_variable_ = false;
  std::function<Tensor(Tensor)> schedule_;
};

// Keras's schedules with its formulas, in f32. All throw Error for numbers that they have no meaning for.
LearningRate ExponentialDecay(double initial, double decay_steps, double decay_rate, bool staircase = false);
LearningRate InverseTimeDecay(double initial, double decay_steps, double decay_rate, bool staircase = false);
LearningRate PolynomialDecay(double initial, double decay_steps, double end = 1e-4, double power = 1,
                             bool cycle = false);
LearningRate PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values);
LearningRate CosineDecay(double initial, double decay_steps, double alpha = 0, std::optional<double> warmup_target = {},
                         double warmup_steps = 0);
LearningRate CosineDecayRestarts(double initial, double first_decay_steps, double t_mul = 2, double m_mul = 1,
                                 double alpha = 0);
// TensorFlow 1's linear_cosine_decay (Bello et al. 2017): with f = min(step, decay_steps) / decay_steps,
// initial ((alpha + 1 - f) (1 + cos(2 pi num_periods f)) / 2 + beta).
LearningRate LinearCosineDecay(double initial, double decay_steps, double num_periods = 0.5, double alpha = 0,
                               double beta = 0.001);

}  // namespace tenon

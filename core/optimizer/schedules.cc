// Keras's learning-rate schedules as formulas of the step. f32, as Keras computes them.
#include <cmath>
#include <numbers>
#include <utility>

#include "base/number.h"
#include "tenon/learning_rates.h"

namespace tenon {
namespace {

Tensor where_less(Tensor a, double limit, Tensor yes, Tensor no) {
  return select(compare(a, scalar_like(a, limit), CompareKind::kLt), yes, no);
}

void expect_positive(const char* schedule, const char* what, double value) {
  if (value <= 0) fail(schedule, ": ", what, " is ", value, ", expected more than 0");
  expect_number(cat(schedule, ": ", what), value);
}

// Learning rates and what they are multiplied by.
void expect_not_negative(const char* schedule, const char* what, double value) {
  expect_number(cat(schedule, ": ", what), value, 0);
}

void expect_decay(const char* schedule, double initial, double decay_steps) {
  expect_not_negative(schedule, "the initial rate", initial);
  expect_positive(schedule, "decay_steps", decay_steps);
}

Tensor cosine(Tensor fraction) { return (cos(fraction * std::numbers::pi) + 1.0) * 0.5; }

}  // namespace

LearningRate LearningRate::variable(double initial) {
  expect_not_negative("LearningRate", "the initial rate", initial);
  LearningRate out(initial);
  out.is_variable_ = true;
  return out;
}

LearningRate ExponentialDecay(double initial, double decay_steps, double decay_rate, bool staircase) {
  expect_decay("ExponentialDecay", initial, decay_steps);
  expect_not_negative("ExponentialDecay", "decay_rate", decay_rate);
  return LearningRate([=](Tensor step) {
    Tensor p = step / decay_steps;
    if (staircase) p = floor(p);
    return pow(scalar_like(step, decay_rate), p) * initial;
  });
}

LearningRate InverseTimeDecay(double initial, double decay_steps, double decay_rate, bool staircase) {
  expect_decay("InverseTimeDecay", initial, decay_steps);
  expect_not_negative("InverseTimeDecay", "decay_rate", decay_rate);
  return LearningRate([=](Tensor step) {
    Tensor p = step / decay_steps;
    if (staircase) p = floor(p);
    return initial / (p * decay_rate + 1.0);
  });
}

LearningRate PolynomialDecay(double initial, double decay_steps, double end, double power, bool cycle) {
  expect_decay("PolynomialDecay", initial, decay_steps);
  expect_not_negative("PolynomialDecay", "the last rate", end);
  expect_number("PolynomialDecay: power", power);
  return LearningRate([=](Tensor step) {
    Tensor total = scalar_like(step, decay_steps);
    if (cycle) {
      // the period grows to the next multiple of decay_steps; at step 0 it is one
      const Tensor periods = -floor(-(step / decay_steps));
      total = total * maximum(periods, scalar_like(step, 1));
    } else {
      step = minimum(step, total);
    }
    const Tensor p = step / total;
    return pow(1.0 - p, scalar_like(p, power)) * (initial - end) + end;
  });
}

LearningRate PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values) {
  if (values.size() != boundaries.size() + 1)
    fail("PiecewiseConstantDecay: has ", values.size(), " values, expected ", boundaries.size() + 1);
  for (size_t i = 1; i < boundaries.size(); ++i)
    if (!(boundaries[i - 1] < boundaries[i]))
      fail("PiecewiseConstantDecay: boundary ", boundaries[i], " follows ", boundaries[i - 1],
           ", expected a larger one");
  for (const double b : boundaries) expect_number("PiecewiseConstantDecay: a boundary", b);
  for (const double v : values) expect_not_negative("PiecewiseConstantDecay", "a rate", v);
  return LearningRate([boundaries = std::move(boundaries), values = std::move(values)](Tensor step) {
    Tensor rate = scalar_like(step, values.back());
    for (size_t i = boundaries.size(); i-- > 0;) {
      const Tensor earlier = compare(step, scalar_like(step, boundaries[i]), CompareKind::kLe);
      rate = select(earlier, scalar_like(step, values[i]), rate);
    }
    return rate;
  });
}

LearningRate CosineDecay(double initial, double decay_steps, double alpha, std::optional<double> warmup_target,
                         double warmup_steps) {
  expect_decay("CosineDecay", initial, decay_steps);
  expect_number("CosineDecay: alpha", alpha);
  expect_not_negative("CosineDecay", "warmup_target", warmup_target.value_or(0));
  expect_number("CosineDecay: warmup_steps", warmup_steps);
  return LearningRate([=](Tensor step) {
    const double peak = warmup_target.value_or(initial);
    const Tensor after = maximum(step - warmup_steps, scalar_like(step, 0));
    const Tensor fraction = minimum(after, scalar_like(step, decay_steps)) / decay_steps;
    const Tensor decayed = (cosine(fraction) * (1 - alpha) + alpha) * peak;
    if (!warmup_target || warmup_steps <= 0) return decayed;
    return where_less(step, warmup_steps, step / warmup_steps * (peak - initial) + initial, decayed);
  });
}

LearningRate CosineDecayRestarts(double initial, double first_decay_steps, double t_mul, double m_mul, double alpha) {
  expect_decay("CosineDecayRestarts", initial, first_decay_steps);
  expect_positive("CosineDecayRestarts", "t_mul", t_mul);
  expect_not_negative("CosineDecayRestarts", "m_mul", m_mul);
  expect_number("CosineDecayRestarts: alpha", alpha);
  return LearningRate([=](Tensor step) {
    const Tensor completed = step / first_decay_steps;
    Tensor restart, fraction;
    if (t_mul == 1) {
      restart = floor(completed);
      fraction = completed - restart;
    } else {
      restart = floor(log(1.0 - completed * (1 - t_mul)) / std::log(t_mul));
      const Tensor grown = pow(scalar_like(step, t_mul), restart);
      fraction = (completed - (1.0 - grown) / (1 - t_mul)) / grown;
    }
    const Tensor height = m_mul == 1 ? cosine(fraction) : cosine(fraction) * pow(scalar_like(step, m_mul), restart);
    return (height * (1 - alpha) + alpha) * initial;
  });
}

LearningRate LinearCosineDecay(double initial, double decay_steps, double num_periods, double alpha, double beta) {
  expect_decay("LinearCosineDecay", initial, decay_steps);
  expect_number("LinearCosineDecay: num_periods", num_periods);
  expect_number("LinearCosineDecay: alpha", alpha);
  expect_number("LinearCosineDecay: beta", beta);
  return LearningRate([=](Tensor step) {
    const Tensor fraction = minimum(step, scalar_like(step, decay_steps)) / decay_steps;
    return ((1.0 - fraction + alpha) * cosine(fraction * (2 * num_periods)) + beta) * initial;
  });
}

}  // namespace tenon

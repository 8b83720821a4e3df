// Every optimizer against three steps of Keras and TensorFlow 1 (tests/golden/optimizers.csv, optimizers_matrix.csv).
#include <gtest/gtest.h>

#include <optional>

#include "base/strings.h"
#include "unit/optimizer/golden_optimizers.h"

namespace tenon {
namespace {

using golden::Arguments;
using golden::flag;
using golden::number;
using model_testing::Numbers;
using optimizer_testing::rate_of;

// The options that all have.
template <class Options>
Options common(const Arguments& a, Options o = {}) {
  o.learning_rate = rate_of(a);
  if (a.count("weight_decay") && a.at("weight_decay") != "None")
    o.weight_decay = number(a, "weight_decay", o.weight_decay);
  o.clipnorm = number(a, "clipnorm", 0);
  o.global_clipnorm = number(a, "global_clipnorm", 0);
  o.clipvalue = number(a, "clipvalue", 0);
  o.use_ema = flag(a, "use_ema");
  o.ema_momentum = number(a, "ema_momentum", o.ema_momentum);
  o.ema_overwrite_frequency = static_cast<int>(number(a, "ema_overwrite_frequency", 0));
  o.loss_scale_factor = number(a, "loss_scale_factor", 0);
  o.gradient_accumulation_steps = static_cast<int>(number(a, "gradient_accumulation_steps", 0));
  return o;
}

template <class Options>
Options adam_options(const Arguments& a) {
  Options o = common<Options>(a);
  o.beta_2 = number(a, "beta_2", o.beta_2);
  o.epsilon = number(a, "epsilon", o.epsilon);
  o.amsgrad = flag(a, "amsgrad");
  return o;
}

Optimizer sgd(const Arguments& a) {
  SGDOptions o = common<SGDOptions>(a);
  o.momentum = number(a, "momentum", 0);
  o.nesterov = flag(a, "nesterov");
  return SGD(o);
}

Optimizer adagrad(const Arguments& a) {
  AdagradOptions o = common<AdagradOptions>(a);
  o.initial_accumulator_value = number(a, "initial_accumulator_value", o.initial_accumulator_value);
  o.epsilon = number(a, "epsilon", o.epsilon);
  return Adagrad(o);
}

RMSpropOptions rmsprop_options(const Arguments& a) {
  RMSpropOptions o = common<RMSpropOptions>(a);
  o.epsilon = number(a, "epsilon", o.epsilon);
  o.momentum = number(a, "momentum", 0);
  o.centered = flag(a, "centered");
  return o;
}

Optimizer ftrl(const Arguments& a) {
  FtrlOptions o = common<FtrlOptions>(a);
  o.learning_rate_power = number(a, "learning_rate_power", o.learning_rate_power);
  o.l1_regularization_strength = number(a, "l1_regularization_strength", 0);
  o.l2_regularization_strength = number(a, "l2_regularization_strength", 0);
  o.l2_shrinkage_regularization_strength = number(a, "l2_shrinkage_regularization_strength", 0);
  o.beta = number(a, "beta", 0);
  return Ftrl(o);
}

Optimizer muon(const Arguments& a) {
  MuonOptions o = common<MuonOptions>(a);
  if (a.count("weight_decay")) o.weight_decay = 0;  // None
  if (a.count("rms_rate")) o.rms_rate.reset();      // None
  o.nesterov = !a.count("nesterov");                // False
  return Muon(o);
}

Optimizer scaled_sgd(const Arguments& a) {
  return LossScaleOptimizer(SGD(0.1), {.initial_scale = number(a, "initial_scale", 0),
                                       .dynamic_growth_steps = static_cast<int>(number(a, "dynamic_growth_steps", 0))});
}

std::optional<Optimizer> keras(const std::string& name, const Arguments& a) {
  if (name == "SGD") return sgd(a);
  if (name == "Adam") return Adam(adam_options<AdamOptions>(a));
  if (name == "AdamW") return AdamW(adam_options<AdamWOptions>(a));
  if (name == "Adamax") return Adamax(adam_options<AdamOptions>(a));
  if (name == "Nadam") return Nadam(adam_options<AdamOptions>(a));
  if (name == "Lamb") return Lamb(adam_options<AdamOptions>(a));
  if (name == "Adagrad") return adagrad(a);
  if (name == "Adadelta") return Adadelta(common<AdadeltaOptions>(a));
  if (name == "RMSprop") return RMSprop(rmsprop_options(a));
  if (name == "Ftrl") return ftrl(a);
  if (name == "Adafactor") return Adafactor(common<AdafactorOptions>(a));
  if (name == "Lion") return Lion(common<LionOptions>(a));
  if (name == "Muon") return muon(a);
  if (name == "LossScaleOptimizer") return scaled_sgd(a);
  return {};  // ScheduleFreeAdamW: schedule_free_test.cc
}

// TensorFlow 1's optimizers in ours, which are Keras's.
std::optional<Optimizer> tf1(const std::string& name, const Arguments& a) {
  const LearningRate rate = rate_of(a);
  const double epsilon = number(a, "epsilon", name == "AdamOptimizer" ? 1e-8 : 1e-10);
  if (name == "GradientDescentOptimizer") return SGD(rate);
  if (name == "MomentumOptimizer")
    return Momentum({.learning_rate = rate, .momentum = 0.9, .use_nesterov = flag(a, "use_nesterov")});
  if (name == "AdamOptimizer") return Adam({.learning_rate = rate, .epsilon = epsilon});
  if (name == "AdagradOptimizer") return Adagrad({.learning_rate = rate, .epsilon = 0});
  if (name == "AdadeltaOptimizer") return Adadelta({.learning_rate = rate, .epsilon = 1e-8});
  if (name == "FtrlOptimizer") return ftrl(a);
  if (name != "RMSPropOptimizer") return optimizer_testing::own(name, a);
  RMSpropOptions o = rmsprop_options(a);
  o.epsilon = epsilon;
  o.initial_velocity = 1;
  return RMSprop(o);
}

// What Keras 2 had before: some have epsilon outside of the root.
std::optional<Optimizer> legacy(const std::string& name, const Arguments& a) {
  if (name == "SGD" && a.count("decay")) return SGD(InverseTimeDecay(0.1, 1, number(a, "decay", 0)));
  if (name == "Nadam" || name == "Adagrad" || (name == "RMSprop" && !a.count("momentum")))
    return optimizer_testing::own("legacy " + name, a);
  return keras(name, a);
}

std::optional<Optimizer> optimizer_of(const golden::Row& row) {
  const Arguments a = golden::arguments(row.at("arguments"));
  const std::string name = row.at("optimizer"), api = row.at("api");
  return api == "tf1" ? tf1(name, a) : api == "keras2_legacy" ? legacy(name, a) : keras(name, a);
}

// Checks every row but ScheduleFreeAdamW's, which on TensorFlow reads its momentum too late; returns their number.
int check_rows(const std::string& file, const Shape& shape, const Numbers& start,
               const std::vector<Numbers>& gradients) {
  int seen = 0;
  for (const golden::Row& row : golden::rows(file)) {
    SCOPED_TRACE(row.at("api") + " " + row.at("optimizer") + " " + row.at("arguments"));
    const std::optional<Optimizer> optimizer = optimizer_of(row);
    EXPECT_EQ(optimizer.has_value(), row.at("optimizer") != "ScheduleFreeAdamW");
    if (!optimizer) continue;
    Numbers expected;
    for (int step = 1; step <= 3; ++step)
      for (int64_t i = 0; i < shape.elements(); ++i) expected.push_back(std::stod(row.at(cat("w", i, "_step", step))));
    golden::expect_near(optimizer_testing::trained(*optimizer, shape, start, gradients), expected, 2e-6);
    ++seen;
  }
  return seen;
}

TEST(Optimizers, TakeKerasStepsOnAVector) {
  EXPECT_EQ(check_rows("optimizers.csv", {2}, {1, -2}, {{0.5, -1}, {0.25, 0.5}, {-0.125, 2}}), 91);
}

TEST(Optimizers, TakeKerasStepsOnAMatrix) {
  EXPECT_EQ(check_rows("optimizers_matrix.csv", {2, 2}, {1, -2, 0.5, 3},
                       {{0.5, -1, 0.25, 0.5}, {-0.125, 2, 1, -0.5}, {0.75, 0.25, -0.5, 1.5}}),
            5);
}

}  // namespace
}  // namespace tenon

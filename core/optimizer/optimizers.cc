// Keras's optimizers as data: the update op, its hyperparameters, its slots.
#include "tenon/optimizers.h"

#include <algorithm>

#include "base/number.h"

namespace tenon {
namespace {

UpdateRule::Hyper number(const char* name, double value) { return {name, value, false}; }
UpdateRule::Hyper flag(const char* name, bool value) { return {name, value ? 1.0 : 0.0, true}; }

void expect_range(std::string_view optimizer, std::string_view what, double value, double low, double high) {
  expect_number(cat(optimizer, ": ", what), value, low, high);
}

void expect_betas(std::string_view optimizer, double beta_1, double beta_2) {
  expect_range(optimizer, "beta_1", beta_1, 0, 1);
  expect_range(optimizer, "beta_2", beta_2, 0, 1);
}

void expect_not_negative(std::string_view optimizer, std::string_view what, double value) {
  expect_number(cat(optimizer, ": ", what), value, 0);
}

// What every optimizer's options share.
template <class Options>
Optimizer base(std::string name, const Options& o, std::string op) {
  expect_not_negative(name, "weight_decay", o.weight_decay);
  expect_not_negative(name, "clipnorm", o.clipnorm);
  expect_not_negative(name, "global_clipnorm", o.global_clipnorm);
  expect_not_negative(name, "clipvalue", o.clipvalue);
  if (o.learning_rate.is_fixed()) expect_not_negative(name, "learning_rate", o.learning_rate.fixed());
  Optimizer out;
  out.name = std::move(name);
  out.learning_rate = o.learning_rate;
  out.rule.op = std::move(op);
  out.weight_decay = o.weight_decay;
  out.clipnorm = o.clipnorm;
  out.global_clipnorm = o.global_clipnorm;
  out.clipvalue = o.clipvalue;
  if ((o.clipnorm > 0) + (o.global_clipnorm > 0) + (o.clipvalue > 0) > 1)
    fail(out.name, ": at most one of clipnorm, global_clipnorm and clipvalue may be set");
  return out;
}

template <class Options>
Optimizer adam(std::string name, const Options& o, std::string op) {
  expect_betas(name, o.beta_1, o.beta_2);
  // Divided by: what the slots lack in the first steps.
  if (std::max(o.beta_1, o.beta_2) == 1) fail(name, ": a beta is 1, expected less than 1");
  expect_not_negative(name, "epsilon", o.epsilon);
  Optimizer out = base(std::move(name), o, std::move(op));
  out.rule.hyper = {number("b1", o.beta_1), number("b2", o.beta_2), number("eps", o.epsilon)};
  return out;
}

Optimizer adam_without_amsgrad(std::string name, const AdamOptions& o, std::string op) {
  if (o.amsgrad) fail(name, ": has no amsgrad");
  return adam(std::move(name), o, std::move(op));
}

}  // namespace

Optimizer SGD(const SGDOptions& o) {
  expect_range("SGD", "momentum", o.momentum, 0, 1);
  Optimizer out = base("SGD", o, o.momentum > 0 ? "momentum_update" : "sgd_update");
  if (o.momentum > 0) {
    out.rule.hyper = {number("mu", o.momentum), flag("nesterov", o.nesterov)};
    out.rule.slots = {{"Momentum"}};
  }
  return out;
}

Optimizer SGD(LearningRate learning_rate) { return SGD(SGDOptions{.learning_rate = std::move(learning_rate)}); }

Optimizer Adam(const AdamOptions& o) {
  Optimizer out = adam("Adam", o, "adam_update");
  out.rule.hyper.push_back(flag("amsgrad", o.amsgrad));
  out.rule.slots = {{"Adam"}, {"Adam_1"}};
  if (o.amsgrad) out.rule.slots.push_back({"Adam_2"});
  return out;
}

Optimizer Adam(LearningRate learning_rate) { return Adam(AdamOptions{.learning_rate = std::move(learning_rate)}); }

Optimizer AdamW(const AdamWOptions& o) {
  Optimizer out = adam("AdamW", o, "adamw_update");
  out.rule.hyper.push_back(flag("amsgrad", o.amsgrad));
  out.rule.hyper.push_back(number("wd", o.weight_decay));
  out.rule.slots = {{"Adam"}, {"Adam_1"}};
  if (o.amsgrad) out.rule.slots.push_back({"Adam_2"});
  out.weight_decay = 0;  // the op's own
  return out;
}

Optimizer Adagrad(const AdagradOptions& o) {
  expect_not_negative("Adagrad", "initial_accumulator_value", o.initial_accumulator_value);
  expect_not_negative("Adagrad", "epsilon", o.epsilon);
  Optimizer out = base("Adagrad", o, "adagrad_update");
  out.rule.hyper = {number("eps", o.epsilon)};
  out.rule.slots = {{"Adagrad", o.initial_accumulator_value}};
  return out;
}

Optimizer RMSprop(const RMSpropOptions& o) {
  expect_range("RMSprop", "rho", o.rho, 0, 1);
  expect_range("RMSprop", "momentum", o.momentum, 0, 1);
  expect_not_negative("RMSprop", "initial_velocity", o.initial_velocity);
  expect_not_negative("RMSprop", "epsilon", o.epsilon);
  Optimizer out = base("RMSprop", o, "rmsprop_update");
  out.rule.hyper = {number("rho", o.rho), number("mu", o.momentum), number("eps", o.epsilon),
                    flag("centered", o.centered)};
  out.rule.slots = {{"RMSProp", o.initial_velocity}};
  // TensorFlow numbers the mean of g before the momentum; the op takes them the other way round
  if (o.momentum > 0 || o.centered) out.rule.slots.push_back({o.centered ? "RMSProp_2" : "RMSProp_1"});
  if (o.centered) out.rule.slots.push_back({"RMSProp_1"});
  return out;
}

Optimizer RMSprop(LearningRate learning_rate) {
  return RMSprop(RMSpropOptions{.learning_rate = std::move(learning_rate)});
}

Optimizer Adamax(const AdamOptions& o) {
  Optimizer out = adam_without_amsgrad("Adamax", o, "adamax_update");
  out.rule.slots = {{"Adamax"}, {"Adamax_1"}};
  return out;
}

Optimizer Nadam(const AdamOptions& o) {
  Optimizer out = adam_without_amsgrad("Nadam", o, "nadam_update");
  out.rule.slots = {{"Nadam"}, {"Nadam_1"}, {"Nadam_2", 1, true}};
  return out;
}

Optimizer Adadelta(const AdadeltaOptions& o) {
  expect_range("Adadelta", "rho", o.rho, 0, 1);
  expect_not_negative("Adadelta", "epsilon", o.epsilon);
  Optimizer out = base("Adadelta", o, "adadelta_update");
  out.rule.hyper = {number("rho", o.rho), number("eps", o.epsilon)};
  out.rule.slots = {{"Adadelta"}, {"Adadelta_1"}};
  return out;
}

Optimizer Ftrl(const FtrlOptions& o) {
  expect_not_negative("Ftrl", "l1_regularization_strength", o.l1_regularization_strength);
  expect_not_negative("Ftrl", "l2_regularization_strength", o.l2_regularization_strength);
  expect_not_negative("Ftrl", "initial_accumulator_value", o.initial_accumulator_value);
  expect_not_negative("Ftrl", "l2_shrinkage_regularization_strength", o.l2_shrinkage_regularization_strength);
  expect_not_negative("Ftrl", "beta", o.beta);
  expect_range("Ftrl", "learning_rate_power", o.learning_rate_power, kLowestNumber, 0);
  Optimizer out = base("Ftrl", o, "ftrl_update");
  out.rule.hyper = {number("lr_power", o.learning_rate_power), number("l1", o.l1_regularization_strength),
                    number("l2_reg", o.l2_regularization_strength),
                    number("shrink", o.l2_shrinkage_regularization_strength), number("beta", o.beta)};
  out.rule.slots = {{"Ftrl", o.initial_accumulator_value}, {"Ftrl_1"}};
  return out;
}

Optimizer Lamb(const AdamOptions& o) {
  Optimizer out = adam_without_amsgrad("Lamb", o, "lamb_update");
  out.rule.hyper.push_back(number("wd", 0));
  out.rule.slots = {{"Lamb"}, {"Lamb_1"}};
  return out;
}

Optimizer Lion(const LionOptions& o) {
  expect_betas("Lion", o.beta_1, o.beta_2);
  Optimizer out = base("Lion", o, "lion_update");
  out.rule.hyper = {number("b1", o.beta_1), number("b2", o.beta_2), number("wd", 0)};
  out.rule.slots = {{"Lion"}};
  return out;
}

Optimizer Adafactor(const AdafactorOptions& o) {
  expect_not_negative("Adafactor", "epsilon_1", o.epsilon_1);
  expect_not_negative("Adafactor", "epsilon_2", o.epsilon_2);
  Optimizer out = base("Adafactor", o, "adafactor_update");
  out.rule.hyper = {number("eps1", o.epsilon_1), number("eps2", o.epsilon_2)};
  return out;  // its slots depend on the variable's rank: minimize() makes them
}

Optimizer CrossShard(Optimizer optimizer) {
  optimizer.cross_shard = true;
  return optimizer;
}

}  // namespace tenon

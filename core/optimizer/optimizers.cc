// Keras's optimizers: the update op, its attributes, its slots.
#include "tenon/optimizers.h"

#include <algorithm>

#include "base/names/slot_names.h"
#include "base/number.h"
#include "optimizer/muon.h"
#include "optimizer/schedule_free.h"
#include "optimizer/update.h"

namespace tenon {
namespace {

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

using Slots = std::vector<FusedUpdate::Slot>;

template <class Options>
OptimizerOptions common(const Options& o) {
  return {.weight_decay = o.weight_decay,
          .exclude_from_weight_decay = o.exclude_from_weight_decay,
          .clipnorm = o.clipnorm,
          .global_clipnorm = o.global_clipnorm,
          .clipvalue = o.clipvalue,
          .learning_rate_multipliers = o.learning_rate_multipliers,
          .use_ema = o.use_ema,
          .ema_momentum = o.ema_momentum,
          .ema_overwrite_frequency = o.ema_overwrite_frequency,
          .loss_scale_factor = o.loss_scale_factor,
          .gradient_accumulation_steps = o.gradient_accumulation_steps};
}

void check(const std::string& name, const OptimizerOptions& o) {
  expect_not_negative(name, "weight_decay", o.weight_decay);
  expect_not_negative(name, "clipnorm", o.clipnorm);
  expect_not_negative(name, "global_clipnorm", o.global_clipnorm);
  expect_not_negative(name, "clipvalue", o.clipvalue);
  if ((o.clipnorm > 0) + (o.global_clipnorm > 0) + (o.clipvalue > 0) > 1)
    fail(name, ": at most one of clipnorm, global_clipnorm and clipvalue may be set");
  any_found(o.exclude_from_weight_decay, "", cat(name, ": exclude_from_weight_decay"));
  for (const auto& [pattern, multiplier] : o.learning_rate_multipliers) {
    any_found({pattern}, "", cat(name, ": learning_rate_multipliers"));
    expect_not_negative(name, cat("learning_rate_multipliers: that of '", pattern, "'"), multiplier);
  }
  expect_range(name, "ema_momentum", o.ema_momentum, 0, 1);
  expect_not_negative(name, "ema_overwrite_frequency", o.ema_overwrite_frequency);
  if (o.ema_overwrite_frequency > 0 && !o.use_ema) fail(name, ": ema_overwrite_frequency is set, and use_ema is not");
  expect_not_negative(name, "loss_scale_factor", o.loss_scale_factor);
  expect_not_negative(name, "gradient_accumulation_steps", o.gradient_accumulation_steps);
  if (o.gradient_accumulation_steps == 1)
    fail(name, ": gradient_accumulation_steps is 1, expected 2 or more, or 0 for an update in each call");
}

// What every optimizer's options share.
template <class Options>
Optimizer base(std::string name, const Options& o) {
  Optimizer out;
  out.name = std::move(name);
  out.learning_rate = o.learning_rate;
  out.options = common(o);
  check(out.name, out.options);
  if (o.learning_rate.is_fixed()) expect_not_negative(out.name, "learning_rate", o.learning_rate.fixed());
  return out;
}

template <class Options>
Optimizer fused(std::string name, const Options& o, FusedUpdate update) {
  Optimizer out = base(std::move(name), o);
  out.update = [update = std::move(update)](Update& u) { update_by_op(update, u); };
  return out;
}

template <class Options>
FusedUpdate adam_update(const std::string& name, const Options& o, std::string op, Slots slots, Attrs more = {}) {
  expect_betas(name, o.beta_1, o.beta_2);
  // Divided by: what the slots lack in the first steps.
  if (std::max(o.beta_1, o.beta_2) == 1) fail(name, ": a beta is 1, expected less than 1");
  expect_not_negative(name, "epsilon", o.epsilon);
  FusedUpdate out{std::move(op), {{"b1", o.beta_1}, {"b2", o.beta_2}, {"eps", o.epsilon}}, std::move(slots)};
  out.attrs.insert(out.attrs.end(), more.begin(), more.end());
  return out;
}

Slots adam_slots(bool amsgrad) {
  return amsgrad ? Slots{{"Adam"}, {"Adam_1"}, {"Adam_2"}} : Slots{{"Adam"}, {"Adam_1"}};
}

Optimizer without_amsgrad(const std::string& name, const AdamOptions& o, std::string op, Slots slots, Attrs more = {}) {
  if (o.amsgrad) fail(name, ": has no amsgrad");
  return fused(name, o, adam_update(name, o, std::move(op), std::move(slots), std::move(more)));
}

}  // namespace

Optimizer CustomOptimizer(const CustomOptimizerOptions& o) {
  if (!o.update) fail(o.name, ": has no update");
  Optimizer out = base(o.name, o);
  out.update = [update = o.update](Update& u) {
    const NameScope scope(u.inside().graph, cat(u.name(), "/update"));
    update(u);
  };
  return out;
}

Optimizer SGD(const SGDOptions& o) {
  expect_range("SGD", "momentum", o.momentum, 0, 1);
  if (o.momentum == 0) return fused("SGD", o, {"sgd_update", {}, {}});
  return fused("SGD", o, {"momentum_update", {{"mu", o.momentum}, {"nesterov", o.nesterov}}, {{"Momentum"}}});
}

Optimizer SGD(LearningRate learning_rate) { return SGD(SGDOptions{.learning_rate = std::move(learning_rate)}); }

Optimizer Momentum(const MomentumOptions& o) {
  expect_range("Momentum", "momentum", o.momentum, 0, 1);
  Optimizer out = base("Momentum", o);
  out.update = [mu = o.momentum, nesterov = o.use_nesterov](Update& u) {
    const NameScope scope(u.inside().graph, cat(u.name(), "/update"));
    const Tensor g = u.gradient(), a = mu * u.slot(kTF1Momentum) + g;
    u.assign(kTF1Momentum, a);
    u.assign(u.variable() - u.learning_rate() * (nesterov ? g + mu * a : a));
  };
  return out;
}

Optimizer Momentum(LearningRate learning_rate, double momentum) {
  return Momentum(MomentumOptions{.learning_rate = std::move(learning_rate), .momentum = momentum});
}

Optimizer Adam(const AdamOptions& o) {
  return fused("Adam", o, adam_update("Adam", o, "adam_update", adam_slots(o.amsgrad), {{"amsgrad", o.amsgrad}}));
}

Optimizer Adam(LearningRate learning_rate) { return Adam(AdamOptions{.learning_rate = std::move(learning_rate)}); }

Optimizer AdamW(const AdamWOptions& o) {
  const auto update = [&](double decay) {
    return adam_update("AdamW", o, "adamw_update", adam_slots(o.amsgrad), {{"amsgrad", o.amsgrad}, {"wd", decay}});
  };
  Optimizer out = base("AdamW", o);
  out.update = [decaying = update(o.weight_decay), still = update(0)](Update& u) {
    update_by_op(u.inside().decays ? decaying : still, u);
  };
  out.options.weight_decay = 0;  // the op's own
  return out;
}

Optimizer Adagrad(const AdagradOptions& o) {
  expect_not_negative("Adagrad", "initial_accumulator_value", o.initial_accumulator_value);
  expect_not_negative("Adagrad", "epsilon", o.epsilon);
  return fused("Adagrad", o, {"adagrad_update", {{"eps", o.epsilon}}, {{"Adagrad", o.initial_accumulator_value}}});
}

Optimizer RMSprop(const RMSpropOptions& o) {
  expect_range("RMSprop", "rho", o.rho, 0, 1);
  expect_range("RMSprop", "momentum", o.momentum, 0, 1);
  expect_not_negative("RMSprop", "initial_velocity", o.initial_velocity);
  expect_not_negative("RMSprop", "epsilon", o.epsilon);
  Slots slots{{"RMSProp", o.initial_velocity}};
  // TensorFlow numbers the mean of g before the momentum; the op takes them the other way round
  if (o.momentum > 0 || o.centered) slots.push_back({o.centered ? "RMSProp_2" : "RMSProp_1"});
  if (o.centered) slots.push_back({"RMSProp_1"});
  return fused("RMSprop", o,
               {"rmsprop_update",
                {{"rho", o.rho}, {"mu", o.momentum}, {"eps", o.epsilon}, {"centered", o.centered}},
                std::move(slots)});
}

Optimizer RMSprop(LearningRate learning_rate) {
  return RMSprop(RMSpropOptions{.learning_rate = std::move(learning_rate)});
}

Optimizer Adamax(const AdamOptions& o) {
  return without_amsgrad("Adamax", o, "adamax_update", {{"Adamax"}, {"Adamax_1"}});
}

Optimizer Nadam(const AdamOptions& o) {
  return without_amsgrad("Nadam", o, "nadam_update", {{"Nadam"}, {"Nadam_1"}, {"Nadam_2", 1, true}});
}

Optimizer Adadelta(const AdadeltaOptions& o) {
  expect_range("Adadelta", "rho", o.rho, 0, 1);
  expect_not_negative("Adadelta", "epsilon", o.epsilon);
  return fused("Adadelta", o,
               {"adadelta_update", {{"rho", o.rho}, {"eps", o.epsilon}}, {{"Adadelta"}, {"Adadelta_1"}}});
}

Optimizer Ftrl(const FtrlOptions& o) {
  expect_not_negative("Ftrl", "l1_regularization_strength", o.l1_regularization_strength);
  expect_not_negative("Ftrl", "l2_regularization_strength", o.l2_regularization_strength);
  expect_not_negative("Ftrl", "initial_accumulator_value", o.initial_accumulator_value);
  expect_not_negative("Ftrl", "l2_shrinkage_regularization_strength", o.l2_shrinkage_regularization_strength);
  expect_not_negative("Ftrl", "beta", o.beta);
  expect_range("Ftrl", "learning_rate_power", o.learning_rate_power, kLowestNumber, 0);
  return fused("Ftrl", o,
               {"ftrl_update",
                {{"lr_power", o.learning_rate_power},
                 {"l1", o.l1_regularization_strength},
                 {"l2_reg", o.l2_regularization_strength},
                 {"shrink", o.l2_shrinkage_regularization_strength},
                 {"beta", o.beta}},
                {{"Ftrl", o.initial_accumulator_value}, {"Ftrl_1"}}});
}

Optimizer Lamb(const AdamOptions& o) { return without_amsgrad("Lamb", o, "lamb_update", {{"Lamb"}, {"Lamb_1"}}); }

Optimizer Lion(const LionOptions& o) {
  expect_betas("Lion", o.beta_1, o.beta_2);
  return fused("Lion", o, {"lion_update", {{"b1", o.beta_1}, {"b2", o.beta_2}}, {{"Lion"}}});
}

Optimizer Adafactor(const AdafactorOptions& o) {
  expect_not_negative("Adafactor", "epsilon_1", o.epsilon_1);
  expect_not_negative("Adafactor", "epsilon_2", o.epsilon_2);
  return fused("Adafactor", o, {"adafactor_update", {{"eps1", o.epsilon_1}, {"eps2", o.epsilon_2}}, {}});
}

Optimizer Muon(const MuonOptions& o) {
  const AdamWOptions adam{.beta_1 = o.adam_beta_1, .beta_2 = o.adam_beta_2, .epsilon = o.epsilon};
  const auto update = [&](double decay) {
    return adam_update("Muon", adam, "adamw_update", adam_slots(false), {{"amsgrad", false}, {"wd", decay}});
  };
  check_muon(o);
  Optimizer out = base("Muon", o);
  out.update = [o, decaying = update(o.adam_weight_decay), still = update(0)](Update& u) {
    Update::Inside& in = u.inside();
    if (takes_muon(o, u)) return update_by_muon(o, u);
    if (o.adam_lr_ratio != 1) in.rate = mul(in.rate, scalar_like(in.rate, o.adam_lr_ratio));
    update_by_op(in.decays ? decaying : still, u);
  };
  out.options.weight_decay = 0;  // its own, of two strengths
  return out;
}

Optimizer ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& o) {
  check_schedule_free(o);
  Optimizer out = base("ScheduleFreeAdamW", o);
  out.update = [o](Update& u) { update_schedule_free(o, u); };
  out.options.weight_decay = 0;  // of y, in the step of z
  out.options.use_ema = out.averages_itself = true;
  return out;
}

Optimizer CrossShard(Optimizer optimizer) {
  optimizer.cross_shard = true;
  return optimizer;
}

}  // namespace tenon

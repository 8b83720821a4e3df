// Keras's optimizers as data: the update op, its hyperparameters, its slots.
#include "base/text.h"
#include "tenon/optimizers.h"

namespace tenon {
namespace {

UpdateRule::Hyper number(const char* name, double value) { return {name, value, false}; }
UpdateRule::Hyper flag(const char* name, bool value) { return {name, value ? 1.0 : 0.0, true}; }

// What every optimizer's options share.
template <class Options>
Optimizer base(std::string name, const Options& o, std::string op) {
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

}  // namespace

Optimizer SGD(const SGDOptions& o) {
  if (!(o.momentum >= 0 && o.momentum <= 1)) fail("SGD: momentum is ", o.momentum, ", expected 0 to 1");
  Optimizer out = base("SGD", o, o.momentum > 0 ? "momentum_update" : "sgd_update");
  if (o.momentum > 0) {
    out.rule.hyper = {number("mu", o.momentum), flag("nesterov", o.nesterov)};
    out.rule.slots = {{"Momentum"}};
  }
  return out;
}

Optimizer Adam(const AdamOptions& o) {
  Optimizer out = base("Adam", o, "adam_update");
  out.rule.hyper = {number("b1", o.beta_1), number("b2", o.beta_2), number("eps", o.epsilon), flag("amsgrad", o.amsgrad)};
  out.rule.slots = {{"Adam"}, {"Adam_1"}};
  if (o.amsgrad) out.rule.slots.push_back({"Adam_2"});
  return out;
}

Optimizer Adam(LearningRate learning_rate) {
  AdamOptions o;
  o.learning_rate = std::move(learning_rate);
  return Adam(o);
}

Optimizer AdamW(const AdamWOptions& o) {
  Optimizer out = Adam(static_cast<const AdamOptions&>(o));
  out.name = "AdamW";
  out.rule.op = "adamw_update";
  out.rule.hyper.push_back(number("wd", o.weight_decay));
  out.weight_decay = 0;  // the op's own
  return out;
}

Optimizer Adagrad(const AdagradOptions& o) {
  Optimizer out = base("Adagrad", o, "adagrad_update");
  out.rule.hyper = {number("eps", o.epsilon)};
  out.rule.slots = {{"Adagrad", o.initial_accumulator_value}};
  return out;
}

Optimizer RMSprop(const RMSpropOptions& o) {
  Optimizer out = base("RMSprop", o, "rmsprop_update");
  out.rule.hyper = {number("rho", o.rho), number("mu", o.momentum), number("eps", o.epsilon), flag("centered", o.centered)};
  out.rule.slots = {{"RMSProp"}};
  if (o.momentum > 0 || o.centered) out.rule.slots.push_back({"RMSProp_1"});
  if (o.centered) out.rule.slots.push_back({"RMSProp_2"});
  return out;
}

Optimizer Adamax(const AdamOptions& o) {
  Optimizer out = base("Adamax", o, "adamax_update");
  out.rule.hyper = {number("b1", o.beta_1), number("b2", o.beta_2), number("eps", o.epsilon)};
  out.rule.slots = {{"Adamax"}, {"Adamax_1"}};
  return out;
}

Optimizer Nadam(const AdamOptions& o) {
  Optimizer out = base("Nadam", o, "nadam_update");
  out.rule.hyper = {number("b1", o.beta_1), number("b2", o.beta_2), number("eps", o.epsilon)};
  out.rule.slots = {{"Nadam"}, {"Nadam_1"}, {"Nadam_2", 1, true}};
  return out;
}

Optimizer Adadelta(const AdadeltaOptions& o) {
  Optimizer out = base("Adadelta", o, "adadelta_update");
  out.rule.hyper = {number("rho", o.rho), number("eps", o.epsilon)};
  out.rule.slots = {{"Adadelta"}, {"Adadelta_1"}};
  return out;
}

Optimizer Ftrl(const FtrlOptions& o) {
  Optimizer out = base("Ftrl", o, "ftrl_update");
  out.rule.hyper = {number("lr_power", o.learning_rate_power), number("l1", o.l1_regularization_strength),
                    number("l2_reg", o.l2_regularization_strength),
                    number("shrink", o.l2_shrinkage_regularization_strength), number("beta", o.beta)};
  out.rule.slots = {{"Ftrl", o.initial_accumulator_value}, {"Ftrl_1"}};
  return out;
}

Optimizer Lamb(const AdamOptions& o) {
  Optimizer out = base("Lamb", o, "lamb_update");
  out.rule.hyper = {number("b1", o.beta_1), number("b2", o.beta_2), number("eps", o.epsilon), number("wd", 0)};
  out.rule.slots = {{"Lamb"}, {"Lamb_1"}};
  return out;
}

Optimizer Lion(const LionOptions& o) {
  Optimizer out = base("Lion", o, "lion_update");
  out.rule.hyper = {number("b1", o.beta_1), number("b2", o.beta_2), number("wd", 0)};
  out.rule.slots = {{"Lion"}};
  return out;
}

Optimizer Adafactor(const AdafactorOptions& o) {
  Optimizer out = base("Adafactor", o, "adafactor_update");
  out.rule.hyper = {number("eps1", o.epsilon_1), number("eps2", o.epsilon_2)};
  return out;  // its slots depend on the variable's rank: minimize() makes them
}

Optimizer CrossShard(Optimizer optimizer) {
  optimizer.cross_shard = true;
  return optimizer;
}

}  // namespace tenon

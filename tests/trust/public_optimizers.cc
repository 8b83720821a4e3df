#include "public_functions.h"
#include "tenon/constraints.h"
#include "tenon/optimizers.h"

namespace tenon::public_arguments {
namespace {

using A = Arguments;

// What a training op is made of.
void train(A& a, Optimizer optimizer) {
  Tensor w = variable(Tensor(&a.graph(), a.graph().add_input({DType::kF32, {2}}, Role::kFeed, "x")), "w", {2}, zeros());
  minimize(optimizer, reduce_sum(w * w));
}
template <class Options>
Options common(A& a) {
  Options o;
  o.learning_rate = a.within(0.01, {-1});
  o.weight_decay = a.within(0.01, {-1});
  o.clipnorm = a.within(1, {-1});
  o.use_ema = true;
  o.ema_momentum = a.within(0.9, {-1, 1.5});
  o.loss_scale_factor = a.within(64, {-1});
  return o;
}
AdamOptions adam(A& a) {
  auto o = common<AdamOptions>(a);
  o.beta_1 = a.rate(0.9);
  o.beta_2 = a.rate(0.99);
  o.epsilon = a.within(1e-7, {-1});
  return o;
}
// A weight that is kept to the constraint.
void constrained(A& a, const Constraint& constraint) {
  Tensor like(&a.graph(), a.graph().add_input({DType::kF32, {2}}, Role::kFeed, "x"));
  Tensor w = variable(like, "w", {2, 3}, zeros());
  constrain(w, constraint);
  minimize(SGD(0.1), reduce_sum(w * w));
}
// A schedule's values are looked at where it is made or where it is used.
void follow(A& a, const LearningRate& rate) { train(a, SGD(rate)); }

const std::vector<Function> kOptimizers = {
    {"SGD",
     [](A& a) {
       auto o = common<SGDOptions>(a);
       o.momentum = a.within(0.9, {-1, 1.5});
       train(a, SGD(o));
     }},
    {"SGD clipped",
     [](A& a) {
       SGDOptions o;
       o.global_clipnorm = a.within(1, {-1});
       train(a, SGD(o));
     }},
    {"SGD clipped by value",
     [](A& a) {
       SGDOptions o;
       o.clipvalue = a.within(1, {-1});
       train(a, SGD(o));
     }},
    {"Adam", [](A& a) { train(a, Adam(adam(a))); }},
    {"AdamW",
     [](A& a) {
       auto o = common<AdamWOptions>(a);
       o.beta_1 = a.rate(0.9);
       o.beta_2 = a.rate(0.99);
       o.epsilon = a.within(1e-7, {-1});
       train(a, AdamW(o));
     }},
    {"Adamax", [](A& a) { train(a, Adamax(adam(a))); }},
    {"Nadam", [](A& a) { train(a, Nadam(adam(a))); }},
    {"Lamb", [](A& a) { train(a, Lamb(adam(a))); }},
    {"Lion",
     [](A& a) {
       auto o = common<LionOptions>(a);
       o.beta_1 = a.within(0.9, {-1, 1.5});
       o.beta_2 = a.within(0.99, {-1, 1.5});
       train(a, Lion(o));
     }},
    {"Adagrad",
     [](A& a) {
       auto o = common<AdagradOptions>(a);
       o.initial_accumulator_value = a.within(0.1, {-1});
       o.epsilon = a.within(1e-7, {-1});
       train(a, Adagrad(o));
     }},
    {"RMSprop",
     [](A& a) {
       auto o = common<RMSpropOptions>(a);
       o.rho = a.within(0.9, {-1, 1.5});
       o.momentum = a.within(0.9, {-1, 1.5});
       o.epsilon = a.within(1e-7, {-1});
       train(a, RMSprop(o));
     }},
    {"Adadelta",
     [](A& a) {
       auto o = common<AdadeltaOptions>(a);
       o.rho = a.within(0.9, {-1, 1.5});
       o.epsilon = a.within(1e-7, {-1});
       train(a, Adadelta(o));
     }},
    {"Ftrl",
     [](A& a) {
       auto o = common<FtrlOptions>(a);
       o.initial_accumulator_value = a.within(0.1, {-1});
       o.learning_rate_power = a.within(-0.5, {1});
       o.l1_regularization_strength = a.within(0.1, {-1});
       o.l2_regularization_strength = a.within(0.1, {-1});
       train(a, Ftrl(o));
     }},
    {"Adafactor",
     [](A& a) {
       auto o = common<AdafactorOptions>(a);
       o.epsilon_1 = a.within(1e-30, {-1});
       o.epsilon_2 = a.within(1e-3, {-1});
       train(a, Adafactor(o));
     }},
    {"Muon",
     [](A& a) {
       auto o = common<MuonOptions>(a);
       o.adam_beta_1 = a.rate(0.9);
       o.adam_beta_2 = a.rate(0.99);
       o.epsilon = a.within(1e-7, {-1});
       o.adam_weight_decay = a.within(0.01, {-1});
       o.adam_lr_ratio = a.within(1, {-1});
       o.momentum = a.within(0.9, {-1, 1.5});
       o.rms_rate = a.within(0.2, {-1});
       o.muon_a = a.finite(3.4445);
       o.muon_b = a.finite(-4.775);
       o.muon_c = a.finite(2.0315);
       train(a, Muon(o));
     }},
    {"ScheduleFreeAdamW",
     [](A& a) {
       auto o = common<ScheduleFreeAdamWOptions>(a);
       o.use_ema = false;
       o.beta_1 = a.within(0.9, {-1, 1.5});
       o.beta_2 = a.rate(0.99);
       o.epsilon = a.within(1e-8, {-1});
       o.warmup_steps = a.count(3);
       train(a, ScheduleFreeAdamW(o));
     }},
    {"MaxNorm",
     [](A& a) {
       MaxNormOptions o;
       o.max_value = a.within(2, {-1});
       o.axis = a.list({0}, {{2}, {-3}, {0, 0}, {kMost}});
       constrained(a, MaxNorm(o));
     }},
    {"UnitNorm",
     [](A& a) {
       constrained(a, UnitNorm({.axis = a.list({0}, {{2}, {-3}, {0, 0}, {kMost}})}));
     }},
    {"MinMaxNorm",
     [](A& a) {
       MinMaxNormOptions o;
       o.min_value = a.within(0.5, {-1, 2});
       o.max_value = a.within(1, {-1});
       o.rate = a.within(0.5, {-0.5, 1.5});
       o.axis = a.list({0}, {{2}, {-3}, {0, 0}, {kMost}});
       constrained(a, MinMaxNorm(o));
     }},
    {"constrain to another type",
     [](A& a) {
       const bool good = a.number(0, {1}) == 0;
       constrained(a, {[good](Tensor w) { return good ? w : reduce_sum(w); }});
     }},
    {"LossScaleOptimizer",
     [](A& a) {
       train(a, LossScaleOptimizer(SGD(0.1), {.initial_scale = a.within(8, {-1, 0})}));
     }},
    {"LearningRate::variable", [](A& a) { train(a, SGD(LearningRate::variable(a.within(0.1, {-1})))); }},
    {"LinearCosineDecay",
     [](A& a) {
       auto i = a.within(0.1, {-1}), s = a.positive(10), n = a.finite(0.5), alpha = a.finite(0);
       follow(a, LinearCosineDecay(i, s, n, alpha, a.finite(0.001)));
     }},
    {"ExponentialDecay",
     [](A& a) {
       auto i = a.within(0.1, {-1}), s = a.positive(10);
       follow(a, ExponentialDecay(i, s, a.within(0.9, {-1})));
     }},
    {"InverseTimeDecay",
     [](A& a) {
       auto i = a.within(0.1, {-1}), s = a.positive(10);
       follow(a, InverseTimeDecay(i, s, a.within(0.9, {-1})));
     }},
    {"PolynomialDecay",
     [](A& a) {
       auto i = a.within(0.1, {-1}), s = a.positive(10), e = a.within(1e-4, {-1});
       follow(a, PolynomialDecay(i, s, e, a.finite(1)));
     }},
    {"PiecewiseConstantDecay",
     [](A& a) {
       auto b = a.within(10, {30}), v = a.within(0.1, {-1});
       follow(a, PiecewiseConstantDecay({b, 20}, {v, 0.1, 0.01}));
     }},
    {"CosineDecay",
     [](A& a) {
       auto i = a.within(0.1, {-1}), s = a.positive(10);
       follow(a, CosineDecay(i, s, a.finite(0)));
     }},
    {"CosineDecayRestarts",
     [](A& a) {
       auto i = a.within(0.1, {-1}), s = a.positive(10), t = a.positive(2);
       follow(a, CosineDecayRestarts(i, s, t, a.within(1, {-1})));
     }},
    {"random_uniform",
     [](A& a) {
       auto low = a.finite(-1);
       random_uniform(low, a.within(1, {-2}));
     }},
    {"random_normal",
     [](A& a) {
       auto mean = a.finite(0);
       random_normal(mean, a.within(1, {-2}));
     }},
    {"truncated_normal",
     [](A& a) {
       auto mean = a.finite(0);
       truncated_normal(mean, a.within(1, {-2}));
     }},
    {"orthogonal", [](A& a) { orthogonal(a.finite(1)); }},
    {"variance_scaling",
     [](A& a) {
       auto s = a.positive(1);
       variance_scaling(s, FanMode::kFanIn, Distribution::kUniform, {2, 3});
     }},
};

}  // namespace

const std::vector<Function>& optimizer_functions() { return kOptimizers; }

}  // namespace tenon::public_arguments

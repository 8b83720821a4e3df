// Optimizers with Keras's names, defaults and formulas, and optimizers of one's own.
//
//   minimize(Adam({.learning_rate = 1e-3}), loss);
//   minimize(SGD({.learning_rate = ExponentialDecay(0.1, 1000, 0.96), .momentum = 0.9}), loss);
//
//   Optimizer mine = CustomOptimizer({.name = "mine", .learning_rate = 0.1, .update = [](Update& u) {
//     Tensor velocity = 0.9 * u.slot("velocity") - u.learning_rate() * u.gradient();
//     u.assign("velocity", velocity);
//     u.assign(u.variable() + velocity);
//   }});
//
// An optimizer is a function that makes one update of one variable; apply() calls it for each of them, and does around
// it what options ask for. Slots are variables named VARIABLE/SLOT in TensorFlow 1's style ("dense/kernel/Adam"):
// Momentum; Adam, Adam_1 (means of g and g^2), Adam_2 (amsgrad); Adagrad; RMSProp (mean of g^2), RMSProp_1 (momentum;
// with centered the mean of g, and RMSProp_2 the momentum); Adadelta, Adadelta_1; Ftrl, Ftrl_1; MomentumOptimizer;
// Muon; ScheduleFreeAdamW, ScheduleFreeAdamW_1, ScheduleFreeAdamW_2 (z, mean of g^2, sum of weights). Momentum, of SGD,
// holds Keras's m = mu m - lr g, where TensorFlow 1 leaves -lr out, as Momentum() does. The number of calls of apply()
// is the variable global_step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/learning_rates.h"
#include "tenon/ops.h"
#include "tenon/variables.h"

namespace tenon {

// What every optimizer's options end with. 0 is none. They are done in this order: mean over the replicas, unscaling,
// mean of accumulated gradients, clipping, weight decay, the update itself, moving averages, constraints.
//
//   weight_decay                 decoupled: w -= lr weight_decay w before the update
//   exclude_from_weight_decay    regular expressions; a variable in whose name one is found does not decay: {"bias", "norm"}
//   clipnorm, global_clipnorm, clipvalue      at most one: the norm of each gradient, of all of them, each element
//   use_ema, ema_momentum        keeps an average of each variable, a = momentum a + (1 - momentum) w after each update;
//                                the first update makes it w. It is the slot VARIABLE/ExponentialMovingAverage
//   ema_overwrite_frequency      after so many updates the averages become the variables, again and again
//   learning_rate_multipliers    regular expressions, and what the learning rate is times that for variables in whose names
//                                one is found, the first of them: {{"^base/", 0.1}}. Weight decay goes with it
//   loss_scale_factor            gradients are of the loss times this: what scale_loss() gives
//   gradient_accumulation_steps  an update is made of the mean of so many calls' gradients. In the calls between, variables,
//                                slots and averages stay as they are (Keras moves averages in each call); schedules count
//                                calls, the rest counts updates
#define TENON_OPTIMIZER_OPTIONS(WEIGHT_DECAY)                                 \
  double weight_decay = WEIGHT_DECAY;                                         \
  std::vector<std::string> exclude_from_weight_decay = {};                    \
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;                    \
  std::vector<std::pair<std::string, double>> learning_rate_multipliers = {}; \
  bool use_ema = false;                                                       \
  double ema_momentum = 0.99;                                                 \
  int ema_overwrite_frequency = 0;                                            \
  double loss_scale_factor = 0;                                               \
  int gradient_accumulation_steps = 0

struct OptimizerOptions {
  TENON_OPTIMIZER_OPTIONS(0);
};

// One update of one variable: what an optimizer is called with. Tensors are f32, f64 those of an f64 variable, so that
// a variable of 16 bits is rounded once. Valid during the call. All functions throw Error. Under shard_optimizer_state
// (tenon/strategy.h) they are a part of the variable's elements, in a row: an update that does not treat each element
// by itself is an error.
class Update {
 public:
  Tensor gradient() const;          // of the variable's shape, as the options left it
  Tensor variable() const;          // of its own shape, after weight decay
  Tensor learning_rate() const;     // rank 0
  Tensor step() const;              // rank 0: the number of updates before this one
  const std::string& name() const;  // of the variable: "dense/kernel"
  // What the slot was assigned in the update before, `initial` in the first. It has the variable's shape, or the one
  // given.
  Tensor slot(std::string_view name, double initial = 0);
  Tensor slot(std::string_view name, const Shape& shape, double initial = 0);
  // The variable's next value, which has to be given, and slots'.
  void assign(Tensor next);
  void assign(std::string_view slot, Tensor next);

  struct Inside;
  explicit Update(Inside& inside) : inside_(&inside) {}
  Inside& inside() const { return *inside_; }

 private:
  Inside* inside_;
};

// Keras's LossScaleOptimizer: gradients are of the loss times a scale that is found while training.
struct LossScaleOptions {
  double initial_scale = 32768;
  int dynamic_growth_steps = 2000;  // good steps after which the scale doubles
};

// An optimizer is a value, and its copies are the same one: they share slots and the number of updates. The first of a
// Strategy, or of an Estimator's model, has the plain names of TensorFlow 1: global_step, VARIABLE/SLOT; others
// NAME/iterations and VARIABLE/NAME/SLOT, where NAME is "Adam", or Adam_1, .. if that is taken.
struct Optimizer {
  Optimizer() = default;
  // By Keras's names, with all by default: "adam", "SGD", .. Throws Error naming the nearest.
  Optimizer(const char* name) : Optimizer(std::string(name)) {}  // NOLINT: implicit by design
  Optimizer(const std::string& name);                            // NOLINT: implicit by design
  // Updates each of `variables` by its gradient; those without one stay as they are. Then the number of calls grows by
  // one. May be called as often as one likes, in one function or in several: each goes on from what the one before
  // assigned. Throws Error when there are not as many gradients as variables, one has another type, or none has a
  // gradient.
  void apply(const Tensors& gradients, const Tensors& variables) const;
  // The number of calls so far, i64 scalar.
  Tensor iterations(Graph& graph) const;
  // The learning rate of the next call, f32 scalar.
  Tensor current_learning_rate(Graph& graph) const;
  // The variable's name where the learning rate is one: "learning_rate".
  std::string learning_rate_name(Graph& graph) const;
  // The loss that gradients have to be of where there is a loss scale, else `loss` itself; minimize() takes it by
  // itself.
  Tensor scale_loss(Tensor loss) const;

  // With use_ema: the averages of these variables, and the variables themselves before the first update.
  Tensors averages(const Tensors& variables) const;
  // Makes the averages the variables' values; swap_averages also makes the values the averages, so that a second call
  // undoes the first. Averages are kept in f32, and variables of 16 bits round them.
  void assign_averages(const Tensors& variables) const;
  void swap_averages(const Tensors& variables) const;

  struct Identity;
  std::shared_ptr<const Identity> identity = make_identity();
  std::string name;  // for messages, and for the names of variables where it is not the first
  LearningRate learning_rate = 0.001;
  std::function<void(Update&)> update;
  OptimizerOptions options;
  std::optional<LossScaleOptions> loss_scale;
  bool cross_shard = false;      // gradients are the mean over the replicas
  bool averages_itself = false;  // `update` keeps the averages that use_ema stands for

 private:
  static std::shared_ptr<const Identity> make_identity();
};

// An optimizer of one's own: `update` is called for each variable while a function is traced, and says by ops what
// becomes of variable and slots. Every option works with it, on every device.
struct CustomOptimizerOptions {
  std::string name = "CustomOptimizer";
  LearningRate learning_rate = 0.001;
  std::function<void(Update&)> update = {};
  TENON_OPTIMIZER_OPTIONS(0);
};
Optimizer CustomOptimizer(const CustomOptimizerOptions& options);

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  TENON_OPTIMIZER_OPTIONS(0);
};
Optimizer SGD(const SGDOptions& options = {});
Optimizer SGD(LearningRate learning_rate);
// TensorFlow 1's MomentumOptimizer: a = momentum a + g; w -= lr a, with use_nesterov lr (g + momentum a). SGD keeps m =
// -lr a, as Keras does: there a rate that changes counts from then on alone, here at once for all of a. The slot is
// VARIABLE/MomentumOptimizer, which begins with the VARIABLE/Momentum of a checkpoint that TensorFlow 1 wrote; such a
// one is an error for SGD's slot.
struct MomentumOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0.9;
  bool use_nesterov = false;
  TENON_OPTIMIZER_OPTIONS(0);
};
Optimizer Momentum(const MomentumOptions& options);
Optimizer Momentum(LearningRate learning_rate, double momentum);
struct AdamOptions {
  LearningRate learning_rate = 0.001;
  // epsilon: TensorFlow 1's AdamOptimizer, which Estimators of old were trained by, has 1e-8 in the same place.
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  TENON_OPTIMIZER_OPTIONS(0);
};
Optimizer Adam(const AdamOptions& options = {});
Optimizer Adam(LearningRate learning_rate);
struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  TENON_OPTIMIZER_OPTIONS(0.004);
};
Optimizer AdamW(const AdamWOptions& options = {});
Optimizer AdamW(LearningRate learning_rate);
struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1, epsilon = 1e-7;
  TENON_OPTIMIZER_OPTIONS(0);
};
Optimizer Adagrad(const AdagradOptions& options = {});
Optimizer Adagrad(LearningRate learning_rate);
struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
  double initial_velocity = 0;  // of the mean square; TensorFlow 1's RMSPropOptimizer: 1, with epsilon 1e-10
  TENON_OPTIMIZER_OPTIONS(0);
};
Optimizer RMSprop(const RMSpropOptions& options = {});
Optimizer RMSprop(LearningRate learning_rate);
// amsgrad must be false in Adamax, Nadam and Lamb, which have none.
Optimizer Adamax(const AdamOptions& options = {});
Optimizer Adamax(LearningRate learning_rate);
Optimizer Nadam(const AdamOptions& options = {});
Optimizer Nadam(LearningRate learning_rate);
struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95, epsilon = 1e-7;
  TENON_OPTIMIZER_OPTIONS(0);
};
Optimizer Adadelta(const AdadeltaOptions& options = {});
Optimizer Adadelta(LearningRate learning_rate);
struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5, initial_accumulator_value = 0.1, l1_regularization_strength = 0,
         l2_regularization_strength = 0, l2_shrinkage_regularization_strength = 0, beta = 0;
  TENON_OPTIMIZER_OPTIONS(0);
};
Optimizer Ftrl(const FtrlOptions& options = {});
Optimizer Ftrl(LearningRate learning_rate);
Optimizer Lamb(const AdamOptions& options = {});
Optimizer Lamb(LearningRate learning_rate);
struct LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.99;
  TENON_OPTIMIZER_OPTIONS(0);
};
Optimizer Lion(const LionOptions& options = {});
Optimizer Lion(LearningRate learning_rate);
struct AdafactorOptions {
  LearningRate learning_rate = 0.001;
  double epsilon_1 = 1e-30, epsilon_2 = 1e-3;
  TENON_OPTIMIZER_OPTIONS(0);
};
Optimizer Adafactor(const AdafactorOptions& options = {});
Optimizer Adafactor(LearningRate learning_rate);

// Momentum whose step is made orthogonal (Jordan et al. 2024) by Newton and Schulz's iteration, for variables of rank
// 2; AdamW for all others, for embeddings ("embedding" in the name), and for `exclude_layers`, regular expressions like
// those of weight decay. rms_rate scales the step by rms_rate sqrt(max(rows, columns)) (Liu et al. 2025); without it by
// sqrt(max(1, rows / columns)).
struct MuonOptions {
  LearningRate learning_rate = 0.001;
  double adam_beta_1 = 0.9, adam_beta_2 = 0.999, adam_weight_decay = 0.004, epsilon = 1e-7;
  TENON_OPTIMIZER_OPTIONS(0.004);
  std::vector<std::string> exclude_layers = {};
  bool exclude_embeddings = true;
  double muon_a = 3.4445, muon_b = -4.775, muon_c = 2.0315, adam_lr_ratio = 1, momentum = 0.95;
  int ns_steps = 5;
  bool nesterov = true;
  std::optional<double> rms_rate = 0.2;
};
Optimizer Muon(const MuonOptions& options = {});
Optimizer Muon(LearningRate learning_rate);

// AdamW without a schedule (Defazio et al. 2024): steps are made of z, gradients are taken at y = (1 - beta_1) z +
// beta_1 x, which is what the variables hold while training, and x, the mean of all z weighed by the square of the rate
// they were made with, is what to evaluate and to keep: it is the average that use_ema gives of other optimizers. fit()
// leaves it in the model, SwapEMAWeights evaluates it, assign_averages() and swap_averages() are for loops of one's
// own. The rate grows from 0 in the first warmup_steps. Keras, whose weights are all alike, decays x; on TensorFlow it
// reads z too late.
struct ScheduleFreeAdamWOptions {
  LearningRate learning_rate = 0.0025;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-8;
  int warmup_steps = 0;
  TENON_OPTIMIZER_OPTIONS(0);  // use_ema has to be left alone
};
Optimizer ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options = {});
Optimizer ScheduleFreeAdamW(LearningRate learning_rate);
#undef TENON_OPTIMIZER_OPTIONS

// The optimizer with a loss scale that finds itself, for layers that compute in f16: where a gradient is no finite
// number, the call changes nothing but the scale, which halves; after dynamic_growth_steps good ones it doubles. It is
// the variable dynamic_scale, and good steps are counted in step_counter. With minimize() that is all; who takes
// gradients takes them of scale_loss(loss). Throws Error where the optimizer has a loss_scale_factor.
Optimizer LossScaleOptimizer(Optimizer optimizer, const LossScaleOptions& options = {});

// Says that gradients are the mean over all replicas, each of which has a part of the batch; what TPUEstimator's users
// wrap their optimizer in. On a device of several units minimize() takes that mean with any optimizer, and once.
Optimizer CrossShard(Optimizer optimizer);

// An error, which names some of them and the nearest, unless the regular expression is found in one of these names of
// variables. An optimizer asks for no more than that options' expressions are some: it may see a part of a model.
Status expect_found(const std::string& pattern, const std::vector<std::string>& names);

// Marks a graph that trains: returned by minimize, stored in EstimatorSpec::train_op.
struct TrainOp {
  Graph* graph = nullptr;
  explicit operator bool() const { return graph != nullptr; }
};

// Adds gradients of `loss` plus the graph's added losses by all trainable variables, and applies the optimizer to them.
// A variable that the loss does not depend on stays as it is. Throws Error when the loss depends on no trainable
// variable.
TrainOp minimize(const Optimizer& optimizer, Tensor loss);

}  // namespace tenon

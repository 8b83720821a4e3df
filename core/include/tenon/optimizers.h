// Optimizers and learning-rate schedules with Keras's names, defaults and formulas.
//
//   minimize(Adam({.learning_rate = 1e-3}), loss);
//   minimize(SGD({.learning_rate = ExponentialDecay(0.1, 1000, 0.96), .momentum = 0.9}), loss);
//
// An optimizer is plain data; minimize() adds the gradients and one update op a variable to the graph,
// with the slots as variables named VARIABLE/SLOT in TensorFlow 1's style ("dense/kernel/Adam"): Momentum;
// Adam, Adam_1 (means of g and g^2), Adam_2 (amsgrad); Adagrad; RMSProp (mean of g^2), RMSProp_1 (momentum; with
// centered the mean of g, and RMSProp_2 the momentum); Adadelta, Adadelta_1; Ftrl, Ftrl_1. Momentum holds Keras's
// m = mu m - lr g, where TensorFlow 1 leaves -lr out. The number of updates is the variable global_step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenon/ops.h"
#include "tenon/variables.h"

namespace tenon {

// A learning rate: a number, or a formula of the step (updates done so far), an f32 scalar tensor in
// and out.
class LearningRate {
 public:
  LearningRate(double fixed) : fixed_(fixed) {}  // NOLINT: implicit by design
  explicit LearningRate(std::function<Tensor(Tensor step)> schedule) : schedule_(std::move(schedule)) {}
  bool is_fixed() const { return !schedule_; }
  double fixed() const { return fixed_; }
  Tensor operator()(Tensor step) const { return schedule_(step); }

 private:
  double fixed_ = 0;
  std::function<Tensor(Tensor)> schedule_;
};

LearningRate ExponentialDecay(double initial, double decay_steps, double decay_rate, bool staircase = false);
LearningRate InverseTimeDecay(double initial, double decay_steps, double decay_rate, bool staircase = false);
LearningRate PolynomialDecay(double initial, double decay_steps, double end = 1e-4, double power = 1,
                             bool cycle = false);
LearningRate PiecewiseConstantDecay(std::vector<double> boundaries, std::vector<double> values);
LearningRate CosineDecay(double initial, double decay_steps, double alpha = 0, std::optional<double> warmup_target = {},
                         double warmup_steps = 0);
LearningRate CosineDecayRestarts(double initial, double first_decay_steps, double t_mul = 2, double m_mul = 1,
                                 double alpha = 0);

// What one update op needs beside gradient and learning rate.
struct UpdateRule {
  std::string op;  // "adam_update"
  struct Hyper {
    std::string name;
    double value = 0;
    bool is_flag = false;
  };
  std::vector<Hyper> hyper;
  struct Slot {
    std::string name;  // the checkpoint's suffix: "Adam"
    double initial = 0;
    bool scalar = false;  // rank 0, as Nadam's running product
  };
  std::vector<Slot> slots;
};

struct Optimizer {
  std::string name;
  LearningRate learning_rate = 0.001;
  UpdateRule rule;
  double weight_decay = 0;  // decoupled: w -= lr * weight_decay * w before the update
  // At most one of these; 0: none.
  double clipnorm = 0;         // by variable
  double global_clipnorm = 0;  // over all of them
  double clipvalue = 0;
  bool cross_shard = false;  // gradients are the mean over the replicas
};

struct SGDOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0, clipnorm = 0, global_clipnorm = 0, clipvalue = 0;
};
Optimizer SGD(const SGDOptions& options = {});
Optimizer SGD(LearningRate learning_rate);
struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  double weight_decay = 0, clipnorm = 0, global_clipnorm = 0, clipvalue = 0;
};
Optimizer Adam(const AdamOptions& options = {});
Optimizer Adam(LearningRate learning_rate);
struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
  double weight_decay = 0.004, clipnorm = 0, global_clipnorm = 0, clipvalue = 0;
};
Optimizer AdamW(const AdamWOptions& options = {});
struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator_value = 0.1, epsilon = 1e-7;
  double weight_decay = 0, clipnorm = 0, global_clipnorm = 0, clipvalue = 0;
};
Optimizer Adagrad(const AdagradOptions& options = {});
struct RMSpropOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
  double initial_velocity = 0;  // of the mean square; TensorFlow 1's RMSPropOptimizer: 1, with epsilon 1e-10
  double weight_decay = 0, clipnorm = 0, global_clipnorm = 0, clipvalue = 0;
};
Optimizer RMSprop(const RMSpropOptions& options = {});
Optimizer RMSprop(LearningRate learning_rate);
// amsgrad must be false in Adamax, Nadam and Lamb, which have none.
Optimizer Adamax(const AdamOptions& options = {});
Optimizer Nadam(const AdamOptions& options = {});
struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95, epsilon = 1e-7;
  double weight_decay = 0, clipnorm = 0, global_clipnorm = 0, clipvalue = 0;
};
Optimizer Adadelta(const AdadeltaOptions& options = {});
struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5, initial_accumulator_value = 0.1, l1_regularization_strength = 0,
         l2_regularization_strength = 0, l2_shrinkage_regularization_strength = 0, beta = 0;
  double weight_decay = 0, clipnorm = 0, global_clipnorm = 0, clipvalue = 0;
};
Optimizer Ftrl(const FtrlOptions& options = {});
Optimizer Lamb(const AdamOptions& options = {});
struct LionOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9, beta_2 = 0.99;
  double weight_decay = 0, clipnorm = 0, global_clipnorm = 0, clipvalue = 0;
};
Optimizer Lion(const LionOptions& options = {});
struct AdafactorOptions {
  LearningRate learning_rate = 0.001;
  double epsilon_1 = 1e-30, epsilon_2 = 1e-3;
  double weight_decay = 0, clipnorm = 0, global_clipnorm = 0, clipvalue = 0;
};
Optimizer Adafactor(const AdafactorOptions& options = {});

// Says that gradients are the mean over all replicas, each of which has a part of the batch; what TPUEstimator's users
// wrap their optimizer in. On a device of several units minimize() takes that mean with any optimizer, and once.
Optimizer CrossShard(Optimizer optimizer);

// Marks a graph that trains: returned by minimize, stored in EstimatorSpec::train_op.
struct TrainOp {
  Graph* graph = nullptr;
  explicit operator bool() const { return graph != nullptr; }
};

// Adds gradients of `loss` plus the graph's added losses by all trainable variables, their updates, and
// the increment of global_step. In this order: mean over the replicas, clipping, weight decay, update. A variable
// that the loss does not depend on stays as it is. Throws Error when
// the loss depends on no trainable variable or the graph trains already.
TrainOp minimize(const Optimizer& optimizer, Tensor loss);

}  // namespace tenon

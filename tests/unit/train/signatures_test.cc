// Every default that Keras (and TensorFlow's Estimator) has for something that Tenon has too: tests/golden/signatures.csv.
// Prints the rows and arguments that it has nothing to compare with.
#include <iostream>

#include "unit/train/signatures_testing.h"

namespace tenon {
namespace {

using namespace signatures;

Table losses() {
  const LossOptions o;
  const FocalOptions focal;
  const auto logits = [](Loss::Function loss) {
    return call([=](Tensor x) { loss(x, x, {}); }, [=](Tensor x, double v) { loss(x, x, {.from_logits = v != 0}); });
  };
  const Ours all{{"reduction", text(o.reduction == Reduction::kSumOverBatchSize ? "sum_over_batch_size" : "other")}};
  const Ours smooth = all + Ours{{"label_smoothing", number(o.label_smoothing)}, {"axis", number(-1)}};
  const Ours focused =
      smooth +
      Ours{{"alpha", number(focal.alpha)}, {"gamma", number(focal.gamma)}, {"from_logits", flag(focal.from_logits)}};
  Table t{
      {"CategoricalCrossentropy", smooth + Ours{{"from_logits", logits(categorical_crossentropy)}}},
      {"SparseCategoricalCrossentropy",
       all + Ours{{"from_logits", flag(o.from_logits)}, {"axis", number(-1)}, {"ignore_class", none(!o.ignore_class)}}},
      {"BinaryCrossentropy", smooth + Ours{{"from_logits", logits(binary_crossentropy)}}},
      {"BinaryFocalCrossentropy", focused + Ours{{"apply_class_balancing", flag(focal.apply_class_balancing)}}},
      {"CategoricalFocalCrossentropy", focused},
      {"Huber", all + Ours{{"delta", number(HuberOptions().delta)}}},
      {"CosineSimilarity", all + Ours{{"axis", number(-1)}}},
  };
  for (const char* name :
       {"CategoricalHinge", "Hinge", "KLDivergence", "LogCosh", "MeanAbsoluteError", "MeanAbsolutePercentageError",
        "MeanSquaredError", "MeanSquaredLogarithmicError", "Poisson", "SquaredHinge"})
    t[name] = all;
  return t;
}

Table metrics() {
  const auto thresholds = [](auto metric) { return Ours{{"thresholds", numbered(metric, {2, 8, 8, 4}, 0.5)}}; };
  const auto labels = [](Tensor x) { return cast(reduce_max(x, {-1}), DType::kI32); };
  return {
      {"Accuracy", {}},
      {"CategoricalAccuracy", {}},
      {"SparseCategoricalAccuracy", {}},
      {"Mean", {}},
      {"MeanAbsoluteError", {}},
      {"MeanSquaredError", {}},
      {"CosineSimilarity", {{"axis", number(-1)}}},
      {"BinaryAccuracy", {{"threshold", numbered([](Tensor x, auto... v) { binary_accuracy(x, x, v...); })}}},
      {"Precision", thresholds([](Tensor x, auto... v) { precision(x, x, v...); })},
      {"Recall", thresholds([](Tensor x, auto... v) { recall(x, x, v...); })},
      {"SparseTopKCategoricalAccuracy", {{"k", numbered([=](Tensor x, auto... k) {
                                            sparse_top_k_categorical_accuracy(labels(x), x, static_cast<int64_t>(k)...);
                                          })}}},
      {"TopKCategoricalAccuracy",
       {{"k", numbered([](Tensor x, auto... k) { top_k_categorical_accuracy(x, x, static_cast<int64_t>(k)...); })}}},
  };
}

template <class Options>
Ours common(const Options& o) {
  const auto or_none = [](double v) { return v == 0 ? text("None") : number(v); };
  return {{"learning_rate", number(o.learning_rate.fixed())},
          {"weight_decay", or_none(o.weight_decay)},
          {"clipnorm", or_none(o.clipnorm)},
          {"clipvalue", or_none(o.clipvalue)},
          {"global_clipnorm", or_none(o.global_clipnorm)},
          {"use_ema", flag(o.use_ema)},
          {"ema_momentum", number(o.ema_momentum)},
          {"ema_overwrite_frequency", or_none(o.ema_overwrite_frequency)},
          {"loss_scale_factor", or_none(o.loss_scale_factor)},
          {"gradient_accumulation_steps", or_none(o.gradient_accumulation_steps)}};
}
template <class Options>
Ours moments(const Options& o) {
  return common(o) + Ours{{"beta_1", number(o.beta_1)}, {"beta_2", number(o.beta_2)}, {"epsilon", number(o.epsilon)}};
}

Ours muon() {
  const MuonOptions o;
  return common(o) + Ours{{"adam_beta_1", number(o.adam_beta_1)},
                          {"adam_beta_2", number(o.adam_beta_2)},
                          {"adam_weight_decay", number(o.adam_weight_decay)},
                          {"epsilon", number(o.epsilon)},
                          {"exclude_layers", none(o.exclude_layers.empty())},
                          {"exclude_embeddings", flag(o.exclude_embeddings)},
                          {"muon_a", number(o.muon_a)},
                          {"muon_b", number(o.muon_b)},
                          {"muon_c", number(o.muon_c)},
                          {"adam_lr_ratio", number(o.adam_lr_ratio)},
                          {"momentum", number(o.momentum)},
                          {"ns_steps", number(o.ns_steps)},
                          {"nesterov", flag(o.nesterov)},
                          {"rms_rate", number(o.rms_rate.value_or(0))}};
}

Table optimizers() {
  const SGDOptions sgd;
  const AdamOptions adam;
  const AdamWOptions adamw;
  const AdagradOptions adagrad;
  const RMSpropOptions rms;
  const AdadeltaOptions delta;
  const FtrlOptions ftrl;
  const LionOptions lion;
  const AdafactorOptions factor;
  const LossScaleOptions scale;
  const Ours three = moments(adam);
  return {
      {"SGD", common(sgd) + Ours{{"momentum", number(sgd.momentum)}, {"nesterov", flag(sgd.nesterov)}}},
      {"Adam", three + Ours{{"amsgrad", flag(adam.amsgrad)}}},
      {"Adamax", three},
      {"Nadam", three},
      {"Lamb", three},
      {"AdamW", moments(adamw) + Ours{{"amsgrad", flag(adamw.amsgrad)}}},
      {"Adagrad", common(adagrad) + Ours{{"initial_accumulator_value", number(adagrad.initial_accumulator_value)},
                                         {"epsilon", number(adagrad.epsilon)}}},
      {"RMSprop", common(rms) + Ours{{"rho", number(rms.rho)},
                                     {"momentum", number(rms.momentum)},
                                     {"epsilon", number(rms.epsilon)},
                                     {"centered", flag(rms.centered)}}},
      {"Adadelta", common(delta) + Ours{{"rho", number(delta.rho)}, {"epsilon", number(delta.epsilon)}}},
      {"Ftrl",
       common(ftrl) + Ours{{"learning_rate_power", number(ftrl.learning_rate_power)},
                           {"initial_accumulator_value", number(ftrl.initial_accumulator_value)},
                           {"l1_regularization_strength", number(ftrl.l1_regularization_strength)},
                           {"l2_regularization_strength", number(ftrl.l2_regularization_strength)},
                           {"l2_shrinkage_regularization_strength", number(ftrl.l2_shrinkage_regularization_strength)},
                           {"beta", number(ftrl.beta)}}},
      {"Muon", muon()},
      {"LossScaleOptimizer",
       {{"initial_scale", number(scale.initial_scale)}, {"dynamic_growth_steps", number(scale.dynamic_growth_steps)}}},
      {"Lion", common(lion) + Ours{{"beta_1", number(lion.beta_1)}, {"beta_2", number(lion.beta_2)}}},
      {"Adafactor",
       common(factor) + Ours{{"epsilon_1", number(factor.epsilon_1)}, {"epsilon_2", number(factor.epsilon_2)}}},
  };
}

Table schedules() {
  const auto of = [](auto make) { return numbered([=](Tensor step, auto... v) { make(v...)(step); }, {}); };
  return {
      {"ExponentialDecay", {{"staircase", of([](auto... v) { return ExponentialDecay(0.1, 10, 0.5, (v != 0)...); })}}},
      {"InverseTimeDecay", {{"staircase", of([](auto... v) { return InverseTimeDecay(0.1, 10, 0.5, (v != 0)...); })}}},
      {"PiecewiseConstantDecay", {}},
      {"PolynomialDecay",
       {{"end_learning_rate", of([](auto... v) { return PolynomialDecay(0.1, 10, v...); })},
        {"power", of([](auto... v) { return PolynomialDecay(0.1, 10, 1e-4, v...); })},
        {"cycle", of([](auto... v) { return PolynomialDecay(0.1, 10, 1e-4, 1, (v != 0)...); })}}},
      {"CosineDecay",
       {{"alpha", of([](auto... v) { return CosineDecay(0.1, 10, v...); })},
        {"warmup_target", none(true)},
        {"warmup_steps", of([](auto... v) { return CosineDecay(0.1, 10, 0, std::nullopt, v...); })}}},
      {"CosineDecayRestarts",
       {{"t_mul", of([](auto... v) { return CosineDecayRestarts(0.1, 10, v...); })},
        {"m_mul", of([](auto... v) { return CosineDecayRestarts(0.1, 10, 2, v...); })},
        {"alpha", of([](auto... v) { return CosineDecayRestarts(0.1, 10, 2, 1, v...); })}}},
  };
}

Table initializers() {
  const auto numbers = [](const Initializer& i, const char* a, const char* b) {
    return Ours{{a, number(i.a)}, {b, number(i.b)}};
  };
  Table t{{"Orthogonal", {{"gain", number(orthogonal().a)}}},
          {"RandomNormal", numbers(random_normal(), "mean", "stddev")},
          {"TruncatedNormal", numbers(truncated_normal(), "mean", "stddev")},
          {"RandomUniform", numbers(random_uniform(), "minval", "maxval")}};
  for (const char* name : {"Constant", "Zeros", "Ones", "VarianceScaling", "GlorotNormal", "GlorotUniform", "HeNormal",
                           "HeUniform", "LecunNormal", "LecunUniform"})
    t[name];
  return t;
}

Table activations() {
  const ReluOptions re;
  Table t{
      {"relu",
       {{"negative_slope", number(re.negative_slope)},
        {"max_value", none(!re.max_value)},
        {"threshold", number(re.threshold)}}},
      {"leaky_relu", {{"negative_slope", numbered([](Tensor x, auto... v) { leaky_relu(x, v...); })}}},
      {"elu", {{"alpha", numbered([](Tensor x, auto... v) { elu(x, v...); })}}},
      {"gelu",
       {{"approximate",
         call([](Tensor x) { activate(x, "gelu"); }, [](Tensor x, double v) { (v != 0 ? gelu_tanh : gelu)(x); })}}},
      {"softmax", {{"axis", numbered([](Tensor x, auto... v) { softmax(x, static_cast<int64_t>(v)...); })}}},
      {"log_softmax", {{"axis", numbered([](Tensor x, auto... v) { log_softmax(x, static_cast<int64_t>(v)...); })}}}};
  for (const char* name : {"linear", "relu6", "selu", "sigmoid", "tanh", "softplus", "silu", "swish", "mish",
                           "hard_sigmoid", "hard_silu", "hard_swish"}) {
    EXPECT_NO_THROW(activation_from_name(name)) << name;
    t[name];
  }
  return t;
}

Table estimator() {
  const RunConfig run;
  const Ours limits{{"steps", none(true)}, {"max_steps", none(true)}};
  return {{"RunConfig",
           {{"model_dir", none(run.model_dir.empty())},
            {"tf_random_seed", deviates("0: the same bits each time")},
            {"keep_checkpoint_max", number(run.keep_checkpoint_max)},
            {"log_step_count_steps", number(static_cast<double>(run.log_step_count_steps))},
            {"save_summary_steps", number(static_cast<double>(run.save_summary_steps))},
            {"keep_checkpoint_every_n_hours", number(run.keep_checkpoint_every_n_hours)},
            // Neither given: every 600 seconds.
            {"save_checkpoints_steps", text(run.save_checkpoints_steps == 0 ? "UNSET" : "set")},
            {"save_checkpoints_secs", text(run.save_checkpoints_secs ? "other" : "UNSET")}}},
          {"TrainSpec", {{"max_steps", none(true)}}},
          {"EvalSpec", {{"steps", deviates("all of the input")}}},
          {"train", limits},
          {"evaluate", {{"steps", none(true)}, {"checkpoint_path", none(true)}}},
          {"predict", {{"checkpoint_path", none(true)}}},
          {"Estimator", {{"model_dir", none(run.model_dir.empty())}}},
          {"EstimatorSpec",
           {{"loss", none(!EstimatorSpec().loss)},
            {"train_op", none(!EstimatorSpec().train_op)},
            {"predictions", none(EstimatorSpec().predictions.empty())},
            {"eval_metric_ops", none(EstimatorSpec().eval_metrics.empty())}}}};
}

TEST(Signatures, DefaultsAreThoseOfKeras) {
  std::map<std::string, Table> ours{
      {"layers", layers()},
      {"losses", losses()},
      {"metrics", metrics()},
      {"optimizers", optimizers()},
      {"optimizers.schedules", schedules()},
      {"initializers", initializers()},
      {"activations", activations()},
      {"regularizers", {{"L1L2", {{"l1", number(Regularizer().l1)}, {"l2", number(Regularizer().l2)}}}}},
      {"estimator 2.15", estimator()}};
  std::string rows_left, deliberate;
  std::map<std::string, int> arguments_left;
  int rows = 0, compared = 0;
  for (const golden::Row& row : golden::rows("signatures.csv")) {
    const std::string name = row.at("module") + "." + row.at("name");
    SCOPED_TRACE(name);
    Table& table = ours[row.at("module")];
    const auto it = table.find(row.at("name"));
    if (it == table.end()) {
      rows_left += " " + name;
      continue;
    }
    ++rows;
    for (const auto& [argument, value] : defaults(row.count("arguments") ? row.at("arguments") : "")) {
      const auto own = it->second.find(argument);
      if (own == it->second.end()) {
        ++arguments_left[argument];
        continue;
      }
      ++compared;
      EXPECT_TRUE(own->second.agrees(value)) << argument << " is " << value << ", ours " << own->second.ours;
      if (own->second.deliberate)
        deliberate += "\n  " + name + " " + argument + " is " + value + ", ours " + own->second.ours;
      it->second.erase(own);
    }
    EXPECT_TRUE(it->second.empty()) << "the file has no argument "
                                    << (it->second.empty() ? "" : it->second.begin()->first);
    table.erase(it);
  }
  for (const auto& [module, left] : ours)
    EXPECT_TRUE(left.empty()) << "the file has no row " << module << "." << (left.empty() ? "" : left.begin()->first);
  EXPECT_EQ(rows, 142);
  EXPECT_EQ(compared, 480);
  std::cout << compared << " defaults of " << rows << " rows are compared. Different on purpose:" << deliberate
            << "\nRows that are not compared:" << rows_left
            << "\nArguments that are not compared, in so many rows:";
  for (const auto& [argument, count] : arguments_left) std::cout << " " << argument << " " << count;
  std::cout << "\n";
}

}  // namespace
}  // namespace tenon

// Every row of tests/golden/signatures.csv: the name, the arguments' names and defaults that Keras, or TensorFlow's Estimator,
// has for it are Tenon's too, or signatures_absent.cc says why not.
#include <iostream>
#include <set>

#include "unit/train/signatures/signatures_testing.h"

namespace tenon {
namespace {

using namespace signatures;

template <class Options>
Ours common(const Options& o) {
  return {TENON_FIELD(o, learning_rate),       TENON_OR_NONE(o, weight_decay),
          TENON_OR_NONE(o, clipnorm),          TENON_OR_NONE(o, clipvalue),
          TENON_OR_NONE(o, global_clipnorm),   TENON_FIELD(o, use_ema),
          TENON_FIELD(o, ema_momentum),        TENON_OR_NONE(o, ema_overwrite_frequency),
          TENON_OR_NONE(o, loss_scale_factor), TENON_OR_NONE(o, gradient_accumulation_steps)};
}
template <class Options>
Ours moments(const Options& o) {
  return common(o) + Ours{TENON_FIELD(o, beta_1), TENON_FIELD(o, beta_2), TENON_FIELD(o, epsilon)};
}

Ours muon() {
  const MuonOptions o;
  return common(o) +
         Ours{TENON_FIELD(o, adam_beta_1),   TENON_FIELD(o, adam_beta_2),    TENON_FIELD(o, adam_weight_decay),
              TENON_FIELD(o, epsilon),       TENON_FIELD(o, exclude_layers), TENON_FIELD(o, exclude_embeddings),
              TENON_FIELD(o, muon_a),        TENON_FIELD(o, muon_b),         TENON_FIELD(o, muon_c),
              TENON_FIELD(o, adam_lr_ratio), TENON_FIELD(o, momentum),       TENON_FIELD(o, ns_steps),
              TENON_FIELD(o, nesterov),      TENON_FIELD(o, rms_rate)};
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
  const ScheduleFreeAdamWOptions free;
  const Ours three = moments(adam);
  return {
      {"SGD", common(sgd) + Ours{TENON_FIELD(sgd, momentum), TENON_FIELD(sgd, nesterov)}},
      {"Adam", three + Ours{TENON_FIELD(adam, amsgrad)}},
      {"Adamax", three},
      {"Nadam", three},
      {"Lamb", three},
      {"AdamW", moments(adamw) + Ours{TENON_FIELD(adamw, amsgrad)}},
      {"Adagrad",
       common(adagrad) + Ours{TENON_FIELD(adagrad, initial_accumulator_value), TENON_FIELD(adagrad, epsilon)}},
      {"RMSprop", common(rms) + Ours{TENON_FIELD(rms, rho), TENON_FIELD(rms, momentum), TENON_FIELD(rms, epsilon),
                                     TENON_FIELD(rms, centered)}},
      {"Adadelta", common(delta) + Ours{TENON_FIELD(delta, rho), TENON_FIELD(delta, epsilon)}},
      {"Ftrl",
       common(ftrl) + Ours{TENON_FIELD(ftrl, learning_rate_power), TENON_FIELD(ftrl, initial_accumulator_value),
                           TENON_FIELD(ftrl, l1_regularization_strength), TENON_FIELD(ftrl, l2_regularization_strength),
                           TENON_FIELD(ftrl, l2_shrinkage_regularization_strength), TENON_FIELD(ftrl, beta)}},
      {"ScheduleFreeAdamW", moments(free) + Ours{TENON_FIELD(free, warmup_steps)}},
      {"Muon", muon()},
      {"LossScaleOptimizer", {TENON_FIELD(scale, initial_scale), TENON_FIELD(scale, dynamic_growth_steps)}},
      {"Lion", common(lion) + Ours{TENON_FIELD(lion, beta_1), TENON_FIELD(lion, beta_2)}},
      {"Adafactor", common(factor) + Ours{TENON_FIELD(factor, epsilon_1), TENON_FIELD(factor, epsilon_2)}},
  };
}

Table regularizers() {
  const auto same = [](const Regularizer& a, const Regularizer& b) { return a.l1 == b.l1 && a.l2 == b.l2; };
  const Default l1{"what L1() is", [=](const std::string& golden) { return same(L1(), L1(std::stod(golden))); }};
  const Default l2{"what L2() is", [=](const std::string& golden) { return same(L2(), L2(std::stod(golden))); }};
  const auto angles = [](Tensor x, auto... v) { add_loss(OrthogonalRegularizer(v...).own(reshape(x, {8, 8}))); };
  return {{"L1", {{"l1", l1}}},
          {"L2", {{"l2", l2}}},
          {"L1L2", {{"l1", number(L1L2().l1)}, {"l2", number(L1L2().l2)}}},
          {"OrthogonalRegularizer",
           {{"factor", numbered(angles, {8, 8})},
            {"mode", {"what the call does", [=](const std::string& golden) {
                        return same_nodes(graph_of([=](Tensor x) { angles(x); }, {8, 8}),
                                          graph_of([=](Tensor x) { angles(x, 0.01, golden); }, {8, 8}));
                      }}}}}};
}

Table constraints() {
  const MaxNormOptions most;
  const MinMaxNormOptions range;
  return {{"MaxNorm", {TENON_FIELD(most, max_value), TENON_FIELD(most, axis)}},
          {"UnitNorm", {TENON_FIELD(UnitNormOptions(), axis)}},
          {"NonNeg", {}},
          {"MinMaxNorm",
           {TENON_FIELD(range, min_value), TENON_FIELD(range, max_value), TENON_FIELD(range, rate),
            TENON_FIELD(range, axis)}}};
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
        {"warmup_target",
         {"what the call does",
          [](const std::string& golden) {
            const auto without = [](Tensor step) { CosineDecay(0.1, 10, 0)(step); };
            const auto with = [](Tensor step) { CosineDecay(0.1, 10, 0, std::nullopt)(step); };
            return golden == "None" && same_nodes(graph_of(without, {}), graph_of(with, {}));
          }}},
        {"warmup_steps", of([](auto... v) { return CosineDecay(0.1, 10, 0, std::nullopt, v...); })}}},
      {"CosineDecayRestarts",
       {{"t_mul", of([](auto... v) { return CosineDecayRestarts(0.1, 10, v...); })},
        {"m_mul", of([](auto... v) { return CosineDecayRestarts(0.1, 10, 2, v...); })},
        {"alpha", of([](auto... v) { return CosineDecayRestarts(0.1, 10, 2, 1, v...); })}}},
  };
}

std::map<std::string, Table> all_defaults() {
  Table all_layers = layers();
  all_layers.merge(image_layers());
  return {{"layers", all_layers},
          {"losses", losses()},
          {"metrics", metrics()},
          {"optimizers", optimizers()},
          {"optimizers.schedules", schedules()},
          {"callbacks", callbacks()},
          {"initializers", initializers()},
          {"regularizers", regularizers()},
          {"constraints", constraints()},
          {"activations", activations()},
          {"Model", model()},
          {"estimator 2.15", estimator()}};
}

// Rows and arguments of the file, what became of them.
class Comparison {
 public:
  void compare(const golden::Row& row) {
    ++tried_;
    const std::string name = row.at("module") + "." + row.at("name");
    SCOPED_TRACE(name);
    Table& table = ours_[row.at("module")];
    const auto it = table.find(row.at("name"));
    const auto why = absent_rows().find(name);
    EXPECT_NE(it == table.end(), why == absent_rows().end()) << "a row is compared, or there is a reason why not";
    if (it == table.end()) {
      if (why != absent_rows().end()) absent_ += "\n  " + name + ": " + why->second;
      reasons_.erase(name);
      return;
    }
    const bool method = row.at("module") == "Model" || kMethods.contains(row.at("name"));
    EXPECT_TRUE(method || names().contains(name)) << "signatures_names.cc does not have it";
    for (const auto& [argument, value] : arguments_of(row)) compare(name, argument, value, it->second);
    EXPECT_TRUE(it->second.empty()) << "the file has no argument "
                                    << (it->second.empty() ? "" : it->second.begin()->first);
    table.erase(it);
    ++rows_;
  }

  void report() const {
    for (const auto& [module, left] : ours_)
      EXPECT_TRUE(left.empty()) << "the file has no row " << module << "." << (left.empty() ? "" : left.begin()->first);
    for (const auto& [what, why] : reasons_) ADD_FAILURE() << "nothing is left out as '" << what << "'";
    EXPECT_EQ(tried_, 302);
    EXPECT_EQ(rows_, 275);
    EXPECT_EQ(compared_, 795);
    std::cout << tried_ << " rows tried: " << rows_ << " are there, " << compared_ << " defaults right and " << given_
              << " arguments without one.\nDifferent on purpose:" << deliberate_ << "\nOf another name:" << other_names_
              << "\nRows that are not there:" << absent_ << "\n";
  }

 private:
  static golden::Arguments arguments_of(const golden::Row& row) {
    return defaults(row.contains("arguments") ? row.at("arguments") : "");
  }

  void compare(const std::string& row, const std::string& argument, const std::string& value, Ours& ours) {
    const auto own = ours.find(argument);
    if (own == ours.end()) {
      // What has no default is given by position here.
      const bool explained = absent_arguments().contains(argument) || absent_arguments().contains(row + "." + argument);
      EXPECT_TRUE(explained || value == kNeeded) << argument << " is " << value << ", and nothing here";
      reasons_.erase(absent_arguments().contains(row + "." + argument) ? row + "." + argument : argument);
      given_ += value == kNeeded;
      return;
    }
    const Default& d = own->second;
    EXPECT_TRUE(d.agrees(value)) << argument << " is " << value << ", ours " << d.ours;
    if (d.deliberate) deliberate_ += "\n  " + row + " " + argument + " is " + value + ", ours " + d.ours;
    if (!d.named.empty()) other_names_ += "\n  " + row + " " + argument + ": " + d.named;
    ++(value == kNeeded ? given_ : compared_);
    ours.erase(own);
  }

  inline static const std::set<std::string> kMethods{"train", "evaluate", "predict"};
  std::map<std::string, Table> ours_ = all_defaults();
  Reasons reasons_ = [] {
    Reasons all = absent_rows();
    all.insert(absent_arguments().begin(), absent_arguments().end());
    return all;
  }();
  int tried_ = 0, rows_ = 0, compared_ = 0, given_ = 0;
  std::string deliberate_, other_names_, absent_;
};

TEST(Signatures, NamesAndDefaultsAreThoseOfKerasAndTheEstimator) {
  Comparison comparison;
  for (const golden::Row& row : golden::rows("signatures.csv")) comparison.compare(row);
  comparison.report();
}

}  // namespace
}  // namespace tenon

// Numbers that nobody means, in all that compile, fit, evaluate, predict and summary are given.
#include "tenon/layer_classes.h"
#include "unit/train/option_numbers.h"

namespace tenon {
namespace {

class FitNumbers : public testing::Test {
 protected:
  FitNumbers() { compile({}); }
  void compile(CompileOptions options) {
    options.optimizer = SGD(0.0);
    options.loss = "mse";
    options.strategy = strategy_;
    model_.compile(options);
  }
  void fit(FitOptions o) {
    o.verbose = Verbose::kSilent;
    model_.fit(x_, y_, o);
  }
  Strategy strategy_{"cpu"};
  Sequential model_{Dense(1)};
  Array x_ = Array(std::vector<float>(8), {4, 2}), y_ = Array(std::vector<float>(4), {4, 1});
};

TEST_F(FitNumbers, AreRefusedByName) {
  const FitOptions fitting;
  TENON_EXPECT_REFUSED(fitting, batch_size, "negative zero", fit(o));
  TENON_EXPECT_REFUSED(fitting, epochs, "negative", o.epochs > 100 ? void() : fit(o));
  TENON_EXPECT_REFUSED(fitting, validation_split, "negative huge infinite nan", fit(o));
  TENON_EXPECT_REFUSED(fitting, initial_epoch, "negative", fit(o));
  TENON_EXPECT_REFUSED(fitting, steps_per_epoch, "negative", o.steps_per_epoch > 100 ? void() : fit(o));
  TENON_EXPECT_REFUSED(fitting, validation_steps, "negative", fit(o));
  TENON_EXPECT_REFUSED(fitting, validation_batch_size, "negative", fit(o));
  const EvaluateOptions evaluating{.verbose = Verbose::kSilent};
  TENON_EXPECT_REFUSED(evaluating, batch_size, "negative zero", (void)model_.evaluate(x_, y_, o));
  TENON_EXPECT_REFUSED(evaluating, steps, "negative", (void)model_.evaluate(x_, y_, o));
  const PredictOptions predicting;
  TENON_EXPECT_REFUSED(predicting, batch_size, "negative zero", (void)model_.predict(x_, o));
  TENON_EXPECT_REFUSED(predicting, steps, "negative", (void)model_.predict(x_, o));
  const CompileOptions compiling;
  TENON_EXPECT_REFUSED(compiling, steps_per_execution, "negative zero huge", (compile(o), fit({})));
  const SummaryOptions summary;
  TENON_EXPECT_REFUSED(summary, line_length, "negative", o.line_length > 200 ? void() : (void)model_.summary_text(o));
}

}  // namespace
}  // namespace tenon

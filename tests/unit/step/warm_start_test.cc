// Variables that begin with what a checkpoint has for them, and the report of it.
#include <gtest/gtest.h>

#include <cstring>

#include "checkpoint/tensor_file.h"
#include "step/function_impl.h"
#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"
#include "unit/data/temporary_directory.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using Among = VarsToWarmStart::Among;

const Arrays kPoint = {{"x", Array({1.0f, 2.0f}, {2, 1})}};

// Two layers, a moving mean, an optimizer.
TensorFunction two_layers(const Optimizer& optimizer, int64_t units = 1, const char* first = "first") {
  return [=](const Features& in) {
    Tensor y = dense(in["x"], {.units = 2, .name = first});
    y = dense(batch_normalization(y, {.name = "norm"}), {.units = units, .name = "second"});
    const Tensor loss = reduce_mean(y * y);
    minimize(optimizer, loss);
    return Outputs{{"loss", loss}};
  };
}

void run(const Strategy& strategy, const TensorFunction& function) {
  strategy.function(function, {.mode = Mode::kTrain})(kPoint);
}

class WarmStarts : public ::testing::TestWithParam<const char*> {
 protected:
  WarmStarts() {
    run(source_, two_layers(Adam(0.1)));
    source_.save(path());
  }
  std::string path() const { return directory_ / GetParam(); }
  std::vector<float> saved(const char* name) const { return source_.read<float>(name); }

  TemporaryDirectory directory_;
  Strategy source_{"cpu", {.seed = 3}};
  Strategy strategy_{"cpu"};
};
INSTANTIATE_TEST_SUITE_P(Formats, WarmStarts, ::testing::Values("state", "state.safetensors"));

// Loaded before a step, which the loss of a function without an optimizer shows.
TEST_P(WarmStarts, WhatIsTrainedBeginsWithTheFilesValuesAndTheRestAnew) {
  strategy_.warm_start({.ckpt_to_initialize_from = path()});
  run(strategy_, two_layers(SGD({.learning_rate = 0, .momentum = 0.9})));
  for (const char* name : {"first/kernel", "first/bias", "second/kernel", "norm/gamma"})
    EXPECT_EQ(strategy_.read<float>(name), saved(name)) << name;
  const WarmStartReport report = strategy_.warm_started();
  EXPECT_EQ(report.checkpoint, path());
  EXPECT_EQ(report.loaded.size(), 6u);
  EXPECT_EQ(report.fresh, (Names{"first/bias/Momentum", "first/kernel/Momentum", "global_step", "norm/beta/Momentum",
                                 "norm/gamma/Momentum", "norm/moving_mean", "norm/moving_variance",
                                 "second/bias/Momentum", "second/kernel/Momentum"}));
  EXPECT_EQ(report.left_over.size(), 12u + 3u);  // Adam's slots; global_step and moving averages
  EXPECT_EQ(strategy_.read("global_step").item(), 1);
}

TEST_P(WarmStarts, AListMeansAllVariables) {
  strategy_.warm_start({.ckpt_to_initialize_from = path(), .vars_to_warm_start = {".*"}});
  run(strategy_, two_layers(Adam(0.1)));
  EXPECT_EQ(strategy_.warm_started().fresh, Names{});
  EXPECT_EQ(strategy_.warm_started().left_over, Names{});
  EXPECT_EQ(strategy_.read("global_step").item(), 2);
}

TEST_P(WarmStarts, WeightsMayBeAskedForWithTheirMovingAverages) {
  strategy_.warm_start({.ckpt_to_initialize_from = path(), .vars_to_warm_start = {{".*"}, Among::kWeights}});
  run(strategy_, two_layers(SGD(0.0)));
  EXPECT_EQ(strategy_.warm_started().loaded.size(), 8u);
  EXPECT_EQ(strategy_.warm_started().fresh, Names{"global_step"});
}

TEST_P(WarmStarts, ExpressionsMatchTheBeginningsOfNames) {
  strategy_.warm_start({.ckpt_to_initialize_from = path(), .vars_to_warm_start = "econd|fir"});
  run(strategy_, two_layers(SGD(0.0)));
  const auto loaded = strategy_.warm_started().loaded;
  EXPECT_EQ(loaded,
            (std::map<std::string, std::string>{{"first/bias", "first/bias"}, {"first/kernel", "first/kernel"}}));
}

TEST_P(WarmStarts, VariablesThatAreThereTakeTheValuesToo) {
  run(strategy_, two_layers(Adam(0.1)));
  const std::vector<float> before = strategy_.read<float>("second/kernel");
  const WarmStartReport report =
      strategy_.warm_start({.ckpt_to_initialize_from = path(), .vars_to_warm_start = "first"});
  EXPECT_EQ(report.loaded.size(), 2u);
  EXPECT_EQ(strategy_.read<float>("first/kernel"), saved("first/kernel"));
  EXPECT_EQ(strategy_.read<float>("second/kernel"), before);
}

TEST_P(WarmStarts, NamesAreFoundUnderThoseTheyHadBefore) {
  strategy_.warm_start({.ckpt_to_initialize_from = path(),
                        .var_name_to_prev_var_name = {{"encoder/", "first/"}, {"encoder/bias", "second/bias"}},
                        .skip_mismatch = true});
  run(strategy_, two_layers(SGD(0.0), 1, "encoder"));
  EXPECT_EQ(strategy_.read<float>("encoder/kernel"), saved("first/kernel"));
  EXPECT_EQ(strategy_.warm_started().mismatched, Names{"encoder/bias"});
}

TEST_P(WarmStarts, AnotherShapeIsAnErrorThatChangesNothingUnlessItIsSkipped) {
  const WarmStartSettings settings{.ckpt_to_initialize_from = path()};
  strategy_.warm_start(settings);
  EXPECT_EQ(message_of([&] { run(strategy_, two_layers(SGD(0.0), 3)); }),
            "'" + path() +
                "': its 'second/kernel' is f32[2,1], variable 'second/kernel' is f32[2,3]; skip_mismatch lets it begin "
                "anew");
  EXPECT_TRUE(strategy_.variables().empty());
  strategy_.warm_start({.ckpt_to_initialize_from = path(), .skip_mismatch = true});
  run(strategy_, two_layers(SGD(0.0), 3));
  EXPECT_EQ(strategy_.warm_started().mismatched, (Names{"second/bias", "second/kernel"}));
  const std::string text = strategy_.warm_started().text(), named = "second/bias";
  EXPECT_NE(
      text.find(
          "; 2 begin anew, of another shape in it: 'second/bias' [1], here [3], 'second/kernel' [2,1], here [2,3]"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find(named), text.rfind(named)) << text;
}

TEST_P(WarmStarts, TheReportIsOneLine) {
  strategy_.warm_start(
      {.ckpt_to_initialize_from = path(), .vars_to_warm_start = {"first", "second/.*", "global_step"}});
  run(strategy_, two_layers(SGD(0.0)));
  EXPECT_EQ(strategy_.warm_started().text(),
            "warm start from " + path() +
                ": 5 variables; 4 begin anew: 'norm/beta', 'norm/gamma', 'norm/moving_mean', 'norm/moving_variance'; "
                "4 left over: 'norm/beta', 'norm/gamma', 'norm/moving_mean', 'norm/moving_variance'; "
                "12 of its optimizer left over");
}

TEST_P(WarmStarts, ExpressionsAndRenamesThatNoVariableMatchesAreTold) {
  const WarmStartReport before =
      strategy_.warm_start({.ckpt_to_initialize_from = path(),
                            .vars_to_warm_start = {{"first", "secnd", "norm/moving_mean"}, Among::kTrainable},
                            .var_name_to_prev_var_name = {{"encoder/", "first/"}, {"first/bias", "first/bias"}}});
  EXPECT_EQ(before.unmatched, Names{});  // functions may still come
  run(strategy_, two_layers(SGD(0.0)));
  const WarmStartReport report = strategy_.warm_started();
  EXPECT_EQ(report.loaded.size(), 2u);
  EXPECT_EQ(report.unmatched, (Names{"secnd", "norm/moving_mean", "encoder/"}));  // a moving mean is not trained
  EXPECT_TRUE(report.text().ends_with("; no variable matches 'secnd', 'norm/moving_mean', 'encoder/'"))
      << report.text();
  EXPECT_EQ(
      strategy_.warm_start({.ckpt_to_initialize_from = path(), .vars_to_warm_start = {"first", "norm/moving_mean"}})
          .unmatched,
      Names{});
}

TEST_P(WarmStarts, WhatCannotBeMeantIsRefused) {
  const auto why = [&](WarmStartSettings s) {
    if (s.ckpt_to_initialize_from.empty()) s.ckpt_to_initialize_from = path();
    return message_of([&] { strategy_.warm_start(s); });
  };
  EXPECT_TRUE(why({.vars_to_warm_start = "(a"}).starts_with("vars_to_warm_start: '(a' is no regular expression: "));
  EXPECT_EQ(
      why({.vars_to_warm_start = std::string(20000, '(')}),
      "vars_to_warm_start: '" + std::string(80, '(') +
          ".. (20000 bytes)' is too long a regular expression: expected at most 4000 characters, times the counts of "
          "its {..}, found 20000");
  EXPECT_EQ(why({.var_name_to_prev_var_name = {{"a/b", "first/weight"}}}),
            "var_name_to_prev_var_name: '" + path() + "' has no 'first/weight'");
  EXPECT_EQ(why({.var_name_to_prev_var_name = {{"a/", "encoder/"}}}),
            "var_name_to_prev_var_name: '" + path() + "' has no names under 'encoder/'");
  EXPECT_EQ(why({.var_name_to_prev_var_name = {{"a/", "first/bias"}}}),
            "var_name_to_prev_var_name: 'a/' and 'first/bias': expected two names, or two prefixes that end with '/'");
  EXPECT_EQ(message_of([&] { strategy_.warm_start({}); }), "warm start: ckpt_to_initialize_from is empty");
  EXPECT_NE(why({.ckpt_to_initialize_from = directory_ / "none"}).find("none"), std::string::npos);
}

// The device may be closed and opened again between two calls.
TEST(WarmStartAndKeep, VariablesThatWereKeptAreStillSlotsAndCounters) {
  TemporaryDirectory directory;
  Strategy source("cpu", {.seed = 3}), strategy("cpu");
  const TensorFunction training = two_layers(Adam(0.1));
  for (int i = 0; i < 2; ++i) run(source, training);
  source.save(directory / "a");
  run(strategy, two_layers(Adam(0.1)));
  const Strategy::Impl& inside = strategy.impl();
  VariableStore again(inside.device, const_cast<Queue&>(inside.queue), 0);
  check(again.put(inside.variables->keep().take()));
  check(again.warm_start(WarmStart::open({.ckpt_to_initialize_from = directory / "a"}).take()));
  const WarmStartReport report = again.warm_started()->report();
  EXPECT_EQ(report.loaded.size(), 6u);  // kernels, biases, gamma, beta
  EXPECT_TRUE(report.loaded.contains("first/kernel"));
  for (const char* name : {"first/kernel/Adam", "norm/moving_mean", "global_step"}) {
    EXPECT_FALSE(report.loaded.contains(name)) << name;
    EXPECT_EQ(again.read(name)->to<float>(), strategy.read(name).to<float>()) << name;
    EXPECT_NE(again.read(name)->to<float>(), source.read(name).to<float>()) << name;
  }
}

TEST(WarmStartAndLoad, LoadTakesItsPlace) {
  TemporaryDirectory directory;
  Strategy source("cpu", {.seed = 3}), strategy("cpu");
  run(source, two_layers(SGD(0.0)));
  source.save(directory / "a");
  strategy.warm_start({.ckpt_to_initialize_from = directory / "a"});
  strategy.load(directory / "a");
  run(strategy, two_layers(SGD(0.0)));
  EXPECT_EQ(strategy.warm_started().checkpoint, "");
  EXPECT_EQ(strategy.read("global_step").item(), 2);
}

// y = w x with loss mean y^2, of whose gradient 5 w; w begins with 1 and the slot with 3, as a Saver of TensorFlow 1 has them.
TensorFunction one_weight(const Optimizer& optimizer) {
  return [=](const Features& in) {
    const Tensor y = dense(in["x"], {.units = 1, .use_bias = false});
    const Tensor loss = reduce_mean(y * y);
    minimize(optimizer, loss);
    return Outputs{{"loss", loss}};
  };
}

TensorSource number(const std::string& name, float value, const Shape& shape) {
  return {name, {DType::kF32, shape}, [value](std::span<std::byte> piece) {
            std::memcpy(piece.data(), &value, sizeof value);
            return Status();
          }};
}

WarmStartSettings all_of(const std::string& path) {
  return {.ckpt_to_initialize_from = path, .vars_to_warm_start = {".*"}};
}

// a = 0.9 * 3 + 5 = 7.7, w = 1 - 0.1 a; with nesterov w = 1 - 0.1 (5 + 0.9 a).
TEST(WarmStartOfTensorFlow1, MomentumGoesOnWithItsSlotWhichSgdRefuses) {
  TemporaryDirectory directory;
  const std::string theirs = directory / "theirs", ours = directory / "ours", sgds = directory / "sgds";
  check(write_tensor_file(theirs, {number("dense/kernel", 1, {1, 1}), number("dense/kernel/Momentum", 3, {1, 1})}));
  for (const bool nesterov : {false, true}) {
    Strategy strategy("cpu");
    strategy.warm_start(all_of(theirs));
    run(strategy, one_weight(Momentum({.learning_rate = 0.1, .momentum = 0.9, .use_nesterov = nesterov})));
    EXPECT_FLOAT_EQ(strategy.read<float>("dense/kernel")[0], nesterov ? 1 - 0.1f * (5 + 0.9f * 7.7f) : 0.23f);
    EXPECT_FLOAT_EQ(strategy.read<float>("dense/kernel/MomentumOptimizer")[0], 7.7f);
    EXPECT_EQ(strategy.warm_started().loaded.at("dense/kernel/MomentumOptimizer"), "dense/kernel/Momentum");
    strategy.save(ours);
  }
  const Optimizer sgd = SGD({.learning_rate = 0.1, .momentum = 0.9});
  Strategy refused("cpu");
  refused.warm_start(all_of(theirs));
  EXPECT_EQ(message_of([&] { run(refused, one_weight(sgd)); }),
            "'" + theirs +
                "': its 'dense/kernel/Momentum' is TensorFlow 1's, of the other sign and without the learning "
                "rate: Momentum() goes on with it, SGD cannot");
  // What Tenon saved is known by its note.
  Strategy source("cpu"), again("cpu");
  run(source, one_weight(sgd));
  source.save(sgds);
  again.warm_start(all_of(sgds));
  run(again, one_weight(sgd));
  EXPECT_EQ(again.warm_started().loaded.count("dense/kernel/Momentum"), 1u);
  Strategy other("cpu");
  other.warm_start(all_of(ours));
  run(other, one_weight(sgd));
  EXPECT_EQ(other.warm_started().fresh, std::vector<std::string>{"dense/kernel/Momentum"});
}

// The format is spelled out: https://huggingface.co/docs/safetensors
std::string with_header(const std::string& header, size_t bytes) {
  std::string out;
  for (int shift = 0; shift < 64; shift += 8) out += static_cast<char>(header.size() >> shift & 0xff);
  return out + header + std::string(bytes, '\0');
}

TEST(WarmStartTypes, ATensorThatIsNotReadIsAnErrorWhereAVariableAsksForItAndElseIsTold) {
  const TemporaryDirectory directory;
  const std::string path = directory.write(
      "a.safetensors", with_header(R"({"first/bias":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]},)"
                                   R"("rows":{"dtype":"I16","shape":[1],"data_offsets":[2,4]},)"
                                   R"("second/kernel":{"dtype":"F32","shape":[2,1],"data_offsets":[4,12]}})",
                                   12));
  Strategy strategy("cpu");
  strategy.warm_start({.ckpt_to_initialize_from = path});
  EXPECT_EQ(message_of([&] { run(strategy, two_layers(SGD(0.0))); }),
            "'" + path + "': tensor 'first/bias' is F8_E4M3[2], which Tenon does not read");
  strategy.warm_start({.ckpt_to_initialize_from = path, .skip_mismatch = true});
  run(strategy, two_layers(SGD(0.0)));
  const WarmStartReport report = strategy.warm_started();
  EXPECT_EQ(report.mismatched, Names{"first/bias"});
  EXPECT_EQ(report.unread, (std::map<std::string, std::string>{{"rows", "I16[1]"}}));
  EXPECT_NE(report.text().find("; 1 begins anew, of another shape in it: 'first/bias' F8_E4M3[2], here f32[2]; "
                               "1 not read: 'rows' I16[1]"),
            std::string::npos)
      << report.text();
}

}  // namespace
}  // namespace tenon

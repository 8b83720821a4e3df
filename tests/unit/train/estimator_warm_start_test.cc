// An Estimator that begins with another checkpoint's values, or goes on from one that lacks some.
#include <fstream>

#include "checkpoint/tensor_bundle.h"
#include "tenon/layer_classes.h"
#include "train/estimator_log.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

EstimatorSpec with(const Optimizer& optimizer, const Features& in, const Tensor& labels, Mode mode, bool frozen) {
  Dense first({.units = 8, .activation = relu});
  first.set_trainable(!frozen);
  return classify(dense(first(in["x"]), {.units = kClasses}), labels, mode, optimizer);
}
ModelFn with_adam(bool frozen = false) {
  return [=](const Features& in, const Tensor& labels, Mode mode, const Params&) {
    return with(Adam(LearningRate(0.01)), in, labels, mode, frozen);
  };
}
EstimatorSpec with_momentum(const Features& in, const Tensor& labels, Mode mode, const Params&) {
  return with(SGD({.learning_rate = 0.1, .momentum = 0.9}), in, labels, mode, false);
}

Dataset some() { return examples(23, training_input(4)); }

struct Told {
  std::vector<std::string> lines;
  RunEvents events() {
    return {.on_info = [this](const std::string& line) { lines.push_back(line); }};
  }
  bool has(const std::string& text) const {
    return std::any_of(lines.begin(), lines.end(), [&](const auto& l) { return l.find(text) != l.npos; });
  }
};

Result<TrainResult> train(Estimator& estimator, int64_t to) {
  return estimator.train({.input = some(), .max_steps = to});
}

void pretrain(const std::string& dir, const ModelFn& model, int64_t steps = 20) {
  Estimator estimator(model, cpu(dir));
  check(train(estimator, steps).status());
}

// The loss at the weights of a checkpoint.
double loss_at(const ModelFn& model, const std::string& dir, const std::string& checkpoint = {}) {
  Estimator estimator(model, cpu(dir));
  return estimator.evaluate({.input = examples(20, evaluation_input(4)), .checkpoint = checkpoint}).take().at("loss");
}

TEST(EstimatorWarmStart, WeightsBeginWithTheCheckpointsAndStepsAtZero) {
  TemporaryDirectory before, now;
  pretrain(before.path(), with_adam());
  Told told;
  Estimator estimator([](const Features& in, const Tensor& labels, Mode mode,
                         const Params&) { return with(SGD(0.0), in, labels, mode, false); },
                      cpu(now.path()), {}, WarmStartSettings{.ckpt_to_initialize_from = before.path()});
  estimator.set_events(told.events());
  EXPECT_EQ(train(estimator, 1).take().global_step, 1);
  EXPECT_EQ(loss_at(with_adam(), now.path()), loss_at(with_adam(), before.path()));
  EXPECT_TRUE(
      told.has("warm start from " + before.path() + "/model.ckpt-20: 4 variables; 1 of the optimizer begin anew"));
}

TEST(EstimatorWarmStart, AListTakesStepsAndSlotsToo) {
  TemporaryDirectory before, now;
  pretrain(before.path(), with_adam());
  Estimator estimator(with_adam(), cpu(now.path()), {},
                      WarmStartSettings{.ckpt_to_initialize_from = before.path(), .vars_to_warm_start = {".*"}});
  EXPECT_EQ(train(estimator, 21).take().global_step, 21);
}

TEST(EstimatorWarmStart, ACheckpointInModelDirWins) {
  TemporaryDirectory before, now;
  pretrain(before.path(), with_adam());
  pretrain(now.path(), with_adam(), 3);
  Told told;
  Estimator estimator(with_adam(), cpu(now.path()), {}, WarmStartSettings{.ckpt_to_initialize_from = before.path()});
  estimator.set_events(told.events());
  EXPECT_EQ(train(estimator, 4).take().global_step, 4);
  EXPECT_TRUE(told.has("no warm start from " + before.path() + ": the directory has a checkpoint"));
  EXPECT_FALSE(told.has("variables; "));
}

TEST(EstimatorWarmStart, ThatNothingFitsIsAnError) {
  TemporaryDirectory before, now;
  pretrain(before.path(), with_adam());
  Estimator estimator(with_adam(), cpu(now.path()), {},
                      WarmStartSettings{.ckpt_to_initialize_from = before.path(), .vars_to_warm_start = "encoder"});
  EXPECT_TRUE(train(estimator, 1)
                  .status()
                  .message()
                  .starts_with("no variable begins with a value of '" + before.path() +
                               "/model.ckpt-20': no trained variable matches 'encoder'; variables: 'dense/bias', "))
      << train(estimator, 1).status().message();
  Estimator renamed(with_adam(), cpu(now.path()), {},
                    WarmStartSettings{.ckpt_to_initialize_from = before.path(),
                                      .var_name_to_prev_var_name = {{"encoder/kernel", "dense/kernel"}}});
  EXPECT_EQ(train(renamed, 1).status().message(),
            "var_name_to_prev_var_name: no variable 'encoder/kernel' begins with the 'dense/kernel' of '" +
                before.path() + "/model.ckpt-20'");
}

TEST(EstimatorWarmStart, AnExpressionOfSeveralThatMatchesNothingIsTold) {
  TemporaryDirectory before;
  pretrain(before.path(), with_adam());
  for (const char* other : {"dense_1/", "dence_1/"}) {
    TemporaryDirectory now;
    Told told;
    Estimator estimator(
        with_adam(), cpu(now.path()), {},
        WarmStartSettings{.ckpt_to_initialize_from = before.path(), .vars_to_warm_start = {"dense/", other}});
    estimator.set_events(told.events());
    check(train(estimator, 1).status());
    EXPECT_EQ(told.has("no variable matches"), std::string(other) == "dence_1/");
    EXPECT_EQ(told.has("; no variable matches 'dence_1/'"), std::string(other) == "dence_1/");
  }
}

// What TensorFlow 2.15 logs, of golden/estimator_log.txt, between calling the model function and the first step.
std::vector<std::string> golden_lines(const std::string& from) {
  constexpr std::string_view kInfo = "INFO:tensorflow:", kPlace = "MODEL_DIR";
  std::ifstream file(std::string(TENON_GOLDEN) + "/estimator_log.txt");
  std::vector<std::string> out;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) inside = line.starts_with("== WarmStartSettings(");
    if (!inside || !line.starts_with(kInfo)) continue;
    line.erase(0, kInfo.size());
    if (const size_t at = line.find(kPlace); at != line.npos) line.replace(at, kPlace.size(), from);
    out.push_back(line);
  }
  return out;
}

// A layer "fc" and one that is not chosen.
EstimatorSpec with_fc(const Features& in, const Tensor& labels, Mode mode, const Params&) {
  const Tensor x = dense(in["x"], {.units = 8, .activation = relu, .name = "other"});
  return classify(dense(x, {.units = kClasses, .name = "fc"}), labels, mode, Adam(0.01));
}

std::vector<std::string> estimators_lines(const std::string& dir, const WarmStartSettings& settings) {
  RunConfig config = cpu(dir);
  config.log_lines = LogLines::kEstimator;
  Estimator estimator(with_fc, config, {}, settings);
  Told told;
  estimator.set_events(told.events());
  check(train(estimator, 1).status());
  const auto begin = std::find(told.lines.begin(), told.lines.end(), "Calling model_fn.");
  std::vector<std::string> out(begin, std::find(begin, told.lines.end(), "Done running local_init_op.") + 1);
  std::erase(out, "Running train on CPU/GPU");  // a TPUEstimator's
  return out;
}

TEST(EstimatorWarmStart, SaysWhatTensorFlowsEstimatorSays) {
  TemporaryDirectory before, now;
  pretrain(before.path(), with_fc);
  const std::vector<std::string> expected = golden_lines(before.path());
  ASSERT_EQ(expected.size(), 10u);
  const WarmStartSettings settings{.ckpt_to_initialize_from = before.path(), .vars_to_warm_start = "fc.*"};
  EXPECT_EQ(estimators_lines(now.path(), settings), expected);
  const std::vector<std::string> resumed = estimators_lines(now.path(), settings);
  EXPECT_FALSE(std::any_of(resumed.begin(), resumed.end(), [](const auto& l) { return l.starts_with("Warm-start"); }));
}

TEST(EstimatorWarmStart, SaysBesidesWhatBeginsAnewThoughItWasChosen) {
  TemporaryDirectory before, now;
  pretrain(before.path(), with_adam());  // has no "fc" and no "other"
  const std::vector<std::string> lines =
      estimators_lines(now.path(), {.ckpt_to_initialize_from = before.path(),
                                    .vars_to_warm_start = "other",
                                    .var_name_to_prev_var_name = {{"other/kernel", "dense/kernel"}}});
  EXPECT_NE(std::find(lines.begin(), lines.end(), "Warm-started 2 variables."), lines.end());
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [&](const auto& l) {
    return l.starts_with("warm start from " + before.path() + "/model.ckpt-20: 1 variable; ");
  }));
}

// Printed by TensorFlow 2.15: str(tf.estimator.WarmStartSettings(..)).
TEST(EstimatorWarmStart, SettingsArePrintedAsPythonPrintsThem) {
  EXPECT_EQ(estimator_log::warm_start(
                {.ckpt_to_initialize_from = "/tmp/wA/model.ckpt-2", .vars_to_warm_start = {"fc1.*", "bn"}}),
            "WarmStartSettings(ckpt_to_initialize_from='/tmp/wA/model.ckpt-2', vars_to_warm_start=['fc1.*', 'bn'], "
            "var_name_to_vocab_info={}, var_name_to_prev_var_name={})");
  EXPECT_EQ(estimator_log::warm_start({.ckpt_to_initialize_from = "/tmp/wA",
                                       .vars_to_warm_start = "it's \"a\" \\d\t\u00e9|fc",
                                       .var_name_to_prev_var_name = {{"fc1/bias", "bn/gamma"}, {"fc1/kernel", "k"}}}),
            "WarmStartSettings(ckpt_to_initialize_from='/tmp/wA', vars_to_warm_start='it\\'s \"a\" \\\\d\\t\u00e9|fc', "
            "var_name_to_vocab_info={}, var_name_to_prev_var_name={'fc1/bias': 'bn/gamma', 'fc1/kernel': 'k'})");
}

TEST(EstimatorResumeOfAnother, SlotsOfAnotherOptimizerBeginAnewAndAreNamed) {
  TemporaryDirectory dir;
  pretrain(dir.path(), with_adam());
  Told told;
  Estimator estimator(with_momentum, cpu(dir.path()));
  estimator.set_events(told.events());
  EXPECT_EQ(train(estimator, 21).take().global_step, 21);
  EXPECT_TRUE(told.has("model.ckpt-20 lacks what the optimizer keeps: 'dense/kernel/Momentum', 'dense/bias/Momentum'"));
}

TEST(EstimatorResumeOfAnother, ALayerThatWasFrozenGetsSlots) {
  TemporaryDirectory dir;
  pretrain(dir.path(), with_adam(true));
  Told told;
  Estimator estimator(with_adam(false), cpu(dir.path()));
  estimator.set_events(told.events());
  EXPECT_EQ(train(estimator, 21).take().global_step, 21);
  EXPECT_TRUE(told.has("'dense/kernel/Adam'"));
  EXPECT_FALSE(told.has("'dense_1/kernel/Adam'"));
}

TEST(EstimatorResumeOfAnother, WeightsAloneAreEvaluatedAndTrained) {
  TemporaryDirectory dir;
  pretrain(dir.path(), with_adam());
  const double loss = loss_at(with_adam(), dir.path());
  const BundleReader all = BundleReader::open(dir / "model.ckpt-20").take();
  BundleWriter weights = BundleWriter::create(dir / "weights").take();
  for (const char* name : {"dense/bias", "dense/kernel", "dense_1/bias", "dense_1/kernel"}) {
    const BundleEntry& entry = *all.find(name);
    std::vector<std::byte> bytes(static_cast<size_t>(entry.size));
    check(all.read(name, bytes));
    check(weights.add(name, {entry.dtype, entry.shape}, bytes));
  }
  check(weights.commit());
  EXPECT_EQ(loss_at(with_adam(), "", dir / "weights"), loss);
  TemporaryDirectory other;
  for (const char* suffix : {".index", ".data-00000-of-00001"})
    std::filesystem::copy_file(dir / (std::string("weights") + suffix), other / (std::string("weights") + suffix));
  other.write("checkpoint", "model_checkpoint_path: \"weights\"\n");
  Estimator estimator(with_adam(), cpu(other.path()));
  EXPECT_EQ(train(estimator, 1).take().global_step, 1);
}

}  // namespace
}  // namespace tenon

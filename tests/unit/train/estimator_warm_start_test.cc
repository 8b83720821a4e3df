// An Estimator that begins with another checkpoint's values, or goes on from one that lacks some.
#include "checkpoint/tensor_bundle.h"
#include "tenon/layer_classes.h"
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
      told.has("warm start from " + before.path() + "/model.ckpt-20: 4 variables; 1 begin anew: 'global_step'"));
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

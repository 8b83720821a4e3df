// RunConfig: what contradicts itself, batch sizes of input functions, summaries.
#include "train/summaries.h"
#include "unit/summary/event_testing.h"
#include "unit/summary/small_disk.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

using callback_testing::Scalar;

// The scalars of a directory's only file of events.
std::vector<Scalar> scalars_in(const std::string& directory) {
  std::vector<Scalar> out;
  for (const auto& file : std::filesystem::directory_iterator(directory))
    if (file.path().filename().string().starts_with("events.out.tfevents.")) {
      EXPECT_TRUE(out.empty());
      out = callback_testing::scalars_of(file.path());
    }
  return out;
}

std::string refused(RunConfig config) {
  Estimator estimator(small_model, cpu("", std::move(config)));
  return estimator.train({.input = examples(24, training_input(4)), .max_steps = 1}).status().message();
}

TEST(EstimatorConfig, SaysWhatContradictsItself) {
  EXPECT_EQ(
      refused({.save_checkpoints_steps = 30, .save_checkpoints_secs = 600}),
      "RunConfig.save_checkpoints_steps 30 and save_checkpoints_secs 600 exclude each other; one of them says when");
  EXPECT_EQ(refused({.save_checkpoints_steps = 30, .save_checkpoints_secs = 0}), "");
  EXPECT_EQ(refused({.save_checkpoints_secs = -1}), "RunConfig.save_checkpoints_secs is -1, expected 0 or more");
  EXPECT_EQ(refused({.keep_checkpoint_max = -1}), "RunConfig.keep_checkpoint_max is -1, expected 0 or more");
  EXPECT_EQ(refused({.save_summary_steps = -5}), "RunConfig.save_summary_steps is -5, expected 0 or more");
}

TEST(EstimatorConfig, ReservesWhatTheEstimatorSaysItself) {
  const auto refused_params = [](const Params& params) {
    Estimator estimator(small_model, cpu(""), params);
    return estimator.train({.input = examples(24, training_input(4)), .max_steps = 1}).status().message();
  };
  EXPECT_TRUE(
      refused_params({{"batch_size", 8}}).starts_with("Params has \"batch_size\", which the Estimator says itself"));
  EXPECT_EQ(
      refused_params({{"context", "mine"}}),
      "Params has \"context\", which is TPUEstimator's TPUContext: InputContext says the same to an input function");
}

TEST(EstimatorConfig, GivesInputFunctionsTheBatchSizeOfTheirMode) {
  std::vector<int64_t> asked;
  const InputFn input = [&](const InputContext& context, const Params& params) -> Result<Dataset> {
    EXPECT_EQ(params.get<int64_t>("batch_size"), context.batch_size);
    asked.push_back(context.batch_size);
    return examples(24, asked.size() == 1 ? training_input(context.batch_size) : evaluation_input(context.batch_size));
  };
  Estimator estimator(known_model, cpu("", {.train_batch_size = 4, .eval_batch_size = 6, .predict_batch_size = 12}));
  check(estimator.train({.input = {input}, .steps = 1}).status());
  EXPECT_EQ(estimator.evaluate({.input = {input}}).take().examples, 24);
  int64_t rows = 0;
  check(estimator.predict({input}, [&](int64_t, const auto&) { return ++rows, Status(); }));
  EXPECT_EQ(rows, 24);
  EXPECT_EQ(asked, (std::vector<int64_t>{4, 6, 12}));
  check(estimator.evaluate({.input = {input, 3}}).status());
  EXPECT_EQ(asked.back(), 3);
  EXPECT_EQ(Estimator(known_model, cpu("")).evaluate({.input = {input}}).status().message(),
            "the input function was given no batch size, and RunConfig.eval_batch_size is 0, expected 1 or more");
}

TEST(EstimatorConfig, WritesSummariesOfTrainingAndEvaluation) {
  TemporaryDirectory dir;
  Estimator estimator(known_model, cpu(dir.path(), {.save_summary_steps = 3}));
  const Dataset test = examples(10, evaluation_input(4));
  check(estimator.train({.input = examples(24, training_input(4)), .max_steps = 8}).status());
  const EvalResult result = estimator.evaluate({.input = test}).take();
  check(estimator.evaluate({.input = test, .name = "again"}).status());
  const float loss = scalars_in(dir.path()).at(0).value;  // known_model's does not change, the batches do
  EXPECT_NEAR(loss, 1.0f, 0.5f);
  std::vector<int64_t> steps;
  for (const Scalar& s : scalars_in(dir.path()))
    if (s.tag != "global_step/sec") steps.push_back(s.tag == "loss" ? s.step : -1);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 4, 7}));
  for (const char* folder : {"eval", "eval_again"})
    EXPECT_EQ(scalars_in(dir / folder), (std::vector<Scalar>{{8, "accuracy", static_cast<float>(result.at("accuracy"))},
                                                             {8, "loss", static_cast<float>(result.at("loss"))}}));
  TemporaryDirectory none;
  check(Estimator(known_model, cpu(none.path(), {.save_summary_steps = 0}))
            .train({.input = examples(24, training_input(4)), .max_steps = 2})
            .status());
  for (const auto& file : std::filesystem::directory_iterator(none.path()))
    EXPECT_EQ(file.path().filename().string().find("events"), std::string::npos);
}

// Full from the third to the sixth step.
struct FullDisk : Callback {
  std::optional<SmallDisk> disk;
  int64_t most_steps(int64_t) const override { return 1; }
  void on_train_batch_end(TrainingRun& run, int64_t, const Logs&) override {
    if (run.step() == 2) disk.emplace(1);
    if (run.step() == 6) disk.reset();
  }
};

TEST(EstimatorConfig, ADiskThatFillsDuringSummariesIsALineAndTrainingGoesOn) {
  TemporaryDirectory dir;
  Estimator estimator(known_model, cpu(dir.path(), {.save_summary_steps = 1}));
  std::vector<std::string> lines;
  estimator.set_events({.on_info = [&](const std::string& line) { lines.push_back(line); }});
  FullDisk full;
  const Result<TrainResult> result =
      estimator.train({.input = examples(24, training_input(4)), .max_steps = 8, .hooks = {&full}});
  check(result.status());
  EXPECT_EQ(result->global_step, 8);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const auto& l) { return l.find("File too large") != l.npos; }),
            1);
  std::vector<int64_t> steps;
  for (const Scalar& s : scalars_in(dir.path()))
    if (s.tag == "loss") steps.push_back(s.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 7, 8}));
}

TEST(EstimatorConfig, SummariesHaveTheGraphAndWhatTheModelShowsOfTraining) {
  TemporaryDirectory dir;
  const ModelFn model = [](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    EstimatorSpec spec = small_model(features, labels, mode, params);
    if (mode == Mode::kTrain) spec.training_tensors = {{"twice", spec.loss * 2.0f}};
    return spec;
  };
  Estimator estimator(model, cpu(dir.path(), {.save_summary_steps = 2}));
  check(estimator.train({.input = examples(24, training_input(4)), .max_steps = 4}).status());
  std::map<std::string, std::vector<float>> values;
  for (const Scalar& s : scalars_in(dir.path())) values[s.tag].push_back(s.value);
  ASSERT_EQ(values["loss"].size(), 2u);
  ASSERT_EQ(values["twice"].size(), 2u);
  EXPECT_FLOAT_EQ(values["twice"][1], 2 * values["loss"][1]);
  int graphs = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir.path()))
    if (file.path().filename().string().starts_with("events."))
      for (const std::string& event : callback_testing::events_of(file.path()))
        graphs += !callback_testing::field_at(event, {4}).empty();
  EXPECT_EQ(graphs, 1);
}

// Losses of a day of short steps: each of the first 10,000, each second of the next, each fourth of the next.
TEST(EstimatorConfig, KeepsSummariesOfManyStepsSmall) {
  TemporaryDirectory dir;
  Summaries summaries;
  const std::vector<float> losses(50000, 1.0f);
  check(summaries.after_call({.model_dir = dir.path(), .save_summary_steps = 1}, 0, losses));
  std::vector<int64_t> steps;
  for (const Scalar& s : scalars_in(dir.path())) steps.push_back(s.step);
  ASSERT_EQ(steps.size(), 25000u);
  EXPECT_EQ(steps[9999], 10000);
  EXPECT_EQ(steps[10000], 10002);
  EXPECT_EQ(steps[19999], 30000);
  EXPECT_EQ(steps[20000], 30004);
  EXPECT_EQ(steps.back(), 50000);
}

}  // namespace
}  // namespace tenon

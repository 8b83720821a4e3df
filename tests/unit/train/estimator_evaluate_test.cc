// Evaluation and prediction against metrics and probabilities computed here.
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

class EstimatorEvaluate : public ::testing::Test {
 protected:
  EstimatorEvaluate() { check(estimator_.train({.input = examples(8, training_input(4)), .max_steps = 1}).status()); }

  TemporaryDirectory dir_;
  Estimator estimator_{known_model, cpu(dir_.path())};
};

struct Expected {
  double loss = 0, accuracy = 0;
};
Expected over(int64_t n) {
  Expected e;
  for (int64_t example = 0; example < n; ++example) {
    const auto p = known_probabilities(example);
    const auto label = static_cast<size_t>(label_value(example));
    e.loss -= std::log(p[label]) / static_cast<double>(n);
    e.accuracy +=
        (std::max_element(p.begin(), p.end()) - p.begin() == static_cast<int64_t>(label)) / static_cast<double>(n);
  }
  return e;
}

TEST_F(EstimatorEvaluate, WeighsAPartialLastBatchByItsRows) {
  for (const int64_t n : {1, 3, 4, 8, 10, 11}) {
    const EvalResult r = estimator_.evaluate({.input = examples(n, evaluation_input(4))}).take();
    EXPECT_NEAR(r.at("loss"), over(n).loss, 1e-6) << n;
    EXPECT_NEAR(r.at("accuracy"), over(n).accuracy, 1e-6) << n;
    EXPECT_EQ(r.at("global_step"), 1);
  }
}

TEST_F(EstimatorEvaluate, IsTheSameForEveryBatchSize) {
  for (const int64_t batch : {1, 2, 7, 11, 64}) {
    const EvalResult r = estimator_.evaluate({.input = examples(11, evaluation_input(batch))}).take();
    EXPECT_NEAR(r.at("loss"), over(11).loss, 1e-6) << batch;
    EXPECT_NEAR(r.at("accuracy"), over(11).accuracy, 1e-6) << batch;
  }
}

TEST_F(EstimatorEvaluate, StopsAfterTheStepsAskedFor) {
  const EvalResult r = estimator_.evaluate({.input = examples(11, evaluation_input(4)), .steps = 2}).take();
  EXPECT_NEAR(r.at("loss"), over(8).loss, 1e-6);
  EXPECT_NEAR(estimator_.evaluate({.input = examples(11, evaluation_input(4)), .steps = 3}).take().at("loss"),
              over(11).loss, 1e-6);
}

TEST_F(EstimatorEvaluate, AnotherProcessEvaluatesTheCheckpoint) {
  Estimator fresh(known_model, cpu(dir_.path(), {.seed = 99}));
  EXPECT_NEAR(fresh.evaluate({.input = examples(10, evaluation_input(4))}).take().at("loss"), over(10).loss, 1e-6);
}

TEST_F(EstimatorEvaluate, PredictsEachRowInOrderWithAPartialLastBatch) {
  int64_t next = 0;
  check(estimator_.predict(examples(10, evaluation_input(4)), [&](int64_t row, const auto& values) {
    EXPECT_EQ(row, next++);
    const auto expected = known_probabilities(row);
    const auto found = values.at("probabilities");
    EXPECT_EQ(found.size(), expected.size());
    for (size_t c = 0; c < expected.size(); ++c) EXPECT_NEAR(found[c], expected[c], 1e-6);
    EXPECT_EQ(values.at("classid").size(), 1u);
    EXPECT_EQ(values.at("classid")[0], std::max_element(expected.begin(), expected.end()) - expected.begin());
    return Status();
  }));
  EXPECT_EQ(next, 10);
}

// 100 batches in one call of the device; of predictions, one.
TEST_F(EstimatorEvaluate, AnInterruptionEndsItAtTheNextBatch) {
  const Dataset data = examples(400, evaluation_input(4));
  int asked = 0;
  Estimator evaluating(known_model,
                       cpu(dir_.path(), {.iterations_per_loop = 100, .interrupted = [&] { return ++asked > 5; }}));
  const Status evaluated = evaluating.evaluate({.input = data}).status();
  EXPECT_EQ(evaluated.code(), Code::kInterrupted);
  EXPECT_EQ(evaluated.message(), "interrupted at step 1");
  EXPECT_EQ(asked, 6);
  asked = 0;
  int64_t rows = 0;
  const Status predicted = evaluating.predict(data, [&](int64_t, const auto&) { return ++rows, Status(); });
  EXPECT_EQ(predicted.code(), Code::kInterrupted);
  EXPECT_EQ(rows, 5 * 4);
}

TEST_F(EstimatorEvaluate, AnErrorOfTheCallersRowEndsPrediction) {
  const Status s = estimator_.predict(examples(10, evaluation_input(4)), [](int64_t row, const auto&) {
    return row == 5 ? Status(Code::kInvalid, "enough") : Status();
  });
  EXPECT_EQ(s.message(), "enough");
}

// known_model's data without those examples that `bad` names.
Dataset damaged(int64_t n, std::vector<int64_t> bad, InputOptions options) {
  options.skip_corrupt = true;
  const auto fill = [=](int64_t example, const Sample&, Slots& out) -> Status {
    if (std::find(bad.begin(), bad.end(), example) != bad.end()) return Status(Code::kInvalid, "damaged");
    for (int i = 0; i < kInputs; ++i) out.get<float>(0)[static_cast<size_t>(i)] = input_value(example, i);
    out.get<int32_t>(1)[0] = label_value(example);
    return {};
  };
  return Dataset::from_function(n, specs(), fill, options).take();
}

const std::vector<std::vector<int64_t>> kBad = {{}, {0}, {1, 9}, {4, 5, 6, 7}, {0, 1, 2, 3, 11}, {3, 4, 8}};

TEST_F(EstimatorEvaluate, MeasuresAllThatIsNotDamagedAndCountsIt) {
  for (const auto& bad : kBad) {
    double loss = 0;
    int64_t good = 0;
    for (int64_t example = 0; example < 12; ++example) {
      if (std::find(bad.begin(), bad.end(), example) != bad.end()) continue;
      loss -= std::log(known_probabilities(example)[static_cast<size_t>(label_value(example))]);
      ++good;
    }
    const EvalResult r = estimator_.evaluate({.input = damaged(12, bad, evaluation_input(4))}).take();
    EXPECT_NEAR(r.at("loss"), loss / static_cast<double>(good), 1e-6);
    EXPECT_EQ(r.examples, good);
  }
}

TEST_F(EstimatorEvaluate, SaysThatAllWereLeftOutWhereNoneIsGood) {
  const auto none = estimator_.evaluate({.input = damaged(3, {0, 1, 2}, evaluation_input(4))});
  EXPECT_EQ(none.status().message(), "evaluation: the input has no batch of 4; left out 3 corrupt records");
}

TEST_F(EstimatorEvaluate, RowsOfPredictionKeepTheirNumbersBehindDamagedOnes) {
  for (const auto& bad : kBad)
    for (const int64_t most : {0, 1, 4, 6, 12, 99}) {
      std::vector<int64_t> rows, expected;
      const auto note = [&](int64_t row, const auto& values) {
        rows.push_back(row);
        EXPECT_NEAR(values.at("probabilities")[0], known_probabilities(row)[0], 1e-6);
        return Status();
      };
      check(estimator_.predict(damaged(12, bad, evaluation_input(4)), note, {}, most));
      for (int64_t example = 0; example < (most == 0 ? 12 : std::min<int64_t>(most, 12)); ++example)
        if (std::find(bad.begin(), bad.end(), example) == bad.end()) expected.push_back(example);
      EXPECT_EQ(rows, expected);
    }
}

TEST_F(EstimatorEvaluate, ThePredictionsGraphHasNoLabels) {
  const Dataset data = examples(8, evaluation_input(4));
  for (const bool lowered : {false, true}) {
    EXPECT_EQ(estimator_.graph_text(data, Mode::kPredict, lowered).take().find("'label'"), std::string::npos);
    EXPECT_NE(estimator_.graph_text(data, Mode::kEval, lowered).take().find("'label'"), std::string::npos);
  }
}

TEST_F(EstimatorEvaluate, ACheckpointIsAPrefixAnIndexOrADirectory) {
  Estimator other(known_model, cpu(""));
  const Dataset data = examples(10, evaluation_input(4));
  for (const std::string& name : {dir_.path(), dir_ / "model.ckpt-1", dir_ / "model.ckpt-1.index"})
    EXPECT_NEAR(other.evaluate({.input = data, .checkpoint = name}).take().at("loss"), over(10).loss, 1e-6);
  TemporaryDirectory empty;
  const Status s = other.evaluate({.input = data, .checkpoint = empty.path()}).status();
  EXPECT_EQ(s.message(), empty.path() + ": has no checkpoint");
}

// As a process does that evaluates beside one that trains.
TEST_F(EstimatorEvaluate, SeesCheckpointsThatAnotherTrainerWrote) {
  TemporaryDirectory dir;
  const Dataset data = examples(24, training_input(4)), test = examples(24, evaluation_input(8));
  Estimator watcher(small_model, cpu(dir.path()));
  for (const int64_t step : {3, 6}) {
    Estimator trainer(small_model, cpu(dir.path()));
    check(trainer.train({.input = data, .max_steps = step}).status());
    EXPECT_EQ(watcher.evaluate({.input = test}).take(), trainer.evaluate({.input = test}).take());
    EXPECT_EQ(watcher.global_step().take(), step);
  }
}

TEST(EstimatorCheckpoint, EvaluatingAnOlderOneLeavesTrainingWhereItWas) {
  TemporaryDirectory one, other;
  const Dataset data = examples(24, training_input(4)), test = examples(24, evaluation_input(8));
  Estimator plain(small_model, cpu(one.path())), looking(small_model, cpu(other.path(), {.save_checkpoints_steps = 5}));
  check(plain.train({.input = data, .max_steps = 20}).status());
  check(looking.train({.input = data, .max_steps = 10}).status());
  const EvalResult now = looking.evaluate({.input = test}).take();
  const EvalResult old = looking.evaluate({.input = test, .checkpoint = other / "model.ckpt-5"}).take();
  EXPECT_EQ(old.at("global_step"), 5);
  EXPECT_NE(old.at("loss"), now.at("loss"));
  EXPECT_EQ(looking.evaluate({.input = test}).take(), now);
  check(looking.evaluate({.input = test, .checkpoint = other / "model.ckpt-5"}).status());
  check(looking.train({.input = data, .max_steps = 20}).status());
  EXPECT_EQ(looking.variables_hash().take(), plain.variables_hash().take());
}

TEST(EstimatorCheckpoint, AModelWithoutDirectoryKeepsItsWeightsWhenAnotherCheckpointIsEvaluated) {
  TemporaryDirectory dir;
  const Dataset data = examples(24, training_input(4)), test = examples(24, evaluation_input(8));
  check(Estimator(small_model, cpu(dir.path())).train({.input = data, .max_steps = 3}).status());
  Estimator memory(small_model, cpu(""));
  check(memory.train({.input = data, .max_steps = 10}).status());
  const std::string before = memory.variables_hash().take();
  EXPECT_EQ(memory.evaluate({.input = test, .checkpoint = dir / "model.ckpt-3"}).take().at("global_step"), 3);
  EXPECT_EQ(memory.variables_hash().take(), before);
  EXPECT_EQ(memory.evaluate({.input = test}).take().at("global_step"), 10);
}

}  // namespace
}  // namespace tenon

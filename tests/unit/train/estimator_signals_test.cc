// Signals while an Estimator trains, and what it says by itself.
#include <csignal>
#include <sstream>

#include "tenon/interrupts.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

// Raises a signal after some step.
class RaisesAt : public TrainingHook {
 public:
  RaisesAt(int64_t step, int number) : step_(step), number_(number) {}
  int64_t most_steps(int64_t) const override { return 1; }
  bool after_run(int64_t step, std::span<const float>) override {
    if (step == step_) std::raise(number_);
    return true;
  }

 private:
  int64_t step_;
  int number_;
};

int told = 0;
void own_handler(int number) { told = number; }

void (*handler_of(int number))(int) {
  struct sigaction action {};
  ::sigaction(number, nullptr, &action);
  return action.sa_handler;
}

TEST(EstimatorSignals, TheyEndTrainingWhichSavesFirst) {
  for (const int number : {SIGINT, SIGTERM}) {
    TemporaryDirectory dir;
    Estimator estimator(small_model, cpu(dir.path()));
    estimator.set_events({});
    RaisesAt hook(3, number);
    const Status status =
        estimator.train({.input = examples(24, training_input(4)), .max_steps = 100, .hooks = {&hook}}).status();
    EXPECT_EQ(status.code(), Code::kInterrupted);
    EXPECT_EQ(status.message(), "interrupted at step 3; saved in " + dir.path());
    EXPECT_EQ(InterruptWatch::signal(), number);
    EXPECT_EQ(estimator.global_step().take(), 3);
    EXPECT_TRUE(handler_of(number) == SIG_DFL);
    // It goes on, and what came before is over.
    EXPECT_EQ(estimator.train({.input = examples(24, training_input(4)), .max_steps = 10}).take().global_step, 10);
    EXPECT_EQ(estimator.evaluate({.input = examples(24, evaluation_input(4))}).take().at("global_step"), 10);
  }
}

TEST(EstimatorSignals, EndTrainAndEvaluateToo) {
  TemporaryDirectory dir;
  Estimator estimator(small_model, cpu(dir.path()));
  RunEvents events;
  events.on_evaluate = [](int64_t, const EvalResult&) { std::raise(SIGINT); };  // between two stretches of training
  estimator.set_events(events);
  const Status status =
      train_and_evaluate(estimator,
                         {.input = examples(24, training_input(4)), .max_steps = 20, .steps_between_evals = 5},
                         {.input = examples(24, evaluation_input(4))})
          .status();
  EXPECT_EQ(status.code(), Code::kInterrupted);
  EXPECT_EQ(estimator.global_step().take(), 5);
}

TEST(EstimatorSignals, AHandlerOfTheProgramsOwnIsLeftAlone) {
  std::signal(SIGINT, own_handler);
  Estimator estimator(small_model, cpu(""));
  estimator.set_events({});
  RaisesAt hook(3, SIGINT);
  told = 0;
  EXPECT_EQ(
      estimator.train({.input = examples(24, training_input(4)), .max_steps = 6, .hooks = {&hook}}).take().global_step,
      6);
  EXPECT_EQ(told, SIGINT);
  EXPECT_TRUE(handler_of(SIGINT) == own_handler);
  std::signal(SIGINT, SIG_DFL);
}

TEST(EstimatorSignals, AreTheProgramsAffairWhereItSaysSo) {
  struct Looks : TrainingHook {
    bool after_run(int64_t, std::span<const float>) override {
      is_default = handler_of(SIGINT) == SIG_DFL && handler_of(SIGTERM) == SIG_DFL;
      return true;
    }
    bool is_default = false;
  };
  for (const bool handled : {true, false}) {
    Estimator estimator(small_model, cpu("", {.handle_signals = handled}));
    estimator.set_events({});
    Looks looks;
    check(estimator.train({.input = examples(24, training_input(4)), .max_steps = 2, .hooks = {&looks}}).status());
    EXPECT_EQ(looks.is_default, !handled);
  }
}

TEST(EstimatorConsole, SaysWhereItIsUnlessToldNotTo) {
  TemporaryDirectory dir;
  const auto said = [&](bool silent) {
    testing::internal::CaptureStderr();
    Estimator estimator(known_model, cpu(dir.path(), {.log_step_count_steps = 2}));
    if (silent) estimator.set_events({});
    check(train_and_evaluate(estimator, {.input = examples(8, training_input(4)), .max_steps = silent ? 4 : 2},
                             {.input = examples(10, evaluation_input(4))})
              .status());
    return testing::internal::GetCapturedStderr();
  };
  const std::string text = said(false);
  for (const std::string& part :
       {std::string("using device cpu ("), std::string("step 2  loss 1."), std::string(" steps/s\n"),
        "saved step 2 to " + dir / "model.ckpt-2\n", std::string("evaluation of 10 examples at step 2:  accuracy 0.")})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  EXPECT_EQ(said(true), "");
}

// Steps of microseconds: a line a second, where each step has one that a program of one's own asks for.
TEST(EstimatorConsole, SaysNoMoreThanSomebodyReads) {
  constexpr int64_t kSteps = 400;
  Estimator estimator(known_model, cpu("", {.log_step_count_steps = 1}));
  testing::internal::CaptureStderr();
  const double seconds = estimator.train({.input = examples(8, training_input(4)), .max_steps = kSteps}).take().seconds;
  const std::string text = testing::internal::GetCapturedStderr();
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("step ")) lines.push_back(line);
  ASSERT_GE(lines.size(), 2u) << text;
  EXPECT_LE(static_cast<double>(lines.size()), 2 + seconds);
  EXPECT_TRUE(lines.front().starts_with("step 1  loss ")) << text;
  EXPECT_TRUE(lines.back().starts_with("step 400  loss ")) << text;

  Estimator own(known_model, cpu("", {.log_step_count_steps = 1}));
  int64_t told = 0;
  own.set_events({.on_log = [&](int64_t, double, double) { ++told; }});
  check(own.train({.input = examples(8, training_input(4)), .max_steps = kSteps}).status());
  EXPECT_EQ(told, kSteps);
}

}  // namespace
}  // namespace tenon

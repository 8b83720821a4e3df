// Numbers that nobody means, in all that an Estimator, a Strategy, data and callbacks are given.
#include "unit/train/option_numbers.h"

#include "tenon/callbacks.h"
#include "tenon/hooks.h"
#include "tenon/strategy.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

Dataset once() { return examples(8, evaluation_input(4)); }

Status trained(const RunConfig& config, const TrainOptions& options = {.input = once(), .max_steps = 1}) {
  Estimator estimator(known_model, config);
  estimator.set_events({});
  return estimator.train(options).status();
}

TEST(OptionNumbers, OfRunConfig) {
  const RunConfig config = cpu("");
  const auto kept = [](RunConfig c) {
    const TemporaryDirectory dir;
    c.model_dir = dir.path();
    return trained(c);
  };
  TENON_EXPECT_REFUSED(config, save_checkpoints_steps, "negative", kept(o));
  TENON_EXPECT_REFUSED(config, save_checkpoints_secs, "negative nan", kept(o));
  TENON_EXPECT_REFUSED(config, keep_checkpoint_max, "negative", kept(o));
  TENON_EXPECT_REFUSED(config, keep_checkpoint_every_n_hours, "negative nan", kept(o));
  TENON_EXPECT_REFUSED(config, log_step_count_steps, "negative", kept(o));
  TENON_EXPECT_REFUSED(config, save_summary_steps, "negative", kept(o));
  TENON_EXPECT_REFUSED(config, iterations_per_loop, "negative huge", kept(o));
  TENON_EXPECT_REFUSED(config, train_batch_size, "negative", trained(o));
  TENON_EXPECT_REFUSED(config, eval_batch_size, "negative", trained(o));
  TENON_EXPECT_REFUSED(config, predict_batch_size, "negative", trained(o));
}

TEST(OptionNumbers, OfTpuConfig) {
  const TPUConfig tpu;
  const auto on_two = [](const TPUConfig& t) { return trained({.device = "cpu:units=2", .tpu = t}); };
  TENON_EXPECT_REFUSED(tpu, iterations_per_loop, "negative huge", on_two(o));
  TENON_EXPECT_REFUSED(tpu, num_shards, "negative huge", on_two(o));
  TENON_EXPECT_REFUSED(tpu, num_cores_per_replica, "negative huge", on_two(o));
  TENON_EXPECT_REFUSED(tpu, initial_infeed_sleep_secs, "negative huge infinite nan", on_two(o));
}

// Negative steps trained and evaluated for ever, or until the end of the data.
TEST(OptionNumbers, OfTrainingAndEvaluation) {
  const RunConfig config = cpu("");
  const TrainOptions train{.input = once()};
  TENON_EXPECT_REFUSED(train, steps, "negative", trained(config, o));
  TENON_EXPECT_REFUSED(train, max_steps, "negative", trained(config, o));
  Estimator estimator(known_model, config);
  estimator.set_events({});
  check(estimator.train({.input = once(), .steps = 1}).status());
  const EvalOptions eval{.input = once()};
  TENON_EXPECT_REFUSED(eval, steps, "negative", estimator.evaluate(o).status());
  TENON_EXPECT_REFUSED(eval, examples, "negative", estimator.evaluate(o).status());
  const TrainSpec train_spec{.input = once(), .max_steps = 1};
  const EvalSpec eval_spec{.input = once()};
  const auto both = [&](const TrainSpec& t, const EvalSpec& e) {
    Estimator fresh(known_model, config);
    fresh.set_events({});
    return train_and_evaluate(fresh, t, e).status();
  };
  TENON_EXPECT_REFUSED(train_spec, max_steps, "negative zero", both(o, eval_spec));
  TENON_EXPECT_REFUSED(train_spec, steps_between_evals, "negative zero", both(o, eval_spec));
  TENON_EXPECT_REFUSED(eval_spec, steps, "negative", both(train_spec, o));
  TENON_EXPECT_REFUSED(eval_spec, examples, "negative", both(train_spec, o));
  const auto nothing = [](int64_t, const auto&) { return Status(); };
  EXPECT_EQ(estimator.predict(once(), nothing, {}, -1).message(), "predict: examples is -1, expected 0 or more");
  const InputFn input = [](const InputContext&, const Params&) { return Result<Dataset>(once()); };
  EXPECT_EQ(estimator.evaluate({.input = {input, -5}}).status().message(), "eval batch size -5, expected 1 or more");
}

// TensorFlow: "Can not provide both steps and max_steps."
TEST(OptionNumbers, StepsAndMaxStepsExcludeEachOther) {
  EXPECT_EQ(trained(cpu(""), {.input = once(), .steps = 3, .max_steps = 2}).message(),
            "TrainOptions.steps 3 and max_steps 2 exclude each other; one of them says when training ends");
  Estimator estimator(known_model, cpu(""));
  estimator.set_events({});
  check(estimator.train({.input = once(), .steps = 1}).status());
  EXPECT_EQ(estimator.train({.input = once(), .steps = INT64_MAX}).take().global_step, 2);
}

// TPUEstimator: "['batch_size', ..] are reserved keys but existed in params".
TEST(OptionNumbers, TheBatchSizeOfParamsIsTheEstimators) {
  Estimator estimator(known_model, cpu(""), {{"batch_size", int64_t{3}}});
  EXPECT_TRUE(estimator.train({.input = once(), .max_steps = 1})
                  .status()
                  .message()
                  .starts_with("Params has \"batch_size\", which the Estimator says itself"));
}

TEST(OptionNumbers, OfData) {
  const InputOptions options = training_input(4);
  const auto made = [](const InputOptions& o) { (void)examples(8, o); };
  TENON_EXPECT_REFUSED_AS("batch size", options, batch_size, "negative zero huge", made(o));
  TENON_EXPECT_REFUSED(options, shuffle_buffer, "negative", made(o));
  TENON_EXPECT_REFUSED(options, interleave, "negative zero", made(o));
  TENON_EXPECT_REFUSED(options, prefetch, "negative", trained(cpu(""), {.input = examples(8, o), .max_steps = 1}));
  TENON_EXPECT_REFUSED_AS("index", options, shard_index, "negative huge", made(o));
  TENON_EXPECT_REFUSED_AS("shard", options, shard_count, "negative zero huge", made(o));
}

TEST(OptionNumbers, OfFunctions) {
  Strategy strategy("cpu");
  const FunctionOptions options;
  const auto called = [&](const FunctionOptions& o) {
    strategy.function([](const Features& in) { return Outputs{{"x", in["x"]}}; }, o)({{"x", Array({1.0f}, {1})}});
  };
  TENON_EXPECT_REFUSED(options, steps_per_call, "negative zero huge", called(o));
  TENON_EXPECT_REFUSED(options, max_batch, "huge", called(o));  // -1 is kBatchOfData
}

TEST(OptionNumbers, OfCallbacks) {
  const EarlyStoppingOptions stop;
  TENON_EXPECT_REFUSED(stop, min_delta, "negative infinite nan", EarlyStopping{o});
  TENON_EXPECT_REFUSED(stop, patience, "negative", EarlyStopping{o});
  TENON_EXPECT_REFUSED(stop, start_from_epoch, "negative", EarlyStopping{o});
  TENON_EXPECT_REFUSED(stop, baseline, "infinite nan", EarlyStopping{o});
  const ReduceLROnPlateauOptions reduce;
  TENON_EXPECT_REFUSED(reduce, factor, "negative huge infinite nan", ReduceLROnPlateau{o});
  TENON_EXPECT_REFUSED(reduce, patience, "negative", ReduceLROnPlateau{o});
  TENON_EXPECT_REFUSED(reduce, min_delta, "negative infinite nan", ReduceLROnPlateau{o});
  TENON_EXPECT_REFUSED(reduce, cooldown, "negative", ReduceLROnPlateau{o});
  TENON_EXPECT_REFUSED(reduce, min_lr, "negative infinite nan", ReduceLROnPlateau{o});
  const ModelCheckpointOptions save;
  TENON_EXPECT_REFUSED(save, initial_value_threshold, "infinite nan", ModelCheckpoint{"m", o});
  const LoggingTensorHookOptions log{.at_end = true};
  TENON_EXPECT_REFUSED(log, every_n_iter, "negative", LoggingTensorHook{{{"loss", "loss"}}, o});
  TENON_EXPECT_REFUSED(log, every_n_secs, "negative infinite nan", LoggingTensorHook{{{"loss", "loss"}}, o});
  const StepCounterHookOptions counter;
  TENON_EXPECT_REFUSED(counter, every_n_steps, "negative", StepCounterHook{o});
  TENON_EXPECT_REFUSED(counter, every_n_secs, "negative infinite nan", StepCounterHook{o});
  const StopAtStepHookOptions at;
  TENON_EXPECT_REFUSED(at, num_steps, "negative zero", StopAtStepHook{o});
  TENON_EXPECT_REFUSED(at, last_step, "negative zero", StopAtStepHook{o});
  const CheckpointSaverHookOptions saver, saves{.save_steps = 1};
  TENON_EXPECT_REFUSED(saver, save_steps, "negative zero", CheckpointSaverHook{"d", o});
  TENON_EXPECT_REFUSED(saver, save_secs, "negative zero infinite nan", CheckpointSaverHook{"d", o});
  TENON_EXPECT_REFUSED(saves, keep_checkpoint_max, "negative", CheckpointSaverHook{"d", o});
  const SummarySaverHookOptions summary;
  TENON_EXPECT_REFUSED(summary, save_steps, "negative zero", SummarySaverHook{"d", {{"loss", "loss"}}, o});
  TENON_EXPECT_REFUSED(summary, save_secs, "negative zero infinite nan", SummarySaverHook{"d", {{"loss", "loss"}}, o});
  const ExamplesPerSecondHookOptions rate;
  TENON_EXPECT_REFUSED(rate, every_n_steps, "negative", ExamplesPerSecondHook{4, o});
  TENON_EXPECT_REFUSED(rate, every_n_secs, "negative infinite nan", ExamplesPerSecondHook{4, o});
  TENON_EXPECT_REFUSED(rate, warm_steps, "negative", ExamplesPerSecondHook{4, o});
  const EvaluationStopOptions evaluation;
  TENON_EXPECT_REFUSED(evaluation, min_steps, "negative", stop_if_no_decrease_hook("loss", 1, o));
}

}  // namespace
}  // namespace tenon

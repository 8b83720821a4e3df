// The defaults of callbacks, Model, Estimator and hooks.
#include "tenon/export_output.h"
#include "tenon/fit.h"
#include "tenon/hooks.h"
#include "tenon/model.h"
#include "tenon/profiler.h"
#include "unit/train/signatures/signatures_testing.h"

namespace tenon::signatures {
namespace {

Default own(const FitData& data) { return none(data.empty()); }
Default own(const MetricList& metrics) { return none(metrics.all().empty()); }
Default own(const ExportOutputs& outputs) { return none(outputs.empty()); }
Default own(const Tensor& tensor) { return none(!tensor); }
Default own(const TrainOp& op) { return none(!op); }
Default own(const Callbacks& callbacks) { return none(callbacks.empty()); }
Default own(Verbose v) { return text(v == Verbose::kAuto ? "auto" : "silent"); }
Default own(InputPipelineConfig c) { return number(static_cast<double>(c)); }
template <class T>
Default own(const ForOutputs<T>& each) {
  return none(each.all().empty());
}
template <class K, class V>
Default own(const std::map<K, V>& each) {
  return none(each.empty());
}
template <class K, class V>
Default own(const std::vector<std::pair<K, V>>& each) {
  return none(each.empty());
}
using signatures::own;

// Where the file has None, which stands for that value.
Default for_none(double value, double meant) {
  return {std::to_string(value), [=](const std::string& golden) { return golden == "None" && value == meant; }};
}

Ours fitting() {
  const FitOptions o;
  return {{"batch_size", for_none(static_cast<double>(o.batch_size), 32)},
          TENON_FIELD(o, epochs),
          TENON_FIELD(o, verbose),
          TENON_FIELD(o, callbacks),
          TENON_FIELD(o, validation_split),
          TENON_FIELD(o, validation_data),
          TENON_FIELD(o, shuffle),
          TENON_FIELD(o, class_weight),
          TENON_FIELD(o, initial_epoch),
          TENON_OR_NONE(o, steps_per_epoch),
          TENON_OR_NONE(o, validation_steps),
          TENON_OR_NONE(o, validation_batch_size),
          TENON_FIELD(o, validation_freq),
          {"sample_weight", none(FitData().sample_weight().empty())}};
}

template <class Options>
Ours passing(const Options& o) {
  return {{"batch_size", for_none(static_cast<double>(o.batch_size), 32)},
          TENON_OR_NONE(o, steps),
          TENON_FIELD(o, callbacks)};
}

// The defaults of each hook that looks at evaluations.
Ours stopping() { return {TENON_FIELD(EvaluationStopOptions(), min_steps)}; }

void add_hooks(Table& t) {
  const LoggingTensorHookOptions logging;
  const StopAtStepHookOptions stop;
  const CheckpointSaverHookOptions saver;
  const StepCounterHookOptions counter;
  const SummarySaverHookOptions summary;
  t["LoggingTensorHook"] = {TENON_OR_NONE(logging, every_n_iter), TENON_OR_NONE(logging, every_n_secs),
                            TENON_FIELD(logging, at_end), TENON_FIELD(logging, formatter)};
  t["StopAtStepHook"] = {TENON_OR_NONE(stop, num_steps), TENON_OR_NONE(stop, last_step)};
  t["CheckpointSaverHook"] = {TENON_OR_NONE(saver, save_secs), TENON_OR_NONE(saver, save_steps),
                              TENON_FIELD(saver, checkpoint_basename)};
  // Neither of both is 100 steps, as the hook's first line shows.
  t["StepCounterHook"] = {
      {"every_n_steps",
       number(static_cast<double>(
           StepCounterHook().most_steps(0) == 1 && counter.every_n_steps == 0 ? 100 : counter.every_n_steps))},
      TENON_OR_NONE(counter, every_n_secs),
      TENON_FIELD(counter, output_dir)};
  t["NanTensorHook"] = {TENON_FIELD(NanTensorHookOptions(), fail_on_nan_loss)};
  t["SummarySaverHook"] = {TENON_OR_NONE(summary, save_steps), TENON_OR_NONE(summary, save_secs)};
  t["ProfilerHook"] = {};
  for (const char* name :
       {"stop_if_no_decrease_hook", "stop_if_no_increase_hook", "stop_if_lower_hook", "stop_if_higher_hook"})
    t[name] = stopping();
}

void add_configs(Table& t) {
  const RunConfig run;
  const TPUConfig tpu;
  const bool host = tpu.per_host_input_for_training == InputPipelineConfig::kPerHostV1;
  t["RunConfig"] = {TENON_FIELD(run, model_dir),
                    TENON_FIELD(run, keep_checkpoint_max),
                    TENON_FIELD(run, log_step_count_steps),
                    TENON_FIELD(run, save_summary_steps),
                    TENON_FIELD(run, keep_checkpoint_every_n_hours),
                    // Neither given: every 600 seconds.
                    {"save_checkpoints_steps", text(run.save_checkpoints_steps == 0 ? "UNSET" : "set")},
                    {"save_checkpoints_secs", text(run.save_checkpoints_secs ? "other" : "UNSET")},
                    {"tf_random_seed", named("seed", deviates("0: the same bits each time"))}};
  t["TPUConfig"] = {TENON_FIELD(tpu, iterations_per_loop),
                    TENON_OR_NONE(tpu, num_shards),
                    TENON_OR_NONE(tpu, num_cores_per_replica),
                    TENON_OR_NONE(tpu, initial_infeed_sleep_secs),
                    TENON_FIELD(tpu, eval_training_input_configuration),
                    {"per_host_input_for_training", text(host ? "True" : "other")}};
}

}  // namespace

Table callbacks() {
  const EarlyStoppingOptions early;
  const ReduceLROnPlateauOptions plateau;
  const ModelCheckpointOptions checkpoint;
  const BackupAndRestoreOptions backup;
  const CSVLoggerOptions csv;
  const TensorBoardOptions board;
  return {
      {"EarlyStopping",
       {TENON_FIELD(early, monitor), TENON_FIELD(early, min_delta), TENON_FIELD(early, patience),
        TENON_FIELD(early, verbose), TENON_FIELD(early, mode), TENON_FIELD(early, baseline),
        TENON_FIELD(early, restore_best_weights), TENON_FIELD(early, start_from_epoch)}},
      {"ReduceLROnPlateau",
       {TENON_FIELD(plateau, monitor), TENON_FIELD(plateau, factor), TENON_FIELD(plateau, patience),
        TENON_FIELD(plateau, verbose), TENON_FIELD(plateau, mode), TENON_FIELD(plateau, min_delta),
        TENON_FIELD(plateau, cooldown), TENON_FIELD(plateau, min_lr)}},
      {"ModelCheckpoint",
       {TENON_FIELD(checkpoint, monitor), TENON_FIELD(checkpoint, verbose), TENON_FIELD(checkpoint, save_best_only),
        TENON_FIELD(checkpoint, save_weights_only), TENON_FIELD(checkpoint, mode), TENON_FIELD(checkpoint, save_freq),
        TENON_FIELD(checkpoint, initial_value_threshold)}},
      {"BackupAndRestore", {TENON_FIELD(backup, save_freq), TENON_FIELD(backup, delete_checkpoint)}},
      {"CSVLogger", {TENON_FIELD(csv, separator), TENON_FIELD(csv, append)}},
      {"History", {}},
      {"ProgbarLogger", {}},
      {"LearningRateScheduler", {TENON_FIELD(LearningRateSchedulerOptions(), verbose)}},
      {"SwapEMAWeights", {TENON_FIELD(SwapEMAWeightsOptions(), swap_on_epoch)}},
      {"TensorBoard",
       {TENON_FIELD(board, log_dir), TENON_FIELD(board, histogram_freq), TENON_FIELD(board, write_graph),
        TENON_FIELD(board, write_images), TENON_FIELD(board, write_steps_per_second), TENON_FIELD(board, update_freq)}},
      {"TerminateOnNaN", {TENON_FIELD(TerminateOnNaNOptions(), raise_error)}}};
}

Table model() {
  const CompileOptions compile;
  const SummaryOptions summary;
  static_assert(requires(Model & m, FitData data, Examples x, CompileOptions o) {
    m.compile(o), m.fit(data), m.fit(x, x), m.evaluate(data), m.predict(x), m.train_on_batch(x, x),
        m.test_on_batch(x, x), m.summary(), m.save(""), m.save_weights(""), m.load_weights("");
  });
  return {{"compile",
           {{"optimizer", text(compile.optimizer ? "other" : "rmsprop")},
            TENON_FIELD(compile, loss),
            TENON_FIELD(compile, loss_weights),
            TENON_FIELD(compile, metrics),
            TENON_FIELD(compile, weighted_metrics),
            TENON_FIELD(compile, steps_per_execution)}},
          {"fit", fitting()},
          {"evaluate", passing(EvaluateOptions()) + Ours{TENON_FIELD(EvaluateOptions(), verbose),
                                                         {"sample_weight", none(FitData().sample_weight().empty())}}},
          {"predict",
           passing(PredictOptions()) + Ours{{"verbose", deviates("silent: a program prints what it predicts itself")}}},
          {"train_on_batch", {}},
          {"test_on_batch", {}},
          {"summary",
           {TENON_OR_NONE(summary, line_length), TENON_FIELD(summary, expand_nested),
            TENON_FIELD(summary, show_trainable)}},
          {"save", {}},
          {"save_weights", {}},
          {"load_weights", {TENON_FIELD(LoadWeightsOptions(), skip_mismatch)}}};
}

Table estimator() {
  const EstimatorSpec spec;
  const TrainInput input{InputFn()};
  const TrainOptions train{.input = input};
  const EvalOptions evaluate{.input = input};
  const TrainSpec train_spec{.input = input};
  const EvalSpec eval_spec{.input = input};
  const ClassificationTensors classes;
  const WarmStartSettings warm;
  const VarsToWarmStart& vars = warm.vars_to_warm_start;
  Table t{{"TrainSpec", {TENON_OR_NONE(train_spec, max_steps), TENON_FIELD(train_spec, hooks)}},
          {"EvalSpec",
           {TENON_FIELD(eval_spec, hooks), {"steps", deviates(eval_spec.steps == 0 ? "all of the input" : "other")}}},
          {"EstimatorSpec",
           {TENON_NEEDED(spec, mode),
            TENON_FIELD(spec, predictions),
            TENON_FIELD(spec, loss),
            TENON_FIELD(spec, train_op),
            {"eval_metric_ops", named("eval_metrics", own(spec.eval_metrics))},
            TENON_FIELD(spec, export_outputs)}},
          {"Estimator",
           {{"model_dir", none(RunConfig().model_dir.empty())},
            {"params", none(std::is_constructible_v<Estimator, ModelFn, RunConfig>)},
            {"warm_start_from", none(std::is_constructible_v<Estimator, ModelFn, RunConfig, Params>)}}},
          {"train", {TENON_FIELD(train, hooks), TENON_OR_NONE(train, steps), TENON_OR_NONE(train, max_steps)}},
          {"evaluate",
           {TENON_FIELD(evaluate, hooks),
            TENON_OR_NONE(evaluate, steps),
            {"checkpoint_path", named("checkpoint", own(evaluate.checkpoint))}}},
          {"predict", {{"hooks", none(Callbacks().empty())}}},
          {"train_and_evaluate", {}},
          {"WarmStartSettings",
           {TENON_NEEDED(warm, ckpt_to_initialize_from),
            {"vars_to_warm_start", text(vars.expressions().at(0))},
            TENON_FIELD(warm, var_name_to_prev_var_name)}},
          {"PredictOutput", {}},
          {"ClassificationOutput", {TENON_FIELD(classes, scores), TENON_FIELD(classes, classes)}},
          {"RegressionOutput", {}},
          {"CrossShardOptimizer", {}}};
  add_configs(t);
  add_hooks(t);
  return t;
}

}  // namespace tenon::signatures

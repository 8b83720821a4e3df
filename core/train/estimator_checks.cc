// What the Estimator's options may say, asked before anything is opened, trained or saved.
#include <initializer_list>

#include "train/estimator_impl.h"

namespace tenon {
namespace {

struct Count {
  std::string_view name;
  int64_t value, most = INT64_MAX;
};

Status expect_counts(std::string_view owner, std::initializer_list<Count> counts) {
  for (const auto& [name, value, most] : counts)
    if (value < 0 || value > most)
      return invalid(owner, name, " is ", value, ", expected 0 ", most == INT64_MAX ? "or more" : cat("to ", most));
  return {};
}

}  // namespace

Status Estimator::Impl::check_config() const {
  const auto wrong = [](const auto&... parts) { return invalid("RunConfig.", parts...); };
  const RunConfig& c = config;
  if (c.save_checkpoints_steps > 0 && c.save_checkpoints_secs.value_or(0) > 0)
    return wrong("save_checkpoints_steps ", c.save_checkpoints_steps, " and save_checkpoints_secs ",
                 *c.save_checkpoints_secs, " exclude each other; one of them says when");
  if (!(c.save_checkpoints_secs.value_or(0) >= 0))
    return wrong("save_checkpoints_secs is ", *c.save_checkpoints_secs, ", expected 0 or more");
  if (!(c.keep_checkpoint_every_n_hours >= 0))
    return wrong("keep_checkpoint_every_n_hours is ", c.keep_checkpoint_every_n_hours, ", expected 0 or more");
  TENON_TRY(check_between(between_replicas(c), "RunConfig"));
  if (params.has("batch_size"))
    return invalid(
        "Params has \"batch_size\", which the Estimator says itself; TrainInput, or RunConfig.train_batch_size, ",
        "eval_batch_size and predict_batch_size, say what it is");
  if (params.has("context"))
    return invalid(
        "Params has \"context\", which is TPUEstimator's TPUContext: InputContext says the same to an input function");
  return expect_counts("RunConfig.", {{"save_checkpoints_steps", c.save_checkpoints_steps},
                                      {"keep_checkpoint_max", c.keep_checkpoint_max},
                                      {"log_step_count_steps", c.log_step_count_steps},
                                      {"save_summary_steps", c.save_summary_steps},
                                      {"iterations_per_loop", c.iterations_per_loop, kMostStepsPerCall},
                                      {"train_batch_size", c.train_batch_size},
                                      {"eval_batch_size", c.eval_batch_size},
                                      {"predict_batch_size", c.predict_batch_size}});
}

Status Estimator::Impl::check_tpu_config() const {
  if (!config.tpu || (device->replicas() == 1 && !on_tpu())) return {};
  const TPUConfig& t = *config.tpu;
  const auto wrong = [](const auto&... parts) { return invalid("TPUConfig.", parts...); };
  if (t.num_shards != 0 && t.num_shards != device->replicas())
    return wrong("num_shards is ", t.num_shards, ", device '", device->name(), "' has ", device->replicas(), " cores");
  if (t.num_cores_per_replica < 0 || t.num_cores_per_replica > 1)
    return wrong("num_cores_per_replica is ", t.num_cores_per_replica,
                 ", expected 0 or 1: a model is not dealt over cores");
  const int input = static_cast<int>(t.per_host_input_for_training);
  if (input < 1 || input > 5) return wrong("per_host_input_for_training is ", input, ", expected 1 to 5");
  const auto eval = static_cast<int>(t.eval_training_input_configuration);
  if (eval != 2 && eval != 5)
    return wrong("eval_training_input_configuration is ", eval, ", expected 2 or 5, which are one pipeline");
  TENON_TRY(expect_counts("TPUConfig.", {{"iterations_per_loop", t.iterations_per_loop, kMostStepsPerCall}}));
  if (!(t.initial_infeed_sleep_secs >= 0 && t.initial_infeed_sleep_secs <= 3600))
    return wrong("initial_infeed_sleep_secs is ", t.initial_infeed_sleep_secs, ", expected 0 to 3600");
  return {};
}

Status Estimator::Impl::check(const TrainOptions& o) {
  TENON_TRY(expect_counts("TrainOptions.", {{"steps", o.steps}, {"max_steps", o.max_steps}}));
  if (o.steps > 0 && o.max_steps > 0)
    return invalid("TrainOptions.steps ", o.steps, " and max_steps ", o.max_steps,
                   " exclude each other; one of them says when training ends");
  return {};
}

Status Estimator::Impl::check(const EvalOptions& o) {
  return expect_counts("EvalOptions.", {{"steps", o.steps}, {"examples", o.examples}});
}

Status Estimator::Impl::check(const TrainSpec& train, const EvalSpec& eval) {
  if (train.max_steps < 1) return invalid("TrainSpec.max_steps is ", train.max_steps, ", expected 1 or more");
  if (train.steps_between_evals < 1)
    return invalid("TrainSpec.steps_between_evals is ", train.steps_between_evals, ", expected 1 or more");
  return expect_counts("EvalSpec.", {{"steps", eval.steps}, {"examples", eval.examples}});
}

Status Estimator::Impl::check_examples(int64_t predicted) {
  return expect_counts("predict: ", {{"examples", predicted}});
}

}  // namespace tenon

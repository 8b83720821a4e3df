#include "train/estimator_log.h"

#include <cstdio>
#include <ctime>

#include "base/python_text.h"
#include "base/strings.h"

namespace tenon::estimator_log {
namespace {

using Clock = std::chrono::steady_clock;

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// None where there is nothing.
std::string or_none(double value) { return value > 0 ? cat(value) : "None"; }

}  // namespace

std::string number(double value) { return python_text(static_cast<float>(value)); }

std::string config(const RunConfig& c) {
  std::string out = cat("{'_model_dir': '", c.model_dir, "', '_tf_random_seed': ", c.seed,
                        ", '_save_checkpoints_steps': ", or_none(static_cast<double>(c.save_checkpoints_steps)),
                        ", '_save_checkpoints_secs': ",
                        c.save_checkpoints_steps > 0 ? "None" : or_none(c.save_checkpoints_secs.value_or(600)),
                        ", '_keep_checkpoint_max': ", c.keep_checkpoint_max,
                        ", '_keep_checkpoint_every_n_hours': ", c.keep_checkpoint_every_n_hours,
                        ", '_save_summary_steps': ", c.save_summary_steps,
                        ", '_log_step_count_steps': ", c.log_step_count_steps, ", '_device': '", c.device, "'");
  if (const auto& t = c.tpu)
    append(out, cat(", '_tpu_config': TPUConfig(iterations_per_loop=", t->iterations_per_loop, ", num_shards=",
                    or_none(t->num_shards), ", num_cores_per_replica=", or_none(t->num_cores_per_replica),
                    ", per_host_input_for_training=", static_cast<int>(t->per_host_input_for_training),
                    ", eval_training_input_configuration=", static_cast<int>(t->eval_training_input_configuration),
                    ", initial_infeed_sleep_secs=", or_none(t->initial_infeed_sleep_secs), ")"));
  return out + "}";
}

std::string warm_start(const WarmStartSettings& settings) {
  const VarsToWarmStart& vars = settings.vars_to_warm_start;
  std::vector<std::string> expressions, renames;
  for (const std::string& e : vars.expressions()) expressions.push_back(python_repr(e));
  for (const auto& [name, previous] : settings.var_name_to_prev_var_name)
    renames.push_back(cat(python_repr(name), ": ", python_repr(previous)));
  const std::string all = join(expressions);
  return cat("WarmStartSettings(ckpt_to_initialize_from=", python_repr(settings.ckpt_to_initialize_from),
             ", vars_to_warm_start=", vars.among() == VarsToWarmStart::Among::kTrainable ? all : cat("[", all, "]"),
             ", var_name_to_vocab_info={}, var_name_to_prev_var_name={", join(renames), "})");
}

std::string now(char separator) {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  localtime_r(&time, &parts);
  char date[16], hours[16];
  std::strftime(date, sizeof date, "%Y-%m-%d", &parts);
  std::strftime(hours, sizeof hours, "%H:%M:%S", &parts);
  return cat(date, separator, hours);
}

std::string saving(const EvalResult& result) {
  const auto step = static_cast<int64_t>(result.at("global_step"));
  std::string values;
  for (const auto& [name, value] : result)
    append_item(values, cat(name, " = ", name == "global_step" ? cat(step) : number(value)));
  return cat("Saving dict for global step ", step, ": ", values);
}

void Losses::add(int64_t step, float loss, std::vector<std::string>& out) {
  const auto time = Clock::now();
  const double seconds = std::chrono::duration<double>(time - said_at_).count();
  const double rate = static_cast<double>(step - said_) / std::max(seconds, 1e-9);
  const std::string line = cat("loss = ", number(loss), ", step = ", step);
  const std::string steps = "global_step/sec: " + formatted("%g", rate);
  if (said_ < 0) {
    out.push_back(line);
  } else {
    if (!tpu_) out.push_back(steps);
    out.push_back(cat(line, " (", formatted("%.3f", seconds), " sec)"));
    if (tpu_) out.insert(out.end(), {steps, "examples/sec: " + formatted("%g", rate * static_cast<double>(batch_))});
  }
  said_ = step;
  said_at_ = time;
}

std::vector<std::string> Losses::after_call(int64_t step, std::span<const float> losses) {
  std::vector<std::string> out;
  if (every_ <= 0) return out;
  for (size_t i = tpu_ ? losses.size() - 1 : 0; i < losses.size(); ++i) {
    const int64_t at = step + 1 + static_cast<int64_t>(i);
    if (said_ < 0 || at - said_ >= every_) add(at, losses[i], out);
  }
  return out;
}

std::vector<std::string> evaluations(int64_t before, int64_t done, int64_t all) {
  const int64_t every = all < 20 ? 1 : all / 10;
  std::vector<std::string> out;
  for (int64_t i = before + 1; i <= done; ++i)
    if (i % every == 0 || i == all) out.push_back(cat("Evaluation [", i, all > 0 ? cat("/", all) : "", "]"));
  return out;
}

}  // namespace tenon::estimator_log

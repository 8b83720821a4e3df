#include "model/model_flags.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "data/model_data.h"
#include "model/model_record.h"
#include "process.h"
#include "tenon/devices.h"
#include "tenon/processes.h"

namespace tenon::runner {
namespace {

// The model that is named among the words, which may hold values of flags too, or that a directory among them remembers, or a file's.
const models::ModelInfo* model_among(const std::vector<std::string>& words) {
  for (const std::string& w : words)
    if (const models::ModelInfo* m = models::is_onnx_file(w) ? nullptr : models::find_model(w)) return m;
  for (const std::string& w : words) try {
      if (const auto record = read_model_record(w)) return models::find_model(record->model);
    } catch (const Error&) {  // not a directory of ours, or said later
    }
  for (const std::string& w : words) try {
      if (models::is_onnx_file(w)) return models::find_model(w);
    } catch (const Error&) {  // said later, unless it is to be made
    }
  return nullptr;
}

// The kind of data of that model, or of the first one.
const DataKind& kind_among(const std::vector<std::string>& words) {
  const models::ModelInfo* named = model_among(words);
  const models::ModelInfo& model = named ? *named : models::all_models()[0];
  Params defaults;
  for (const models::ModelFlag& f : model.flags) defaults.set(f.name, f.value);
  return data_kind(model.example(defaults).kind);
}

// Names and numbers as TPUEstimator's TPUConfig takes them.
const std::vector<std::pair<std::string, InputPipelineConfig>> kInputPipelines{
    {"true", InputPipelineConfig::kPerHostV1},        {"false", InputPipelineConfig::kPerShardV1},
    {"per_shard", InputPipelineConfig::kPerShardV1},  {"per_host", InputPipelineConfig::kPerHostV1},
    {"per_host_v2", InputPipelineConfig::kPerHostV2}, {"broadcast", InputPipelineConfig::kBroadcast},
    {"sliced", InputPipelineConfig::kSliced}};

std::vector<std::string> input_pipeline_names() {
  std::vector<std::string> out;
  for (const auto& [name, config] : kInputPipelines) out.push_back(name);
  return out;
}

}  // namespace

InputPipelineConfig input_pipelines(const std::string& name) {
  for (const auto& [n, config] : kInputPipelines)
    if (n == name) return config;
  return InputPipelineConfig::kPerHostV1;
}

std::vector<std::string> model_names() {
  std::vector<std::string> out;
  for (const auto& models : {models::all_models(), models::catalogue()})
    for (const models::ModelInfo& m : models) out.push_back(m.name);
  return out;
}

std::string listed_models() {
  std::vector<std::string> out;
  for (const models::ModelInfo& m : models::all_models()) out.push_back(m.name);
  out.push_back("or an application, which `tenon train --help` lists");
  return listed(out);
}

bool has_own_epsilon(const models::ModelInfo& m) {
  return std::any_of(m.flags.begin(), m.flags.end(), [](const models::ModelFlag& f) { return f.name == "epsilon"; });
}

void add_model_flags(Flags& flags, const std::vector<std::string>& words) {
  const models::ModelInfo* model = model_among(words);
  if (!model) return;
  for (const models::ModelFlag& f : model->flags)
    flags.add({.name = f.name,
               .value = f.value,
               .help = f.help,
               .low = f.low,
               .high = f.high,
               .choices = f.choices,
               .repeats = f.repeats});
}

std::string list_of_models(const std::vector<std::string>& /*words*/) {
  std::string out = "Models, each with flags of its own, which --help lists behind its name:\n";
  for (const models::ModelInfo& m : models::all_models()) out += format("  %-12s %s\n", m.name, m.description.c_str());
  return out + list_of_applications() + "Or a model of an ONNX file, by its path: FILE.onnx.\n";
}

std::string list_of_applications() {
  std::string out = "Applications, networks for images whose layers and weights have Keras's names:\n", line;
  const char* family = "";
  for (const models::ModelInfo& m : models::catalogue()) {
    if (line.size() + std::strlen(m.name) > 110 || std::strcmp(family, m.family) != 0) out += std::exchange(line, "");
    line += line.empty() ? format("%s  %s", out.ends_with("\n") ? "" : "\n", m.name) : std::string(" ") + m.name;
    family = m.family;
  }
  return out + line + "\n";
}

void add_dtype_flag(Flags& flags) {
  flags.text(
      "dtype_policy", "float32",
      "what layers compute in, as Keras names it; with bfloat16 variables are bf16 too, with mixed_float16 the loss is "
      "scaled",
      {"float32", "mixed_bfloat16", "bfloat16", "mixed_float16"});
}

void add_training_flags(Flags& flags, const std::vector<std::string>& words) {
  const models::ModelInfo* named = model_among(words);
  const models::ModelInfo& m = named ? *named : models::all_models()[0];
  flags.integer("train_steps", m.train_steps, "train up to this global step", 1, 1e15);
  flags.integer("train_batch_size", m.train_batch_size, "examples in each step", 1, 1 << 24);
  flags.alias("batch", "train_batch_size");
  flags.number("learning_rate", m.learning_rate, "of the optimizer", 0, 1e38);
  flags.text("learning_rate_schedule", m.schedule, "over train_steps", {"constant", "cosine", "rsqrt"});
  flags.number("warmup_steps", m.warmup_steps, "steps in which the learning rate rises from 0", 0, 1e9);
  flags.texts("learning_rate_multiplier",
              "REGEX=FACTOR: variables in whose names it is found learn at FACTOR times the rate; may be given several "
              "times, the first that is found counts; one that is found in none is an error");
  flags.text("optimizer", m.optimizer, "with Keras's defaults", models::optimizer_names());
  flags.number("momentum", 0.9, "of the optimizers momentum and rmsprop_momentum", 0, 1);
  flags.boolean("nesterov", false, "Nesterov's form, of the optimizer momentum");
  flags.number("weight_decay", 0,
               "decoupled: w -= learning_rate * weight_decay * w; adamw and muon: 0.004 unless given", 0, 10);
  if (!named || !has_own_epsilon(m))
    flags.number("epsilon", m.epsilon, "of Adam and its kin: what is added to the root of the mean square", 0, 1);
  add_dtype_flag(flags);
  add_replica_flags(flags);
  flags.number("clipnorm", 0, "limit of each gradient's norm; 0: none");
  flags.number("global_clipnorm", 0, "limit of the norm of all gradients; 0: none");
  if (named) return;
  for (const char* name : {"train_steps", "train_batch_size", "learning_rate", "learning_rate_schedule", "warmup_steps",
                           "optimizer", "epsilon"})
    flags.mark_by_model(name);
}

void add_replica_flags(Flags& flags) {
  flags.text(
      "all_reduce_dtype", "",
      "bf16: with several units or processes, what gradients are rounded to for their sum, which halves what is sent",
      {"bf16"});
  flags.boolean(
      "shard_optimizer_state", false,
      "with several units or processes, each keeps a part of what the optimizer keeps, and updates that part");
}

std::string given_replica_flag(const Flags& flags) {
  if (flags.has("all_reduce_dtype") && flags.given("all_reduce_dtype")) return "all_reduce_dtype";
  if (flags.get_or("shard_optimizer_state", false)) return "shard_optimizer_state";
  return {};
}

std::string of_one_replica(const std::string& flag, const std::string& device) {
  return format("--%s is for several units or processes; '%s' is one", flag.c_str(), device.c_str());
}

DType all_reduce_dtype_of(const Flags& flags) {
  return dtype_from_name(flags.get_or("all_reduce_dtype", std::string()));
}

void add_shape_flags(Flags& flags, const std::vector<std::string>& words) { kind_among(words).shape_flags(flags); }

void add_count_flag(Flags& flags, const std::vector<std::string>& words, const std::string& stem, const char* help) {
  const DataKind& kind = kind_among(words);
  const bool images = &kind == &kImages || &kind == &kVectors;
  flags.integer(stem + (images ? "_images" : "_examples"), 0, help, 0, 1e15);
  flags.alias(stem + (images ? "_examples" : "_images"), stem + (images ? "_images" : "_examples"));
}

void add_batch_flags(Flags& flags, const std::vector<std::string>& words) {
  if (const auto add = kind_among(words).batch_flags) add(flags);
}

void add_train_data_flags(Flags& flags, const std::vector<std::string>& words) {
  add_batch_flags(flags, words);
  kind_among(words).train_flags(flags);
}

void add_data_dir_flags(Flags& flags, const std::vector<std::string>& words) {
  flags.text("data_dir", "", "records as `tenon convert` writes them");
  add_shape_flags(flags, words);
}

void add_data_flags(Flags& flags, const std::vector<std::string>& words) {
  add_data_dir_flags(flags, words);
  flags.text("train_data_path", "", "training records elsewhere: a directory, or a pattern of files");
  flags.text("eval_data_path", "", "the same for evaluation");
  flags.integer("eval_batch_size", 0,
                "examples in a batch of evaluation, rounded down to a multiple of the device's units; 0: all, at most "
                "1024, fewer where an example is large",
                0, 1 << 24);
  add_count_flag(flags, words, "num_eval", "examples to evaluate or to predict, the first ones; 0: all");
  if (const auto add = kind_among(words).record_flags) add(flags);
  flags.boolean("skip_corrupt", false, "leave out damaged records and count them, where the default is to stop");
  flags.boolean("synthetic", false, "random examples instead of data");
}

void add_eval_flags(Flags& flags) {
  flags.boolean("eval_drop_remainder", false,
                "leave out the last examples that the units cannot share, as on a TPU unless --noeval_drop_remainder");
}

void add_trained_flags(Flags& flags) {
  flags.text("model_dir", "", "directory of the model; its newest checkpoint is taken");
  flags.text("checkpoint", "", "prefix of another checkpoint");
}

void add_run_flags(Flags& flags) {
  flags.text("model_dir", "", "directory of checkpoints; empty: nothing is kept");
  flags.alias("output_dir", "model_dir");
  flags.integer("iterations_per_loop", 0, "steps in one call of the device; 0: about half a second's", 0, 1e5);
  flags.integer("num_shards", 0, "cores that the device has to have; 0: any number", 0, 65536);
  flags.text("per_host_input_for_training", "true",
             "on a device of several hosts, who reads training data: true (per_host): each host a part of them; false "
             "(per_shard): each core; per_host_v2: each host, a core's batch at a time; broadcast, sliced: one for all",
             input_pipeline_names());
  flags.text("distribution_strategy", "default",
             "what the device has to be, as TensorFlow's models say it: one_device and off: of one unit; mirrored: a "
             "GPU or the processor; tpu: the same as --use_tpu",
             {"default", "one_device", "off", "mirrored", "tpu"});
  flags.text("log", "tenon", "whose lines: Tenon's, or on standard error those of TensorFlow's Estimator",
             {"tenon", "estimator"});
  add_device_flags(flags);
}

void add_device_flags(Flags& flags) {
  flags.boolean("deterministic", false, "let backends choose no kernel by the clock; cpu never does");
  flags.boolean("soft_placement", false,
                "run ops that the device lacks on cpu.so; says which, and what crosses in a step");
  flags.boolean("use_tpu", false, "the same as --device tpu-emulator");
  flags.text("tpu", "", "NAME, as v3-8: the same as --device tpu-emulator:NAME");
}

void expect_no_weights(const std::string& word) {
  for (const char* ending : {".pt", ".pth", ".keras", ".h5", ".safetensors"})
    if (word.ends_with(ending))
      throw UsageError{
          format("'%s' is a file of weights, and no model: a model by name takes it, `tenon train MODEL --weights %s`; "
                 "`tenon inspect weights %s` shows what it has; a model of another program comes as FILE.onnx",
                 word.c_str(), word.c_str(), word.c_str())};
}

}  // namespace tenon::runner

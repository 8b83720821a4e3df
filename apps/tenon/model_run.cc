#include "model_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "data/info_file.h"
#include "process.h"
#include "tenon/devices.h"
#include "tenon/processes.h"

namespace tenon::runner {
namespace {

// The model that is named among the words, which may hold values of flags too, or that a directory among them remembers.
const models::ModelInfo* model_among(const std::vector<std::string>& words) {
  for (const std::string& w : words)
    if (const models::ModelInfo* m = models::find_model(w)) return m;
  for (const std::string& w : words) try {
      if (const auto record = read_model_record(w)) return models::find_model(record->model);
    } catch (const Error&) {  // not a directory of ours, or said later
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

// Why nothing says which model is meant: there is none in the place that flags name.
[[noreturn]] void no_model(const Flags& flags) {
  for (const char* flag : {"checkpoint", "model_dir"}) {
    const std::string place = flags.get_or(flag, std::string());
    if (place.empty()) continue;
    std::error_code error;
    const bool exists = std::filesystem::exists(place, error),
               is_prefix = flag == std::string_view("checkpoint") && !exists;
    const bool records = !file_in(place, "info.json").empty(), made = !file_in(place, "checkpoint").empty();
    if (made)
      throw UsageError{
          format("--%s: '%s' has checkpoints, and no model.json, which says of what model: expected one of %s", flag,
                 place.c_str(), listed(model_names()).c_str())};
    throw Error(Status(Code::kUnavailable,
                       format("--%s: %s '%s'%s; `tenon train MODEL --data_dir DIR --model_dir DIR` makes one", flag,
                              is_prefix ? "no model.json beside"
                              : exists  ? "no model in"
                                        : "no directory",
                              place.c_str(),
                              records  ? ", which has records to train on"
                              : exists ? ", expected model.json in it"
                                       : "")));
  }
  throw UsageError{"--model_dir is missing"};
}

// Where the words name no model, that of the record.
const models::ModelInfo* model_of(const Flags& flags, const std::vector<std::string>& words,
                                  const std::optional<ModelRecord>& record, Contradiction contradiction) {
  if (words.empty() && record) return models::find_model(record->model);
  // Of a place that was named a model is expected, unless one is to be made there; what reads no data needs such a place.
  const bool named =
      !flags.get_or("checkpoint", std::string()).empty() || !flags.get_or("model_dir", std::string()).empty();
  const bool reads = contradiction == Contradiction::kRefuse && flags.has("model_dir");
  if (words.empty() && reads && (named || !flags.has("data_dir"))) no_model(flags);
  return models::find_model(only_word(words, "model", model_names()));
}

// The record of the directory that flags name, or of the checkpoint's.
std::optional<ModelRecord> remembered(const Flags& flags) {
  for (const char* place : {"checkpoint", "model_dir"})
    if (const std::string path = flags.get_or(place, std::string()); !path.empty())
      if (auto record = read_model_record(path)) return record;
  return std::nullopt;
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

InputPipelineConfig input_pipelines(const std::string& name) {
  for (const auto& [n, config] : kInputPipelines)
    if (n == name) return config;
  return InputPipelineConfig::kPerHostV1;
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> out;
  for (const models::ModelInfo& m : models::all_models()) out.push_back(m.name);
  return out;
}

namespace {

bool has_own_epsilon(const models::ModelInfo& m) {
  return std::any_of(m.flags.begin(), m.flags.end(), [](const models::ModelFlag& f) { return f.name == "epsilon"; });
}

}  // namespace

void add_model_flags(Flags& flags, const std::vector<std::string>& words) {
  const models::ModelInfo* model = model_among(words);
  if (!model) return;
  for (const models::ModelFlag& f : model->flags) flags.add({f.name, f.value, f.help, f.low, f.high, f.choices});
}

std::string list_of_models() {
  std::string out = "Models, each with flags of its own, which --help lists behind its name:\n";
  for (const models::ModelInfo& m : models::all_models()) out += format("  %-12s %s\n", m.name, m.description);
  return out;
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

ModelRun::ModelRun(const Flags& flags, const std::vector<std::string>& words, Contradiction contradiction)
    : flags_(flags),
      contradiction_(contradiction),
      record_(remembered(flags)),
      info_(model_of(flags, words, record_, contradiction)),
      json_(flags.boolean("json")) {
  if (record_ && record_->model != info_->name) {
    if (contradiction_ == Contradiction::kRefuse)
      throw UsageError{record_->path + " says that the model is '" + record_->model + "', not '" + info_->name + "'"};
    record_.reset();
  }
  for (const models::ModelFlag& f : info_->flags) params_.set(f.name, value_of({f.name, f.value, f.help}));
  for (const models::ModelFlag& f : info_->flags)
    for (const Flags::Flag& g : flags.all())
      if (g.name == f.name && g.value.index() == f.value.index()) params_.set(f.name, value_of(g));
  params_.set("optimizer", std::string(info_->optimizer));
  params_.set("learning_rate", info_->learning_rate);
  if (record_ && record_->flags.contains("dtype_policy")) params_.set("dtype_policy", record_->flags["dtype_policy"]);
  for (const char* name : {"train_steps", "learning_rate", "learning_rate_schedule", "warmup_steps", "optimizer",
                           "momentum", "nesterov", "epsilon", "clipnorm", "global_clipnorm", "dtype_policy"})
    for (const Flags::Flag& g : flags.all())
      if (g.name == name) params_.set(name, value_of(g));
  // The model's epsilon is that of its own optimizer; others have theirs.
  if (flags.has("epsilon") && flags.has("optimizer") && !flags.given("epsilon") &&
      flags.text("optimizer") != info_->optimizer && !has_own_epsilon(*info_))
    params_.set("epsilon", models::ModelInfo().epsilon);
  if (flags.has("transpose_input")) params_.set("transpose_input", flags.boolean("transpose_input"));
  if (flags.has("weight_decay") && flags.given("weight_decay"))
    params_.set("weight_decay", flags.number("weight_decay"));
  check_optimizer();
  check_dtypes();
  const models::ExampleInfo example = info_->example(params_);
  kind_ = &data_kind(example.kind);
  if (!flags.get_or("synthetic", false)) check_kind(flags.get_or("data_dir", std::string()));
  data_ = kind_->open({flags, *info_, params_, example, record_ ? &*record_ : nullptr, contradiction_});
  for (const auto& [name, value] : data_->numbers()) params_.set(name, value);
  params_.set("vocabulary", data_->vocabulary());
  if (info_->check) {
    if (const Status sizes = info_->check(params_); !sizes.ok()) throw UsageError{sizes.message()};
  }
}

// What a directory holds is of the kind that the model takes, where the directory says so.
void ModelRun::check_kind(const std::string& directory) const {
  const DataKind* const holds = kind_of_directory(directory);
  if (!holds || holds == kind_ || (holds == &kImages && kind_ == &kVectors)) return;  // --input says more of those
  std::vector<std::string> others;
  for (const models::ModelInfo& m : models::all_models()) {
    Params defaults;
    for (const models::ModelFlag& f : m.flags) defaults.set(f.name, f.value);
    if (m.example(defaults).kind == holds->name) others.push_back(m.name);
  }
  throw UsageError{format("%s takes %s, and '%s' holds %s, which %s take%s", info_->name, kind_->what,
                          directory.c_str(), holds->what, listed(others).c_str(), others.size() == 1 ? "s" : "")};
}

// What was given, else what the model directory remembers, else the default.
Params::Value ModelRun::value_of(const Flags::Flag& flag) const {
  if (!record_) return flag.value;
  const auto found = record_->flags.find(flag.name);
  if (found == record_->flags.end() || found->second.index() != flag.value.index()) return flag.value;
  if (!flag.given) return found->second;
  if (!(found->second == flag.value) && contradiction_ == Contradiction::kRefuse)
    throw UsageError{"--" + flag.name + " is not what " + record_->path + " says"};
  return flag.value;
}

ModelRecord ModelRun::record() const {
  ModelRecord out{{}, info_->name, {}, data_->numbers(), data_->labels(), data_->vocabulary(), data_->words()};
  for (const models::ModelFlag& f : info_->flags) out.flags[f.name] = params_.all().at(f.name);
  out.flags["dtype_policy"] = params_.get<std::string>("dtype_policy");
  return out;
}

// Flags that do nothing with this optimizer.
void ModelRun::check_optimizer() const {
  if (!flags_.has("optimizer")) return;
  const std::string& optimizer = flags_.text("optimizer");
  const auto only_for = [&](const char* flag, const std::vector<std::string>& those) {
    if (flags_.has(flag) && flags_.given(flag) && std::find(those.begin(), those.end(), optimizer) == those.end())
      throw UsageError{format("--%s does nothing with the optimizer %s; it is for %s", flag, optimizer.c_str(),
                              listed(those).c_str())};
  };
  only_for("momentum", {"momentum", "rmsprop_momentum"});
  only_for("beta_2", {"adam", "adamw", "adamax", "nadam", "lamb", "lion"});
  only_for("epsilon",
           {"adam", "adamw", "adamax", "nadam", "adagrad", "adadelta", "rmsprop", "rmsprop_momentum", "lamb"});
  if (flags_.get_or("shard_optimizer_state", false) && optimizer == "sgd")
    throw UsageError{"--shard_optimizer_state does nothing with the optimizer sgd, which keeps nothing"};
  if (flags_.boolean("nesterov")) only_for("nesterov", {"momentum"});
}

// Flags of several cores or hosts, on a device that has one; and a strategy that is not the device's.
void ModelRun::check_units(const std::string& device) const {
  const std::string strategy = flags_.get_or("distribution_strategy", std::string("default"));
  if (strategy != "default" && strategy != "tpu") {
    const ResolvedDevice found = resolve_device(device).take();
    if (strategy == "mirrored" ? found.kind == "accelerator" : found.replicas > 1)
      throw UsageError{format("--distribution_strategy %s is not for '%s', which has %d units of kind %s",
                              strategy.c_str(), found.device.c_str(), found.replicas, found.kind.c_str())};
  }
  const bool shards = flags_.get_or<int64_t>("num_shards", 0) > 1;
  const bool pipelines = flags_.has("per_host_input_for_training") && flags_.given("per_host_input_for_training");
  const std::string replicas = given_replica_flag(flags_);
  if (!shards && !pipelines && replicas.empty()) return;
  const ResolvedDevice found = resolve_device(device).take();
  if (found.replicas > 1) return;
  if (shards || pipelines)
    throw UsageError{format("--%s is for a device of several cores; '%s' has one",
                            shards ? "num_shards" : "per_host_input_for_training", found.device.c_str())};
  throw UsageError{of_one_replica(replicas, found.device)};
}

// Flags that do nothing with this dtype policy.
void ModelRun::check_dtypes() const {
  if (all_reduce_dtype_of(flags_) == DType::kBF16 && flags_.text("dtype_policy") == "bfloat16")
    throw UsageError{"--all_reduce_dtype bf16 does nothing with --dtype_policy bfloat16, whose gradients are bf16"};
}

int64_t ModelRun::train_batch() const {
  const int64_t batch = data_->train_batch();
  return batch > 0 ? batch : flags_.integer("train_batch_size");
}

namespace {

// The model, whose accuracy is shown while it trains.
ModelFn watched(const ModelFn& model) {
  return [model](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    EstimatorSpec spec = model(features, labels, mode, params);
    if (mode == Mode::kTrain)
      for (const auto& [name, metric] : spec.eval_metrics)
        if (name == "accuracy") spec.training_tensors.emplace_back(name, batch_value(metric));
    return spec;
  };
}

}  // namespace

Estimator ModelRun::estimator(const RunConfig& config, std::optional<WarmStartSettings> warm_start) const {
  check(join_processes());
  check(expect_same_in_processes("the arguments", std::string(info_->name) + " " + flags_.given_text()));
  Estimator out(watched(info_->model), config, params_, std::move(warm_start));
  out.set_events({});
  return out;
}

RunConfig ModelRun::run_config() const {
  RunConfig c;
  c.save_summary_steps = 0;  // unless training is told otherwise
  c.model_dir = flags_.get_or("model_dir", std::string());
  c.device = device_of(flags_);
  check_units(c.device);
  c.seed = static_cast<uint64_t>(flags_.get_or<int64_t>("seed", 0));
  c.iterations_per_loop = flags_.get_or<int64_t>("iterations_per_loop", 0);
  c.all_reduce_dtype = all_reduce_dtype_of(flags_);
  c.shard_optimizer_state = flags_.get_or("shard_optimizer_state", false);
  c.deterministic = flags_.boolean("deterministic");
  c.soft_placement = flags_.boolean("soft_placement");
  c.log_lines = estimator_log() ? LogLines::kEstimator : quiet() ? LogLines::kWarnings : LogLines::kTenon;
  c.tpu = TPUConfig{.iterations_per_loop = c.iterations_per_loop,
                    .num_shards = static_cast<int>(flags_.get_or<int64_t>("num_shards", 0)),
                    .per_host_input_for_training =
                        input_pipelines(flags_.get_or("per_host_input_for_training", std::string("true")))};
  return c;
}

bool ModelRun::quiet() const { return flags_.has("quiet") && flags_.boolean("quiet"); }
bool ModelRun::estimator_log() const { return flags_.has("log") && flags_.text("log") == "estimator"; }

void ModelRun::print_info(const std::string& line) const {
  if (json_)
    print_line(Json("info").add("message", line).str());
  else
    print_line(line);
}

RunEvents ModelRun::events() const {
  RunEvents e;
  const auto to_stderr = [](const std::string& line) { print_error(line); };
  e.on_info = [this](const std::string& line) { print_info(line); };
  if (json_) e.on_device_log = to_stderr;
  e.device_details = flags_.boolean("verbose");
  if (quiet() || estimator_log()) e.on_info = to_stderr;
  if (quiet()) return e;
  const bool verbose = flags_.boolean("verbose"), json = json_;
  e.on_checkpoint = [verbose, json](int64_t step, const std::string& path) {
    if (json)
      print_line(Json("checkpoint").add("step", step).add("path", path).str());
    else if (verbose)
      print_line(format("saved step %ld to %s", static_cast<long>(step), path.c_str()));
  };
  return e;
}

}  // namespace tenon::runner

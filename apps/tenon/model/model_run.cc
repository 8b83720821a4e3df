#include "model/model_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "data/info_file.h"
#include "model/kept_file.h"
#include "onnx/dims.h"
#include "process.h"
#include "tenon/devices.h"

namespace tenon::runner {
namespace {

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
                 place.c_str(), listed_models().c_str())};
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
  // A place that was named has to have a model, unless one is to be made there; what reads no data needs such a place.
  const bool named =
      !flags.get_or("checkpoint", std::string()).empty() || !flags.get_or("model_dir", std::string()).empty();
  const bool reads = contradiction == Contradiction::kRefuse && flags.has("model_dir");
  if (words.empty() && reads && (named || !flags.has("data_dir"))) no_model(flags);
  if (words.size() != 1)
    throw UsageError{format("expected one model (%s), found %zu", listed_models().c_str(), words.size())};
  if (const models::ModelInfo* found = models::find_model(words[0])) return found;
  expect_no_weights(words[0]);
  const std::string near = nearest_word(words[0], model_names());
  throw UsageError{
      format("no model '%s'; %s", words[0].c_str(),
             near.empty() ? ("expected " + listed_models()).c_str() : ("did you mean '" + near + "'?").c_str())};
}

// The record of the directory that flags name, or of the checkpoint's.
std::optional<ModelRecord> remembered(const Flags& flags) {
  for (const char* place : {"checkpoint", "model_dir"})
    if (const std::string path = flags.get_or(place, std::string()); !path.empty())
      if (auto record = read_model_record(path)) return record;
  return std::nullopt;
}

}  // namespace

ModelRun::ModelRun(const Flags& flags, const std::vector<std::string>& words, Contradiction contradiction)
    : flags_(flags),
      contradiction_(contradiction),
      record_(remembered(flags)),
      info_(model_of(flags, words, record_, contradiction)),
      json_(flags.boolean("json")) {
  if (record_ && !is_same_model(record_->model, info_->name)) {
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
  for (const char* name :
       {"train_steps", "learning_rate", "learning_rate_schedule", "warmup_steps", "optimizer", "momentum", "nesterov",
        "epsilon", "clipnorm", "global_clipnorm", "dtype_policy", "learning_rate_multiplier"})
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
  if (flags.has("dim")) (void)dims_of(flags);
  const models::ExampleInfo example = info_->example(params_);
  kind_ = &data_kind(example.kind);
  if (!info_->no_data.ok() && flags.has("synthetic") && !flags.boolean("synthetic")) throw Error(info_->no_data);
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

ExportOptions ModelRun::export_options() const {
  return {.labels = data_->labels(), .images = data_->exported_images()};
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
  if (const auto rates = models::learning_rate_multipliers(params_); !rates.ok())
    throw UsageError{"--" + rates.status().message()};
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
  meet_processes();
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
  c.begins_trained = info_->is_file && c.model_dir.empty();  // a directory that was named has to have a checkpoint
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

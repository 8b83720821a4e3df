// What a model reads: records or made-up examples, for training, evaluation and prediction.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "model/model_run.h"
#include "tenon/convert.h"
#include "tenon/devices.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

// The part of the data that one of several pipelines reads, and draws for as no other does.
InputOptions part_of(InputOptions o, const InputContext& context) {
  o.batch_size = context.batch_size;
  o.shard_index = context.input_pipeline_id;
  o.shard_count = context.num_input_pipelines;
  o.seed += static_cast<uint64_t>(context.input_pipeline_id) * 0x9e3779b97f4a7c15u;
  return o;
}

bool is_directory(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

}  // namespace

InputOptions ModelRun::input_options(int64_t batch_size, bool training) const {
  InputOptions o;
  o.batch_size = batch_size;
  o.training = o.repeat = o.drop_remainder = training;
  o.seed = static_cast<uint64_t>(flags_.integer("seed"));
  return o;
}

InputOptions ModelRun::places(const char* path_flag, InputOptions o) const {
  const std::string& path = flags_.text(path_flag);
  if (!path.empty() && !is_directory(path)) {
    o.file_pattern = path;
    return o;
  }
  o.data_dir = path.empty() ? flags_.text("data_dir") : path;
  if (o.data_dir.empty())
    throw UsageError{"--data_dir is missing; `tenon convert` makes one, --synthetic does without"};
  if (!is_directory(o.data_dir))
    throw Error(Status(Code::kUnavailable, "--" + std::string(path.empty() ? "data_dir" : path_flag) +
                                               ": no directory '" + o.data_dir + "'"));
  check(check_conversion(o.data_dir));
  check_kind(o.data_dir);
  o.split = data_->split(o.training);
  return o;
}

// Its backends are tried in processes, of which the system may give so few that the threads of the pool would take them all.
// What fails here is said where the device is opened.
void ModelRun::try_device() const { (void)resolve_device(device_of(flags_)); }

Dataset ModelRun::train_data(int64_t batch_size) const { return train_part({.batch_size = batch_size}); }

void ModelRun::say_left_out(const Dataset& data, const char* what, const Say& say) const {
  if (data.left_out() > 0)
    say(format("%s: left out %s, longer than max_length, %ld", what, counted(data.left_out(), "example").c_str(),
               static_cast<long>(params_.get<int64_t>("max_length"))));
}

Dataset ModelRun::train_part(const InputContext& context) const {
  const InputOptions options = part_of(input_options(context.batch_size, true), context);
  try_device();
  if (flags_.boolean("synthetic")) return made_up(options);
  return data_->records(places("train_data_path", options));
}

// Training begins anew after each evaluation; files are indexed once.
TrainInput ModelRun::train_input(const Dataset& all) const {
  const auto parts = std::make_shared<std::map<int, Dataset>>();
  const InputFn part = [this, all, parts](const InputContext& context, const Params&) -> Result<Dataset> {
    if (context.num_input_pipelines == 1 && context.batch_size == all.options().batch_size) return all;
    const auto found = parts->find(context.input_pipeline_id);
    if (found != parts->end()) return found->second;
    return parts->emplace(context.input_pipeline_id, train_part(context)).first->second;
  };
  return {part, all.options().batch_size};
}

int64_t ModelRun::eval_batch(int64_t examples, const Say& say, const std::string& passed_over) const {
  const int64_t limit =
      flags_.integer("num_eval_examples") > 0 ? std::min(flags_.integer("num_eval_examples"), examples) : examples;
  const int64_t wanted = flags_.integer("eval_batch_size");
  if (wanted > limit)
    throw Error(Status(Code::kInvalid, format("--eval_batch_size %ld is larger than the %ld examples to evaluate%s%s",
                                              static_cast<long>(wanted), static_cast<long>(limit),
                                              passed_over.empty() ? "" : "; ", passed_over.c_str())));
  const std::string device = device_of(flags_);
  const int64_t units = resolve_device(device).take().replicas;
  if (wanted > 0) {
    const int64_t batch = std::max(wanted / units, int64_t{1}) * units;
    if (batch != wanted)
      say(format("--eval_batch_size %ld becomes %ld: a multiple of the %ld units of %s", static_cast<long>(wanted),
                 static_cast<long>(batch), static_cast<long>(units), device.c_str()));
    return batch;
  }
  const int64_t bytes = static_cast<int64_t>(data_->features()[0].type.bytes());
  const int64_t fitting = std::max<int64_t>((int64_t{64} << 20) / std::max<int64_t>(bytes, 1), 1);
  return std::max(std::min({int64_t{1024}, limit, fitting}) / units, int64_t{1}) * units;
}

EvalSpec ModelRun::eval_spec(const Dataset& data) const {
  const ResolvedDevice device = resolve_device(device_of(flags_)).take();
  const int64_t asked = flags_.integer("num_eval_examples");
  const int64_t examples = asked > 0 ? std::min(asked, data.size()) : data.size();
  const bool few = examples < device.replicas, given = flags_.given("eval_drop_remainder");
  const bool drop = given ? flags_.boolean("eval_drop_remainder") : device.kind == "accelerator" && !few;
  if (drop && few)
    throw UsageError{format("--eval_drop_remainder leaves out all of the %s to evaluate: '%s' has %d units",
                            counted(examples, "example").c_str(), device.device.c_str(), device.replicas)};
  return {.input = data, .examples = asked, .drop_remainder = drop};
}

Dataset ModelRun::eval_data(const Say& say, bool in_order) const {
  if (flags_.boolean("synthetic")) return synthetic(eval_batch(1024, say), false);
  const InputOptions one = places("eval_data_path", input_options(1, false));
  try_device();
  const Dataset all = data_->records(one);
  InputOptions o = one;
  o.batch_size = eval_batch(all.size(), say, all.passed_over());
  if (in_order) o.interleave = 1;
  const Dataset data = data_->records(o);
  say_left_out(data, "evaluation", say);
  return data;
}

Dataset ModelRun::file_data(const std::vector<std::string>& paths, const Say& say) const {
  try_device();
  return data_->files(paths, input_options(eval_batch(static_cast<int64_t>(paths.size()), say), false));
}

Dataset ModelRun::synthetic(int64_t batch_size, bool training) const {
  InputOptions o;
  o.batch_size = batch_size;
  o.training = o.repeat = training;
  o.seed = static_cast<uint64_t>(flags_.get_or<int64_t>("seed", 0));
  return made_up(o);
}

Dataset ModelRun::made_up(const InputOptions& given) const {
  constexpr int64_t kExamples = 1 << 16;
  InputOptions o;
  o.batch_size = given.batch_size;
  o.training = o.repeat = given.training;
  o.seed = given.seed;
  o.shard_index = given.shard_index;
  o.shard_count = given.shard_count;
  const int64_t least = given.training ? kExamples : 1024;
  return Dataset::from_function(std::max(least, o.batch_size * o.shard_count), data_->features(),
                                data_->random_example(), o)
      .take();
}

}  // namespace tenon::runner

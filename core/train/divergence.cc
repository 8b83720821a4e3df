// What a loss that is not finite says of the checkpoints.
//
// One whose weights had diverged loads, and fails at its first step each time. So after such a loss the checkpoints do one
// step each, newest first, on the batch with which training would go on; so do first values. Where theirs is a number,
// input and model are sound, and a checkpoint that gives none, or an absurd one, is set aside.
#include <cmath>

#include "train/estimator_impl.h"

namespace tenon {
namespace {

bool has_diverged(float loss, float reference) {
  constexpr float kAbsurd = 1e6f;
  return !(std::fabs(loss) <= kAbsurd * std::max(std::fabs(reference), 1.0f));  // NaN too
}

std::string base_name(const std::string& prefix) { return prefix.substr(prefix.rfind('/') + 1); }

std::vector<std::string> base_names(std::vector<std::string> prefixes) {
  for (std::string& prefix : prefixes) prefix = base_name(prefix);
  return prefixes;
}

// `prefixes` newest first, those of `bad` set aside.
std::string aftermath(std::vector<std::string> prefixes, const std::vector<std::string>& bad) {
  std::string out;
  if (!bad.empty()) {
    std::vector<std::string> now;
    for (const std::string& prefix : bad) now.push_back(set_aside_name(base_name(prefix)));
    out = cat("; ", join(base_names(bad)), " had diverged, now called ", join(now));
    std::erase_if(prefixes, [&](const std::string& p) { return std::find(bad.begin(), bad.end(), p) != bad.end(); });
  }
  if (prefixes.empty()) return cat(out, "; training starts anew");
  append(out, cat("; training goes on from ", prefixes[0]));
  const std::vector<std::string> older = base_names({prefixes.begin() + 1, prefixes.end()});
  if (bad.empty() && !older.empty()) append(out, cat(", or from ", join(older), " once what is newer is removed"));
  return out;
}

}  // namespace

Result<float> Estimator::Impl::first_loss(ModeProgram& program, const StepInput& data, const PipelineState& at,
                                          const BundleReader* checkpoint) {
  StateStore trial(device, queue, config.seed);
  TENON_TRY(trial.provide(program.executable().graph, checkpoint));
  program.bind(trial);
  TENON_ASSIGN(const std::unique_ptr<BatchFeed> feed, BatchFeed::create(program, data, at));
  TENON_ASSIGN(const uint32_t done, program.run(queue, 1, feed.get()));
  TENON_TRY(feed->status());
  if (done == 0) return Status(Code::kUnavailable, "the input has ended");
  std::vector<float> loss;
  TENON_TRY(program.read_rows(queue, "loss", 1, loss));
  return loss[0];
}

Result<std::vector<std::string>> Estimator::Impl::diverged(ModeProgram& program, const StepInput& data,
                                                           const std::vector<std::string>& prefixes) {
  TENON_ASSIGN(const BundleReader newest, BundleReader::open(prefixes[0]));
  TENON_ASSIGN(const PipelineState at, input_of(newest));
  TENON_ASSIGN(const float reference, first_loss(program, data, at, nullptr));
  if (!std::isfinite(reference))
    return invalid("first values give no finite loss either: the input or the model is at fault");
  std::vector<std::string> bad;
  for (const std::string& prefix : prefixes) {
    TENON_TRY(interruption());
    Result<BundleReader> reader = BundleReader::open(prefix);
    const Result<float> loss = reader.ok() ? first_loss(program, data, at, &*reader) : Result<float>(reader.status());
    if (!loss.ok()) continue;  // damaged, or of another model: not for us to judge
    if (!has_diverged(*loss, reference)) break;
    bad.push_back(prefix);
  }
  return bad;
}

std::string Estimator::Impl::judge(ModeProgram& program, const StepInput& data, CheckpointManager& manager) {
  const Result<std::vector<std::string>> prefixes = manager.prefixes();
  if (!prefixes.ok() || prefixes->empty()) return {};
  const Result<std::vector<std::string>> bad = diverged(program, data, *prefixes);
  if (!bad.ok()) return cat("; ", bad.status().message(), aftermath(*prefixes, {}));
  if (bad->empty()) return aftermath(*prefixes, {});
  if (const Status s = manager.set_aside(*bad); !s.ok()) return cat("; ", s.message());
  return aftermath(*prefixes, *bad);
}

Status Estimator::Impl::judged(const Status& why, const TrainInput& input) {
  const auto with = [&](const std::string& more) { return Status(why.code(), cat(why.message(), more)); };
  discard();
  Result<CheckpointManager> manager = CheckpointManager::open(config.model_dir, config.keep_checkpoint_max);
  if (!manager.ok()) return why;
  Result<StepInput> data = step_input(input);
  if (!data.ok()) return why;
  Result<std::unique_ptr<ModeProgram>> train = program(data->specs(), data->batch_size, Mode::kTrain, 1);
  return train.ok() ? with(judge(**train, *data, *manager)) : why;
}

}  // namespace tenon

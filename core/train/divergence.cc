// What a loss that is not finite says of its batch and of the checkpoints.
//
// A checkpoint whose weights have diverged loads, and fails at its first step each time. But the batch that failed is no
// judge of that: one enormous number in it spoils the loss of weights that are sound. So checkpoints do one step each,
// newest first, on witnesses: other batches, on which first values give a finite loss. One that gives no finite loss, or an
// absurd one, on all of them has diverged and is set aside. Where that would leave none, only those go whose weights are
// absurd by themselves, whatever the data: training does not start anew on the word of the data alone.
// Several processes judge together: each does its share of the witnesses' steps, the first one says what was interrupted and renames.
#include <cmath>

#include "base/process/job.h"
#include "exchange/world.h"
#include "tenon/checkpoint.h"
#include "tenon/processes.h"
#include "train/estimator_impl.h"

namespace tenon {
namespace {

constexpr double kAbsurdWeight = 1e6;
constexpr size_t kWitnesses = 3;

std::vector<std::string> base_names(std::vector<std::string> prefixes) {
  for (std::string& prefix : prefixes) prefix = name_of(prefix);
  return prefixes;
}

// What is left to go on from, newest first.
std::string goes_on(const std::vector<std::string>& prefixes, bool or_older) {
  if (prefixes.empty()) return "; training starts anew";
  std::string out = cat("; training goes on from ", prefixes[0]);
  const std::vector<std::string> older = base_names({prefixes.begin() + 1, prefixes.end()});
  if (or_older && !older.empty()) append(out, cat(", or from ", join(older), " once what is newer is removed"));
  return out;
}

// The first samples of batches that share none with the one that failed: before `at`, which the newest checkpoint has
// learned from, and behind.
std::vector<uint64_t> places_of_witnesses(uint64_t at, std::optional<uint64_t> failed, uint64_t batch) {
  const uint64_t behind = failed ? *failed + batch : at;
  std::vector<uint64_t> places;
  const auto add = [&](uint64_t place) {
    const bool shares = failed && place < *failed + batch && *failed < place + batch;
    if (!shares && std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  };
  if (at >= batch) add(at - batch);
  add(behind);
  add(at / batch / 2 * batch);
  add(0);
  add(behind + batch);
  return places;
}

// Whether a trained variable holds values that no training in its right mind leaves behind.
Result<bool> has_absurd_weights(const std::string& prefix, const Graph& graph) {
  TENON_ASSIGN(const CheckpointFile file, CheckpointFile::open(prefix));
  for (const Variable& v : graph.variables) {
    if (v.kind != VariableKind::kWeight || !v.trainable) continue;
    bool absurd = false;
    TENON_TRY(file.read(v.name, [&](std::span<const double> values) {
      absurd =
          absurd || !std::all_of(values.begin(), values.end(), [](double x) { return std::fabs(x) <= kAbsurdWeight; });
    }));
    if (absurd) return true;
  }
  return false;
}

}  // namespace

bool is_absurd(float loss, float reference) {
  constexpr double kMost = 1e6;  // times the reference, or times 1
  return !std::isfinite(loss) || std::fabs(loss) > kMost * std::max(std::fabs(double{reference}), 1.0);
}

// The judgement after one failure. The function is one of training; its states are not those of before.
class Estimator::Divergence {
 public:
  Divergence(Impl& m, TracedFunction& function, const StepInput& data, std::optional<PipelineState> failed)
      : m_(m), function_(function), data_(data), failed_(failed) {}

  // The feature that made the batch fail because it is no finite number; "" when all are.
  Result<std::string> bad_feature() {
    if (!read_failed().ok()) farthest_ = {};
    TENON_TRY(find_farthest_of_all());
    return std::isfinite(farthest_.value) ? std::string() : cat("; ", farthest_.text);
  }

  Result<std::string> judge(CheckpointManager& manager) {
    TENON_ASSIGN(const std::vector<std::string> prefixes, manager.prefixes());
    if (prefixes.empty()) return std::string();
    if (!std::isfinite(farthest_.value)) return goes_on(prefixes, false);
    TENON_TRY(call_witnesses(prefixes[0]));
    if (witnesses_.empty())
      return cat("; first values give no finite loss on any batch either: the input or the model is at fault",
                 goes_on(prefixes, true));
    TENON_ASSIGN(std::vector<std::string> bad, diverged(prefixes));
    if (bad.empty()) return cat(blame(), goes_on(prefixes, true));
    return set_aside(manager, prefixes, std::move(bad));
  }

 private:
  struct Witness {
    PipelineState at;
    float reference;  // of first values
  };

  Status read_failed() {
    if (!failed_) return {};
    TENON_TRY(function_.open(data_, *failed_));
    BatchFeed& feed = *function_.feed();
    std::vector<Buffer*> feeds(static_cast<size_t>(function_.executable().n_feeds));
    if (feed.next(0, feeds)) farthest_ = feed.farthest();
    return feed.status();
  }

  // Each process has seen its rows of the batch.
  Status find_farthest_of_all() {
    World* const world = World::joined();
    if (!world) return {};
    std::vector<double> values(static_cast<size_t>(world->count()));
    TENON_TRY(world->gather(&farthest_.value, values.data(), sizeof farthest_.value));
    TENON_ASSIGN(std::vector<std::string> texts, gather_from_processes(farthest_.text));
    farthest_ = {};
    for (size_t r = 0; r < values.size() && std::isfinite(farthest_.value); ++r)
      if (!std::isfinite(values[r]) || std::fabs(values[r]) > std::fabs(farthest_.value)) farthest_ = {values[r], texts[r]};
    return {};
  }

  Status interruption() const {
    const Status own = m_.interruption();
    if (!as_first_says(!own.ok())) return {};
    return own.ok() ? Status(Code::kUnavailable, "process 0 was interrupted") : own;
  }

  // The loss of one step on the batch at `at` from a checkpoint's states, or from first values.
  Result<float> first_loss(const PipelineState& at, const TensorFile* checkpoint) {
    VariableStore trial(m_.device, m_.queue, m_.config.seed);
    TENON_TRY(trial.provide(function_.executable().graph, checkpoint));
    TENON_TRY(function_.bind(trial));
    TENON_TRY(function_.open(data_, at));
    TENON_ASSIGN(const StepCall call, function_.take(1));
    TENON_TRY(function_.feed()->status());
    if (call.steps == 0) return Status(Code::kUnavailable, "the input has ended");
    TENON_ASSIGN(const Array loss, function_.result(call, "loss"));
    return static_cast<float>(loss.item());
  }

  Status call_witnesses(const std::string& newest) {
    TENON_ASSIGN(const TensorFile checkpoint, TensorFile::open(newest));
    TENON_ASSIGN(const PipelineState at, Impl::input_of(checkpoint));
    const auto failed = failed_ ? std::optional(failed_->samples) : std::nullopt;
    for (const uint64_t place : places_of_witnesses(at.samples, failed, static_cast<uint64_t>(data_.batch_size))) {
      if (witnesses_.size() == kWitnesses) break;
      TENON_TRY(interruption());
      const PipelineState from{place, at.fingerprint, at.data};
      const Result<float> loss = first_loss(from, nullptr);
      if (loss.ok() && std::isfinite(*loss)) witnesses_.push_back({from, *loss});
    }
    dismiss();
    return {};
  }

  // Batches that are themselves enormous beside the others judge nothing.
  void dismiss() {
    const auto less = [](const Witness& a, const Witness& b) {
      return std::fabs(a.reference) < std::fabs(b.reference);
    };
    const auto least = std::min_element(witnesses_.begin(), witnesses_.end(), less);
    if (least == witnesses_.end()) return;
    const float reference = least->reference;
    std::erase_if(witnesses_, [&](const Witness& w) { return is_absurd(w.reference, reference); });
  }

  // Whether all witnesses speak against it. One that is damaged, or of another model, is not for us to judge.
  Result<bool> has_diverged(const std::string& prefix) {
    const Result<TensorFile> checkpoint = TensorFile::open(prefix);
    if (!checkpoint.ok()) return checkpoint.status();
    for (const Witness& witness : witnesses_) {
      TENON_TRY(interruption());
      TENON_ASSIGN(const float loss, first_loss(witness.at, &*checkpoint));
      if (!is_absurd(loss, witness.reference)) return false;
    }
    return true;
  }

  Result<std::vector<std::string>> diverged(const std::vector<std::string>& prefixes) {
    std::vector<std::string> bad;
    for (const std::string& prefix : prefixes) {
      TENON_TRY(interruption());
      const Result<bool> found = has_diverged(prefix);
      if (!found.ok()) continue;
      if (!*found) break;
      bad.push_back(prefix);
    }
    return bad;
  }

  // The newest checkpoint is sound. Whether the batch is to blame then: first values fare ill with it too.
  std::string blame() {
    if (!failed_) return {};
    const Result<float> loss = first_loss(*failed_, nullptr);
    float most = 0;
    for (const Witness& witness : witnesses_) most = std::max(most, std::fabs(witness.reference));
    if (!loss.ok() || !is_absurd(*loss, most)) return {};
    return cat("; the input is at fault: first values give a loss of ", *loss, " on its batch, of at most ", most,
               " on others", farthest_.text.empty() ? "" : cat("; ", farthest_.text));
  }

  // Those checkpoints, of all that the witnesses' word is against, with weights that no data make sound.
  Result<std::vector<std::string>> absurd(const std::vector<std::string>& bad) const {
    std::vector<std::string> out;
    for (const std::string& prefix : bad) {
      TENON_ASSIGN(const bool absurd, has_absurd_weights(prefix, function_.executable().graph));
      if (absurd) out.push_back(prefix);
    }
    return out;
  }

  Result<std::string> set_aside(CheckpointManager& manager, std::vector<std::string> prefixes,
                                std::vector<std::string> bad) {
    if (bad.size() == prefixes.size()) {
      TENON_ASSIGN(bad, absurd(bad));
      if (bad.empty())
        return cat(
            "; no checkpoint gives a finite loss on other batches, though first values do; their weights look sound, "
            "so all are kept: see whether the input is as it should be, or remove ",
            join(base_names(prefixes)), " for training to start anew");
    }
    std::erase_if(prefixes, [&](const std::string& p) { return std::find(bad.begin(), bad.end(), p) != bad.end(); });
    std::vector<std::string> now;
    TENON_TRY(as_first_does([&]() -> Status {
      TENON_ASSIGN(now, manager.set_aside(bad));
      return {};
    }));
    return cat("; ", join(base_names(bad)), " had diverged, now called ", join(now), goes_on(prefixes, false));
  }

  Impl& m_;
  TracedFunction& function_;
  const StepInput& data_;
  std::optional<PipelineState> failed_;
  BatchFeed::FarFeature farthest_;
  std::vector<Witness> witnesses_;
};

std::string Estimator::Impl::judge(TracedFunction& function, const StepInput& data, CheckpointManager* manager,
                                   std::optional<PipelineState> failed, const std::string& variable) {
  Divergence judgement(*this, function, data, failed);
  const Result<std::string> feature = judgement.bad_feature();
  if (!feature.ok()) return cat("; ", feature.status().message());
  std::string out = *feature;
  if (out.empty() && !variable.empty()) out = cat("; variable '", variable, "' holds nan or infinity behind it");
  if (!manager) return out;
  const Result<std::string> more = judgement.judge(*manager);
  return cat(out, more.ok() ? *more : cat("; ", more.status().message()));
}

Status Estimator::Impl::with_cause(const Status& why, const TrainInput& input) {
  const auto with = [&](const std::string& more) { return Status(why.code(), cat(why.message(), more)); };
  discard();
  Result<CheckpointManager> manager = open_checkpoints(config);
  if (!manager.ok()) return why;
  Result<StepInput> data = step_input(input);
  if (!data.ok()) return why;
  Result<std::unique_ptr<TracedFunction>> train = function(data->specs(), data->batch_size, Mode::kTrain, 1);
  return train.ok() ? with(judge(**train, *data, &*manager, {}, {})) : why;
}

}  // namespace tenon

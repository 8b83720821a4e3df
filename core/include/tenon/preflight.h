// Whether a machine would take a model, and what a step would take there, without training and without the machine.
//
//   TENON_ASSIGN(Preflighter machine, Preflighter::open("tpu-emulator:v3-8"));
//   TENON_ASSIGN(Preflight p, machine.run(model, params, {{"image", {DType::kF32, {28, 28, 1}}},
//                                                         {"label", {DType::kI32, {}}}}, {.batch_size = 1024}));
//   if (p.verdict == Verdict::kAccepted) std::printf("%.3g ms a step\n", p.step.step_ms);
//
// The model's training graph is built for one unit's part of the batch and compiled; nothing of the size of weights or
// batch is allocated. Works for devices that predict; others are an error of open.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/estimator.h"
#include "tenon/predicted_step.h"

namespace tenon {

enum class Verdict { kAccepted, kRefused, kOutOfMemory };
std::string_view verdict_name(Verdict verdict);  // "accepted", "refused", "oom"

struct PreflightOptions {
  int64_t batch_size = 128;       // of all units together
  int iterations_per_loop = 100;  // steps in one call of the device
  bool soft_placement = false;    // ops that the device lacks run on cpu.so; `warnings` say which
  // One program for all batches of up to batch_size rows (BoundedDim of tenon/strategy.h) instead of batches of that
  // size.
  bool bounded_batch = false;
  DType all_reduce_dtype = DType::kNone;  // as of a StrategyOptions
  bool shard_optimizer_state = false;
};

struct Preflight {
  Verdict verdict = Verdict::kRefused;
  Status status;  // why not, in the device's own words, which may have several lines; ok when accepted
  int64_t batch_size = 0, unit_batch_size = 0;
  int64_t parameters = 0;  // all of them, moving averages included
  struct Input {
    std::string name, type;
  };
  std::vector<Input> inputs;  // on one unit: "image", "f32[128,28,28,1]", or "f32[<=128,28,28,1]" of a bounded batch
  PlannedMemory memory;       // when accepted and on kOutOfMemory
  PredictedStep step;         // when accepted
  std::string warnings;       // lines of the compiler
  double examples_per_second() const {
    return step.step_ms > 0 ? static_cast<double>(batch_size) * 1e3 / step.step_ms : 0;
  }
};

// An open device that predicts. Any thread may run several models at a time.
class Preflighter {
 public:
  // kUnsupported when the device does not predict.
  static Result<Preflighter> open(const std::string& device);
  Preflighter(Preflighter&&) noexcept;
  ~Preflighter();

  // A model that the machine refuses is a verdict; a mistake of the model function is an error. `features` are those of
  // an example, "label" among them.
  Result<Preflight> run(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& features,
                        const PreflightOptions& options) const;

  const std::string& device() const;  // "tpu-emulator:v3-8"
  int units() const;

 private:
  struct Impl;
  explicit Preflighter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// open() and run() at once.
Result<Preflight> preflight(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& features,
                            const std::string& device, const PreflightOptions& options);

// The machines that a backend predicts for: what may follow "tpu-emulator:". Empty when it does not say.
Result<std::vector<std::string>> machine_names(std::string_view backend);

}  // namespace tenon

// Profiles of training: what ran when, on the device and on the host, in files that TensorBoard's profile plugin and
// Perfetto open (share/doc/profiling.md).
//
//   ProfilerHook profiler({.directory = "/tmp/m", .first_step = 10, .last_step = 20});
//   estimator.train({.input = data, .steps = 100, .hooks = {&profiler}});   // RunConfig::trace is true
//   check(profiler.status());
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tenon/estimator.h"

namespace tenon {

struct ProfileOptions {
  std::string directory = {};  // the files are made in plugins/profile/RUN below it; RUN is the time of day
  // The first and the last step that is traced, counted from 1 among the steps that the hook sees. A call of the device
  // ends before the one and after the other.
  int64_t first_step = 10, last_step = 20;
};

struct WrittenProfile {
  std::string xplane, chrome_trace;  // paths, of several processes this one's; empty: nothing was written
  std::string device;                // "tpu-emulator:v3-8"
  bool predicted = false;            // all times are what the device predicts; nothing in them was measured
  int64_t steps = 0;                 // that are in it
};

// Traces one span of steps, which ends early where train() does. A device that cannot be traced, a RunConfig without
// trace and a directory that cannot be made are errors of train(), before its first step; what goes wrong later leaves
// training alone and is found in status(). One thread at a time; outlives the calls of train() that it is given to.
class ProfilerHook : public TrainingHook {
 public:
  explicit ProfilerHook(ProfileOptions options);
  ~ProfilerHook() override;

  // Ok once the files are written; until then why there are none.
  Status status() const;
  const WrittenProfile& written() const;

  Status attach(TrainingSite& site) override;
  int64_t most_steps(int64_t step) const override;
  void begin(int64_t step) override;
  bool after_run(int64_t step, std::span<const float> losses) override;
  void end(int64_t step) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

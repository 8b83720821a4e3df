// The log of a TPU system, line by line as TensorFlow's TPUEstimator writes it, as details (debug): found, initialised,
// infeed and outfeed for each call, shut down. Between them, for information and apart from each other: the time of a step
// as predicted for the TPU, and as measured on this machine.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "machine/machine.h"
#include "tenon/abi/plugin.h"

namespace tpu {

class SystemLog {
 public:
  explicit SystemLog(const tenon_host& host) : host_(host) {}

  // `seconds`: what it took to open it.
  void found(const Machine& machine, double seconds);
  // Around a call that is fed: before its first batch, and when it is done.
  void begin_call(uint32_t iterations);
  // `program` tells training from evaluation, whose steps take other times: a number from 1 that no other program of the
  // device has, or had (an address would come again).
  void end_call(uint64_t program, uint32_t iterations, double predicted_step_s, double seconds);
  // Nothing when the system was never initialised.
  void shut_down();

 private:
  // Lines are gathered under the lock and logged without it: the host may not be called under one.
  struct Line {
    tenon_log_level level;
    std::string text;
  };
  using Lines = std::vector<Line>;
  void log(const Lines& lines) const;
  void say_step_time(Lines& lines);

  const tenon_host& host_;
  std::string machine_;
  double opening_s_ = 0;
  std::mutex mutex_;
  bool initialised_ = false;
  uint64_t calls_ = 0;
  // The program that ran last.
  uint64_t program_ = 0;
  bool first_call_ = false;
  uint64_t measured_steps_ = 0;
  double measured_s_ = 0, predicted_step_s_ = 0;
  std::chrono::steady_clock::time_point said_{};
};

}  // namespace tpu

// Which of two that work at the same time waits for the other: the input that makes batches, or the device that takes
// them.
#pragma once

#include <cstdint>

namespace tenon {

// Each is measured by how long it was at work, without what it waited for the other.
struct Throughput {
  int64_t examples = 0;      // that the device has taken, in whole batches
  double input_seconds = 0;  // in which batches were being made
  double device_seconds =
      0;  // in calls of the device, but for what they waited; of one that computes meanwhile the least

  // Examples a second that each would do if the other took no time.
  double input_rate() const { return static_cast<double>(examples) / input_seconds; }
  double device_rate() const { return static_cast<double>(examples) / device_seconds; }
  bool input_is_limit() const { return input_seconds > device_seconds; }

  Throughput operator+(const Throughput& b) const {
    return {examples + b.examples, input_seconds + b.input_seconds, device_seconds + b.device_seconds};
  }
  // What was done since.
  Throughput operator-(const Throughput& before) const {
    return {examples - before.examples, input_seconds - before.input_seconds, device_seconds - before.device_seconds};
  }
};

}  // namespace tenon

// A program that takes as long as a test wants it to.
#pragma once

#include "conformance/suites/support.h"

namespace tenon::conformance {

// s' = s + 1 of f32[n], run again and again. Whole numbers up to 2^24 are exact, so that s says how often.
class Counter {
 public:
  static constexpr uint32_t kMost = 1u << 16;  // iterations of one run
  static constexpr int64_t kElements = 1 << 14;

  // Throws Unsupported where the backend takes no add.
  Counter(Subject& subject, BufferOptions options = {});
  // Sets the state to x, and waits.
  void reset(Queue& queue, float x = 0);
  // Submits a run, without waiting.
  uint64_t submit(Queue& queue, uint32_t iterations, std::vector<tenon_point> after = {});
  const Buffer& state() const { return state_; }
  const Program& program() const { return program_; }
  Floats expected(float x) const { return filled(kElements, x); }

 private:
  Program program_;
  Buffer state_;
};

double seconds_now();

}  // namespace tenon::conformance

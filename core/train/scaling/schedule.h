// A step in parts, on one clock: a process computes them in their order while another thread exchanges.
#pragma once

#include <span>

namespace tenon {

struct TimedPart {
  bool exchanges = false;
  double seconds = 0;
  int awaits = -1;  // the exchange before it that has to be done when it begins; -1: none
};

struct PartTimes {
  double compute = 0, exchange = 0;  // seconds of all parts of each kind
  double step = 0;                   // of all, where exchanges go on beside what is computed
  double hidden() const { return compute + exchange - step; }
};

// Exchanges run one after the other, from when the parts before them are computed; the step ends when all are done.
PartTimes schedule(std::span<const TimedPart> parts);

}  // namespace tenon

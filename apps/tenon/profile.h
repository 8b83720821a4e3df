// Where the time of a step goes, beside what the machine could do.
#pragma once

#include "bench/machine_limits.h"
#include "tenon/step_runner.h"

namespace tenon::runner {

// A line for each op, or for each node, the longest first: milliseconds, share of the step, GFLOP/s, GB/s, and the time that
// the machine would need at least (arithmetic or memory, whichever is more) as a percentage of the time it took. What
// threads waited for each other is the line "(waiting)".
void print_profile(const StepProfile& profile, const MachineLimits& limits, bool by_node, bool json);

}  // namespace tenon::runner

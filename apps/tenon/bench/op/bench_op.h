// tenon bench op OP: one op over many shapes.
#pragma once

#include <string>

#include "flags.h"

namespace tenon::runner {

void declare_bench_op(Flags& flags);
// A line for each shape: its least time, GFLOP/s, GB/s, and these as a percentage of what the machine does at most.
// Throws UsageError, tenon::Error.
int run_bench_op(const std::string& op, const Flags& flags);
std::vector<std::string> bench_op_names();
std::string list_of_ops();

}  // namespace tenon::runner

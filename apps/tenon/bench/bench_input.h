// tenon bench input CASE: examples a second of the input pipeline.
#pragma once

#include <string>
#include <vector>

#include "flags.h"

namespace tenon::runner {

std::vector<std::string> bench_input_names();
// A line for each case.
std::string list_of_inputs();
void declare_bench_input(Flags& flags);
int run_bench_input(const std::string& name, const Flags& flags);

}  // namespace tenon::runner

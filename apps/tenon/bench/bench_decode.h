// tenon bench decode PARAM_SET: how fast the Transformer writes.
#pragma once

#include <string>
#include <vector>

#include "flags.h"

namespace tenon::runner {

std::vector<std::string> bench_decode_names();
void declare_bench_decode(Flags& flags);
int run_bench_decode(const std::string& param_set, const Flags& flags);

}  // namespace tenon::runner

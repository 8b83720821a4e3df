// tenon bench exchange: how long processes take to add up an array.
#pragma once

#include "flags.h"

namespace tenon::runner {

void declare_bench_exchange(Flags& flags);
int run_bench_exchange(const Flags& flags);

}  // namespace tenon::runner

// tenon bench serve: latencies of a server under load.
#pragma once

#include "command.h"

namespace tenon::runner {

void declare_bench_serve(Flags& flags);
int run_bench_serve(const Flags& flags);

}  // namespace tenon::runner

// The process's one thread pool, shared by input pipelines and backends.
#pragma once

#include "base/thread_pool.h"

namespace tenon {

// How many threads the pool will have; call before anything uses it. Later calls have no effect.
// Without it: as many as the process may run on.
void set_process_threads(int threads);
int process_threads();

// Made at first use, never destroyed.
ThreadPool& process_pool();

}  // namespace tenon

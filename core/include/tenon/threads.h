// The process's one thread pool: input pipelines, conversion and backends share it, so that threads never
// outnumber cores. No result depends on how many there are. Thread safe.
#pragma once

namespace tenon {

class ThreadPool;

// How many threads the pool will have; call before anything uses it, later calls have no effect.
// Without it, or with 0: as many as the process may run on.
void set_process_threads(int threads);
int process_threads();

// Made at first use, never destroyed.
ThreadPool& process_pool();

}  // namespace tenon

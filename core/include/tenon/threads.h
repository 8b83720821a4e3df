// The process's one thread pool: input pipelines, conversion and backends share it, so that threads never
// outnumber cores. No result depends on how many there are. Thread safe. And how much memory the process may have.
#pragma once

#include <cstdint>

namespace tenon {

class ThreadPool;

// How many threads the pool will have; call before anything uses it, later calls have no effect.
// Without it, or with 0: as many as the cores that the process may use, by its affinity and its cgroups' share of time.
// Where the system gives fewer threads (ulimit -u, a cgroup's pids.max, memory), the pool has those and says so once,
// on standard error.
void set_process_threads(int threads);
int process_threads();

// Bytes that the process can have at most: the machine's memory, or less where a cgroup or ulimit says less.
uint64_t process_memory();

// Made at first use, never destroyed.
ThreadPool& process_pool();

}  // namespace tenon

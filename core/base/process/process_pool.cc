#include "base/process/process_pool.h"

#include <cstdio>

#include "tenon/plugin/host_limits.h"

namespace tenon {
namespace {

int wanted = 0;

ThreadPool* make_pool() {
  const int threads = wanted > 0 ? wanted : plugin::host_cores();
  auto* pool = new ThreadPool(threads);
  if (pool->threads() < threads)
    std::fprintf(stderr, "works on %d threads, expected %d: the system gives no more (%s)\n", pool->threads(), threads,
                 pool->shortage().c_str());
  return pool;
}

}  // namespace

void set_process_threads(int threads) { wanted = threads; }
int process_threads() { return process_pool().threads(); }
uint64_t process_memory() { return plugin::host_memory().limit; }

ThreadPool& process_pool() {
  static ThreadPool* pool = make_pool();
  return *pool;
}

}  // namespace tenon

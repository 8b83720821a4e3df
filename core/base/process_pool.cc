#include "base/process_pool.h"

#include <sched.h>

namespace tenon {
namespace {

int wanted = 0;

int available() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace

void set_process_threads(int threads) { wanted = threads; }
int process_threads() { return process_pool().threads(); }

ThreadPool& process_pool() {
  static ThreadPool* pool = new ThreadPool(wanted > 0 ? wanted : available());
  return *pool;
}

}  // namespace tenon

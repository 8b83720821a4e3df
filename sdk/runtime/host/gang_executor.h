// Runs a plan in ordinary memory: a gang of threads walks it, on the calling thread and the host's, or on that of a
// worker queue.
#pragma once

#include <mutex>
#include <vector>

#include "runtime/executor.h"
#include "runtime/memory.h"

namespace tenon::plugin {

class GangExecutor : public Executor {
 public:
  GangExecutor(Plan plan, const tenon_host& host, ArenaPool& pool);
  void run(const tenon_run& run, Queue& queue, uint32_t* done) override;

 private:
  struct Shared;  // what the threads of one gang share
  static void gang_entry(void* arg, uint32_t index, uint32_t count);
  template <bool traced>
  void walk(uint32_t index, uint32_t count);
  void begin(uint64_t i);
  bool end();
  void run_now(const tenon_run& run, uint32_t* done);
  void run_fed(const tenon_run& run);
  bool run_iterations(uint64_t first, uint32_t n);

  const tenon_host& host_;
  ArenaPool& pool_;
  std::mutex mutex_;
  std::vector<tenon_buffer*> fed_;
  Barrier steps_barrier_, kernel_barrier_;
  const tenon_run* current_ = nullptr;  // the present run
  uint32_t* completed_ = nullptr;
  bool traced_ = false;
};

}  // namespace tenon::plugin

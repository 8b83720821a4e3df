// Runs a plan on a device with memory of its own: binds arguments, pulls batches, enqueues kernels.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/device/device_memory.h"
#include "runtime/device/device_queue.h"
#include "runtime/plan/planner.h"
#include "runtime/trace.h"

namespace tenon::plugin {

class DeviceExecutor {
 public:
  static constexpr uint32_t kFeedDepth = 2;  // batches that are held at a time

  // Throws OUT_OF_MEMORY where there is no room for the constants.
  DeviceExecutor(Plan plan, DeviceMemory& memory, DeviceArena& arena);
  ~DeviceExecutor();
  DeviceExecutor(const DeviceExecutor&) = delete;
  DeviceExecutor& operator=(const DeviceExecutor&) = delete;

  const Plan& plan() const { return plan_; }
  void trace(const Tracer& tracer, std::unique_ptr<StepEvents> events) {
    tracer_ = &tracer;
    events_ = std::move(events);
  }

  // Until nothing of the queue is under way.
  static void drain(DeviceQueue& queue);
  // Throws INVALID where the arguments are wrong, before anything is done.
  void check(const tenon_run& run) const;
  // Enqueues a run behind what the queue has begun. REQUIRED: check() found nothing. Throws what went wrong on the way, after
  // *done iterations. Runs of one executor are serialised.
  void run(const tenon_run& run, DeviceQueue& queue, uint32_t* done);

 private:
  void bind(const tenon_run& run);
  void set_base(int32_t base, void* memory, uint64_t offset);
  void send_inputs(const tenon_run& run, DeviceStream& stream);
  void fetch_results(const tenon_run& run, DeviceStream& stream);
  void begin_iteration(const tenon_run& run, uint64_t i, DeviceStream& stream);
  void enqueue_steps(DeviceStream& stream, bool traced);
  bool ended(const tenon_run& run, DeviceStream& stream);
  struct Iteration {
    std::shared_ptr<DeviceMark> mark;
    bool ended = false;
  };
  Iteration iterate(const tenon_run& run, uint64_t i, DeviceStream& stream, tenon_buffer* const* fed);
  void run_plain(const tenon_run& run, DeviceStream& stream, uint32_t* done);
  void run_fed(const tenon_run& run, DeviceQueue& queue, uint32_t* done);
  std::shared_ptr<DeviceMark> send_batch(DeviceQueue& queue, tenon_buffer* const* fed, const tenon_point& after);
  class Held;

  Plan plan_;
  DeviceMemory& memory_;
  DeviceArena& arena_;
  void* constants_ = nullptr;
  std::mutex mutex_;
  std::vector<uint8_t*> bases_;
  std::vector<uint64_t> base_offsets_;
  uint8_t until_ = 0;
  const Tracer* tracer_ = nullptr;
  std::unique_ptr<StepEvents> events_;
};

}  // namespace tenon::plugin

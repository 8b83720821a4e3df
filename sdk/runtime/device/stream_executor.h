// Runs a plan on a device with memory of its own: the thread that submits pulls batches and enqueues kernels.
#pragma once

#include <memory>
#include <vector>

#include "runtime/executor.h"

namespace tenon::plugin {

class StreamExecutor : public Executor {
 public:
  static constexpr uint32_t kFeedDepth = 2;  // batches that are held at a time

  // Throws OUT_OF_MEMORY where there is no room for the constants.
  StreamExecutor(Plan plan, Device& device);
  ~StreamExecutor() override;
  void run(const tenon_run& run, Queue& queue, uint32_t* done) override;

 private:
  void send_inputs(const tenon_run& run, DeviceStream& stream);
  void fetch_results(const tenon_run& run, DeviceStream& stream);
  void enqueue_steps(uint64_t iteration, DeviceStream& stream, bool traced);
  bool ended(const tenon_run& run, DeviceStream& stream);
  struct Iteration {
    std::shared_ptr<DeviceMark> mark;
    bool ended = false;
  };
  Iteration iterate(const tenon_run& run, uint64_t i, DeviceStream& stream, tenon_buffer* const* fed);
  void run_plain(const tenon_run& run, DeviceStream& stream, uint32_t* done);
  void run_fed(const tenon_run& run, Queue& queue, uint32_t* done);
  std::shared_ptr<DeviceMark> send_batch(Queue& queue, tenon_buffer* const* fed, const tenon_point& after);
  class Held;

  Device& device_;
  void* constants_ = nullptr;
  uint8_t until_ = 0;
};

}  // namespace tenon::plugin

// A device whose memory nobody can reach but through its streams, each of which works on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tenon/plugin/device_backend.h"

namespace tenon::plugin::testing {

// What a test does to the device, and sees of it.
struct Far {
  // Kernels wait while it is closed; copies go on.
  void close_gate() { set_gate(false); }
  void open_gate() { set_gate(true); }
  void pass_gate();
  void let_one_pass();  // while it is closed

  std::atomic<int64_t> bytes_left{1 << 20};  // of memory
  std::atomic<uint64_t> largest_buffer{1 << 20};
  std::atomic<int> allocations{0};  // that are not released
  std::atomic<int> kernels{0};      // that ran
  std::atomic<int> enqueued{0};     // kernels
  std::atomic<int> early{0};        // releases while kernels were enqueued that had not run
  std::atomic<int> of_host{0};      // blocks of the host's memory that are not released
  std::atomic<int> waits{0};        // of the host, for some time or for ever
  // Who waits opens the gate, so that a call that waits on the thread of the test comes back.
  std::atomic<bool> opens_for_waiters{false};
  std::atomic<bool> lost{false};  // from now on everything says so

 private:
  void set_gate(bool open);
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int passes_ = 0;
};

// A backend over it: add (a, b) of f32, in place of a; far.fail, which throws INTERNAL when it is enqueued; far.triple (a),
// which is rewritten as two additions. It takes no empty memory and copies none. The same device at each call.
const DeviceBackend& far_backend();
Far& far_device();

}  // namespace tenon::plugin::testing

// Work in ordinary memory, in order: at once on the calling thread, or on a thread of the stream's own, which ends when
// the stream does, after what was enqueued.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "tenon/plugin/device_driver.h"

namespace tenon::plugin {

class HostStream : public DeviceStream {
 public:
  explicit HostStream(bool worker);  // throws OUT_OF_MEMORY where there is no thread to be had
  ~HostStream() override;
  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;

  bool is_inline() const { return !thread_.joinable(); }
  // An Error that the work throws is thrown by all marks that come later, and no more work is done.
  void enqueue(std::function<void()> work);

  void copy(DeviceAddress to, DeviceAddress from, uint64_t bytes) override;
  void write(DeviceAddress to, const void* from, uint64_t bytes) override;
  void read(void* to, DeviceAddress from, uint64_t bytes) override;
  void set(DeviceAddress to, const void* element, uint32_t width) override;
  void after(DeviceMark& mark) override;
  std::shared_ptr<DeviceMark> submit() override;  // nullptr where the work is done already

 private:
  struct State;  // shared with the marks
  class Mark;
  void move(void* to, const void* from, uint64_t bytes);
  void loop();

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace tenon::plugin

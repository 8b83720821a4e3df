// Ordinary memory as a device: blocks are 64-byte aligned and zeroed, large ones lie in huge pages that are touched when
// they are made.
#pragma once

#include "runtime/host/host_stream.h"
#include "tenon/plugin/device_driver.h"

namespace tenon::plugin {

class HostDriver : public DeviceDriver {
 public:
  // With a host that has a gang, large blocks are touched by it: clearing pages is most of what they take. Memory is
  // then allocated only inside entries. Each stream of a driver with workers has a thread of its own.
  HostDriver(const tenon_host* host, bool workers, DeviceFacts facts = {})
      : host_(host), workers_(workers), facts_(std::move(facts)) {}

  void* allocate(uint64_t bytes) override;
  void release(void* memory, uint64_t bytes) override;
  void* allocate_host(uint64_t bytes) override { return allocate(bytes); }
  void release_host(void* memory, uint64_t bytes) override { release(memory, bytes); }
  std::unique_ptr<DeviceStream> open_stream() override { return std::make_unique<HostStream>(workers_); }
  uint64_t memory_bytes() const override { return installed(); }
  std::string refusal(const NodeView&) const override { return {}; }
  DeviceFacts facts() const override { return facts_; }
  static uint64_t installed();  // bytes that this process may have: host_memory().limit, as it was at first

 private:
  void first_touch(uint8_t* p, uint64_t bytes) const;

  const tenon_host* host_;
  bool workers_;
  DeviceFacts facts_;
};

}  // namespace tenon::plugin

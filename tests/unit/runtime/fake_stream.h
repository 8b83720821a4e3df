// Streams on which nothing is done, and marks that are reached when a test says so.
#pragma once

#include <memory>
#include <vector>

#include "tenon/plugin/device_driver.h"

namespace tenon::plugin::testing {

// Remembers what it was told to come behind, and gives `mark` at each submit.
struct Remembering : DeviceStream {
  void copy(DeviceAddress, DeviceAddress, uint64_t) override {}
  void write(DeviceAddress, const void*, uint64_t) override {}
  void read(void*, DeviceAddress, uint64_t) override {}
  void set(DeviceAddress, const void*, uint32_t) override {}
  void after(DeviceMark& mark) override { behind.push_back(&mark); }
  std::shared_ptr<DeviceMark> submit() override { return mark; }
  std::vector<DeviceMark*> behind;
  std::shared_ptr<DeviceMark> mark;
};

struct Never : DeviceMark {
  bool reached(uint64_t) override { return false; }
};

}  // namespace tenon::plugin::testing

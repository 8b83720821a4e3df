// The hooks by which the SDK runtime drives a device with memory of its own: allocate, free, copy, submit and ask. A
// vendor's API, behind these two classes, and a kernel table make a backend (tenon/plugin/device_backend.h).
//
// Functions throw Error (tenon/plugin/entry.h). OUT_OF_MEMORY where there is none; DEVICE_LOST where the device is
// gone for this process. C++17, header only; nothing here is ABI.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tenon/plugin/entry.h"
#include "tenon/plugin/graph.h"

namespace tenon::plugin {

// A place in the memory of a device: what `allocate` gave, and bytes from there.
struct DeviceAddress {
  void* memory = nullptr;
  uint64_t offset = 0;
};

// A moment of a stream: everything enqueued before it is done. Any thread may ask.
class DeviceMark {
 public:
  virtual ~DeviceMark() = default;
  // Waits for it at most so long; 0 asks. Throws what went wrong on the device before it, with the vendor's number if
  // it has one.
  virtual bool reached(uint64_t timeout_ns) = 0;
};

// Work in order, which goes on by itself. One thread at a time.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;  // after what was enqueued is done

  virtual void copy(DeviceAddress to, DeviceAddress from, uint64_t bytes) = 0;
  // Memory of the host stays as it is, or is written, until a mark that comes later is reached.
  virtual void write(DeviceAddress to, const void* from, uint64_t bytes) = 0;
  virtual void read(void* to, DeviceAddress from, uint64_t bytes) = 0;
  // Bytes to..to + width become those of `element`, which may go at once. width: 1, 2, 4 or 8.
  virtual void set(DeviceAddress to, const void* element, uint32_t width) = 0;

  // What is enqueued from now on waits for a mark, of this stream or another one of the same device.
  virtual void after(DeviceMark& mark) = 0;
  // All that was enqueued begins as soon as it can.
  virtual std::shared_ptr<DeviceMark> submit() = 0;
};

// What there is to tell of a device (tenon_facts); empty: nothing.
struct DeviceFacts {
  std::string kind, vendor, driver, topology;
};

// One device, open. Any thread may call anything.
class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;  // its streams and memory are gone by then

  // Undefined contents, aligned to 64 bytes or more.
  virtual void* allocate(uint64_t bytes) = 0;
  virtual void release(void* memory, uint64_t bytes) = 0;
  // A whole number of 64 bytes of memory of the host that copies reach fastest (pinned), aligned to 64 bytes.
  virtual void* allocate_host(uint64_t bytes) = 0;
  virtual void release_host(void* memory, uint64_t bytes) = 0;

  virtual std::unique_ptr<DeviceStream> open_stream() = 0;

  virtual uint64_t memory_bytes() const = 0;
  // The most that one `allocate` gives; a step that needs more gets several.
  virtual uint64_t largest_buffer() const { return memory_bytes(); }
  // Why a node that the kernel table takes cannot be had on this device: no f64, more than a buffer's size; empty: it
  // can.
  virtual std::string refusal(const NodeView& node) const = 0;
  // A program for it was compiled: what there is to tell of that.
  virtual void compiled() {}
  virtual DeviceFacts facts() const { return {}; }
};

}  // namespace tenon::plugin

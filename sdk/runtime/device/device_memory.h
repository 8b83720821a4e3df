// Memory of a device: buffers, and the workspace that its programs share.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "tenon/plugin/device_driver.h"

namespace tenon::plugin {

// Counts what is taken of a device. Thread safe.
class DeviceMemory {
 public:
  explicit DeviceMemory(DeviceDriver& driver) : driver_(driver) {}
  // Throws OUT_OF_MEMORY, as `what`.
  void* allocate(uint64_t bytes, const char* what);
  void release(void* memory, uint64_t bytes);
  DeviceDriver& driver() { return driver_; }
  tenon_stats stats() const;

 private:
  DeviceDriver& driver_;
  std::atomic<uint64_t> in_use_{0}, peak_{0};
};

struct DeviceBuffer {
  DeviceMemory* owner = nullptr;
  uint64_t bytes = 0;
  void* memory = nullptr;
  uint8_t* host = nullptr;  // HOST: what the host sees; its contents count when work is submitted
  // Of a batch: the end of the last iteration that reads `memory`.
  std::shared_ptr<DeviceMark> last_read;
};

// Makes a stream wait for a mark, unless that is past; what failed holds nobody up. Forgets a mark that is past.
void wait_behind(DeviceStream& stream, std::shared_ptr<DeviceMark>& mark);

inline DeviceBuffer* device_buffer(tenon_buffer* b) { return reinterpret_cast<DeviceBuffer*>(b); }

// One workspace for all programs of a device, as large as the largest needs. Each run's work begins behind that of
// the run before, whatever its queue. Thread safe.
class DeviceArena {
 public:
  explicit DeviceArena(DeviceMemory& memory) : memory_(memory) {}
  ~DeviceArena();
  // Throws OUT_OF_MEMORY.
  void reserve(uint64_t bytes);

  class Lease {
   public:
    // Throws OUT_OF_MEMORY where the workspace is gone.
    Lease(DeviceArena& arena, uint64_t bytes, DeviceStream& stream);
    ~Lease();  // not given back: after all that the stream has
    void* memory() const { return arena_.memory_of_all_; }
    void give_back(std::shared_ptr<DeviceMark> mark);

   private:
    DeviceArena& arena_;
    DeviceStream& stream_;
    bool given_back_ = false;
    std::lock_guard<std::mutex> lock_;
  };

 private:
  void free_when_idle();

  DeviceMemory& memory_;
  std::mutex mutex_;
  void* memory_of_all_ = nullptr;
  uint64_t bytes_ = 0;
  std::shared_ptr<DeviceMark> last_;
};

}  // namespace tenon::plugin

// Memory of a device, counted: buffers, constants, and the workspaces that its programs share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tenon/plugin/device_driver.h"

namespace tenon::plugin {

// What is taken of a device. Thread safe.
class Memory {
 public:
  explicit Memory(DeviceDriver& driver) : driver_(driver) {}
  // Throws OUT_OF_MEMORY, as `what`; also of more than the device has.
  void* allocate(uint64_t bytes, const char* what);
  void release(void* memory, uint64_t bytes);
  DeviceDriver& driver() { return driver_; }
  tenon_stats stats() const;

 private:
  DeviceDriver& driver_;
  std::atomic<uint64_t> in_use_{0}, peak_{0};
};

// Makes a stream wait for a mark, unless that is past; what failed holds nobody up. Forgets a mark that is past.
void wait_behind(DeviceStream& stream, std::shared_ptr<DeviceMark>& mark);

// The workspaces of a device's programs. Programs that do not run at the same time share. Thread safe.
class ArenaPool {
 public:
  explicit ArenaPool(Memory& memory) : memory_(memory) { free_.reserve(64); }
  ~ArenaPool();

  // A part of one.
  struct Arena {
    void* data = nullptr;
    uint64_t bytes = 0;
    std::shared_ptr<DeviceMark> last_use;  // nullptr: it is over
  };
  // Makes sure that a lease of so many bytes will find them. Throws OUT_OF_MEMORY.
  void reserve(const std::vector<uint64_t>& parts);
  // Gives `out` parts of so many bytes each, the largest first. Throws OUT_OF_MEMORY, as `what`, and gives none. Does not
  // allocate when reserved ones are free.
  void lease(const std::vector<uint64_t>& parts, const char* what, std::vector<Arena>& out);
  // Leaves it empty.
  void give_back(std::vector<Arena>& arenas);

 private:
  Arena take(uint64_t bytes, const char* what);
  void put_back(std::vector<Arena>& arenas);
  void release(const Arena& arena);

  Memory& memory_;
  std::mutex mutex_;
  std::vector<Arena> free_;
};

// An arena, for as long as one run uses it.
class Workspace {
 public:
  // Parts of so many bytes, kept in `arenas`, which the caller lends for as long, so that nothing is allocated. What is
  // enqueued on the stream from now on comes behind their last use. NULL: the work is done when the workspace ends. Throws
  // OUT_OF_MEMORY.
  Workspace(ArenaPool& pool, const std::vector<uint64_t>& parts, DeviceStream* stream,
            std::vector<ArenaPool::Arena>& arenas);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  // The use is over at this mark; else with all that the stream has.
  void used_until(const std::shared_ptr<DeviceMark>& mark);

 private:
  ArenaPool& pool_;
  DeviceStream* stream_;
  std::vector<ArenaPool::Arena>& arenas_;
  bool marked_ = false;
};

}  // namespace tenon::plugin

// Host memory for buffers and arenas: 64-byte aligned, large blocks in huge pages, touched when made,
// counted, and kept for reuse.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "tenon/abi/plugin.h"

namespace tenon::plugin {

class Memory {
 public:
  // Large blocks are touched by the host's gang from now on: clearing pages is most of what they take. Only where
  // allocate is called inside an entry.
  void touch_with(const tenon_host& host) { host_ = &host; }
  // Zeroed memory, or nullptr. Thread safe.
  uint8_t* allocate(uint64_t bytes);
  void release(uint8_t* p, uint64_t bytes);
  uint64_t in_use() const { return in_use_.load(); }
  uint64_t peak() const { return peak_.load(); }
  static uint64_t installed();  // bytes that this process may have: host_memory().limit, as it was at first

 private:
  bool has_room(uint64_t size) const;
  void first_touch(uint8_t* p, uint64_t bytes) const;

  const tenon_host* host_ = nullptr;
  std::atomic<uint64_t> in_use_{0}, peak_{0};
};

// The workspaces of a device's programs. A run leases one; programs that do not run at the same time
// share.
class ArenaPool {
 public:
  explicit ArenaPool(Memory& memory) : memory_(memory) { free_.reserve(64); }
  ~ArenaPool();

  struct Arena {
    uint8_t* data = nullptr;
    uint64_t bytes = 0;
  };
  // Makes sure that a lease of so many bytes will find one. False: out of memory.
  bool reserve(uint64_t bytes);
  // data is nullptr when there is no memory. Does not allocate when a reserved one is free.
  Arena lease(uint64_t bytes);
  void give_back(Arena arena);

 private:
  Memory& memory_;
  std::mutex mutex_;
  std::vector<Arena> free_;
};

}  // namespace tenon::plugin

#include "runtime/device_memory.h"

#include <string>

namespace tenon::plugin {

void* DeviceMemory::allocate(uint64_t bytes, const char* what) {
  void* memory = driver_.allocate(bytes);
  if (!memory)
    throw Error(TENON_OUT_OF_MEMORY, std::string(what) + ": out of device memory for " + std::to_string(bytes) + " bytes");
  const uint64_t now = in_use_ += bytes;
  for (uint64_t peak = peak_.load(); now > peak && !peak_.compare_exchange_weak(peak, now);) {
  }
  return memory;
}

void DeviceMemory::release(void* memory, uint64_t bytes) {
  if (!memory) return;
  driver_.release(memory, bytes);
  in_use_ -= bytes;
}

tenon_stats DeviceMemory::stats() const {
  const uint64_t used = in_use_.load(), all = driver_.memory_bytes(), free = all > used ? all - used : 0;
  return {sizeof(tenon_stats), 0, used, peak_.load(), free, free};
}

DeviceArena::~DeviceArena() { memory_.release(memory_of_all_, bytes_); }

void DeviceArena::reserve(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes <= bytes_) return;
  void* larger = memory_.allocate(bytes, "compile: the step's workspace");
  try {
    if (last_) last_->reached(UINT64_MAX);
  } catch (const Error&) {  // what failed is told to who waits for it
  }
  last_ = nullptr;
  memory_.release(memory_of_all_, bytes_);
  memory_of_all_ = larger;
  bytes_ = bytes;
}

DeviceArena::Lease::Lease(DeviceArena& arena, DeviceStream& stream) : arena_(arena), lock_(arena.mutex_) {
  if (arena.last_) stream.after(*arena.last_);
}

}  // namespace tenon::plugin

#include "runtime/device/device_memory.h"

#include <string>

namespace tenon::plugin {

void* DeviceMemory::allocate(uint64_t bytes, const char* what) {
  void* memory = nullptr;
  try {
    memory = driver_.allocate(bytes);
  } catch (const Error& e) {  // says why, not for what
    throw Error(e.code, std::string(what) + ": " + e.what());
  }
  if (!memory)
    throw Error(TENON_OUT_OF_MEMORY,
                std::string(what) + ": out of device memory for " + std::to_string(bytes) + " bytes");
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

void DeviceArena::free_when_idle() {
  try {
    if (last_) last_->reached(UINT64_MAX);
  } catch (const Error&) {  // what failed is told to who waits for it
  }
  last_ = nullptr;
  memory_.release(memory_of_all_, bytes_);
  memory_of_all_ = nullptr;
}

// The present workspace goes first only where there is no room for both.
void DeviceArena::reserve(uint64_t bytes) {
  constexpr char kWhat[] = "compile: the step's workspace";
  const std::lock_guard lock(mutex_);
  if (bytes <= bytes_) return;
  void* larger = nullptr;
  try {
    larger = memory_.allocate(bytes, kWhat);
  } catch (const Error&) {
    if (!memory_of_all_) throw;
    free_when_idle();
    try {
      larger = memory_.allocate(bytes, kWhat);
    } catch (const Error&) {
      memory_of_all_ = memory_.allocate(bytes_, kWhat);
      throw;
    }
  }
  if (memory_of_all_) free_when_idle();
  memory_of_all_ = larger;
  bytes_ = bytes;
}

void wait_behind(DeviceStream& stream, std::shared_ptr<DeviceMark>& mark) {
  if (!mark) return;
  try {
    if (!mark->reached(0)) return stream.after(*mark);
  } catch (const Error& e) {
    if (e.code == TENON_DEVICE_LOST) throw;
  }
  mark = nullptr;
}

DeviceArena::Lease::Lease(DeviceArena& arena, uint64_t bytes, DeviceStream& stream)
    : arena_(arena), stream_(stream), lock_(arena.mutex_) {
  if (bytes && !arena_.memory_of_all_) throw Error(TENON_OUT_OF_MEMORY, "run: the step's workspace is gone");
  wait_behind(stream, arena_.last_);
}

void DeviceArena::Lease::give_back(std::shared_ptr<DeviceMark> mark) {
  arena_.last_ = std::move(mark);
  given_back_ = true;
}

DeviceArena::Lease::~Lease() {
  if (given_back_) return;
  try {
    arena_.last_ = stream_.submit();
  } catch (...) {  // the device is lost, or the host's memory: then nothing of it runs on
  }
}

}  // namespace tenon::plugin

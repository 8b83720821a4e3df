#include "runtime/memory.h"

#include <algorithm>
#include <string>

namespace tenon::plugin {

void* Memory::allocate(uint64_t bytes, const char* what) {
  const uint64_t now = in_use_.fetch_add(bytes) + bytes, all = driver_.memory_bytes();
  void* memory = nullptr;
  try {
    if (bytes <= all && now <= all) memory = driver_.allocate(bytes);
  } catch (const Error& e) {  // says why, not for what
    in_use_ -= bytes;
    throw Error(e.code, std::string(what) + ": " + e.what());
  }
  if (!memory) {
    in_use_ -= bytes;
    throw Error(TENON_OUT_OF_MEMORY, std::string(what) + ": out of memory for " + std::to_string(bytes) + " bytes");
  }
  for (uint64_t peak = peak_.load(); now > peak && !peak_.compare_exchange_weak(peak, now);) {
  }
  return memory;
}

void Memory::release(void* memory, uint64_t bytes) {
  if (!memory) return;
  driver_.release(memory, bytes);
  in_use_ -= bytes;
}

tenon_stats Memory::stats() const {
  const uint64_t used = in_use_.load(), all = driver_.memory_bytes(), free = all > used ? all - used : 0;
  return {sizeof(tenon_stats), 0, used, peak_.load(), free, std::min(free, driver_.largest_buffer())};
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

ArenaPool::~ArenaPool() {
  for (const Arena& a : free_) memory_.release(a.data, a.bytes);
}

void ArenaPool::release(const Arena& arena) {
  try {
    if (arena.last_use) arena.last_use->reached(UINT64_MAX);
  } catch (const Error&) {  // what failed is told to who waits for it
  }
  memory_.release(arena.data, arena.bytes);
}

void ArenaPool::reserve(const std::vector<uint64_t>& parts) {
  std::vector<Arena> arenas;
  lease(parts, "compile: the step's workspace", arenas);
  give_back(arenas);
}

void ArenaPool::lease(const std::vector<uint64_t>& parts, const char* what, std::vector<Arena>& out) {
  out.clear();
  const std::lock_guard lock(mutex_);
  try {
    for (const uint64_t bytes : parts) out.push_back(take(std::max<uint64_t>(bytes, 64), what));
  } catch (...) {
    put_back(out);
    throw;
  }
}

// The smallest that is large enough.
ArenaPool::Arena ArenaPool::take(uint64_t bytes, const char* what) {
  size_t best = free_.size();
  for (size_t i = 0; i < free_.size(); ++i)
    if (free_[i].bytes >= bytes && (best == free_.size() || free_[i].bytes < free_[best].bytes)) best = i;
  if (best < free_.size()) {
    std::swap(free_[best], free_.back());
    Arena found = std::move(free_.back());
    free_.pop_back();
    return found;
  }
  if (free_.empty()) return {memory_.allocate(bytes, what), bytes, nullptr};
  // A free one that is too small gives its memory to the larger one, or comes back when that cannot be had.
  const Arena small = std::move(free_.back());
  free_.pop_back();
  release(small);
  try {
    return {memory_.allocate(bytes, what), bytes, nullptr};
  } catch (const Error&) {
    free_.push_back({memory_.allocate(small.bytes, what), small.bytes, nullptr});
    throw;
  }
}

void ArenaPool::put_back(std::vector<Arena>& arenas) {
  for (Arena& arena : arenas) free_.push_back(std::move(arena));
  arenas.clear();
}

void ArenaPool::give_back(std::vector<Arena>& arenas) {
  const std::lock_guard lock(mutex_);
  put_back(arenas);
}

Workspace::Workspace(ArenaPool& pool, const std::vector<uint64_t>& parts, DeviceStream* stream,
                     std::vector<ArenaPool::Arena>& arenas)
    : pool_(pool), stream_(stream), arenas_(arenas) {
  pool.lease(parts, "run: the step's workspace", arenas);
  if (!stream) return;
  try {
    for (ArenaPool::Arena& arena : arenas) wait_behind(*stream, arena.last_use);
  } catch (...) {
    pool.give_back(arenas);
    throw;
  }
}

void Workspace::used_until(const std::shared_ptr<DeviceMark>& mark) {
  for (ArenaPool::Arena& arena : arenas_) arena.last_use = mark;
  marked_ = true;
}

Workspace::~Workspace() {
  if (stream_ && !marked_) {
    try {
      used_until(stream_->submit());
    } catch (...) {  // the device is lost, or the host's memory: then nothing of it runs on
    }
  }
  pool_.give_back(arenas_);
}

}  // namespace tenon::plugin

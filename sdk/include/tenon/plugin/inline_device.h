// Units, buffers, queues and copies of a device in ordinary memory that works on the calling thread
// (TENON_UNIT_INLINE). With inline_program.h, what is left to a backend that takes whole graphs is to answer
// `supports` and to compile. C++17, header only. Backends that fill a kernel table have all of it in
// tenon/plugin/host_backend.h.
//
//   struct Device : tenon::plugin::InlineDevice { .. };   // what device_open makes: handle_of(device)
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "tenon/plugin/entry.h"
#include "tenon/plugin/host_limits.h"

namespace tenon::plugin {

// Counts what its buffers, and the backend's own memory, take. Thread safe.
class InlineDevice {
 public:
  // 64-byte aligned, undefined; nullptr: there is no such memory. More than the process may have is refused.
  uint8_t* allocate(uint64_t bytes) {
    constexpr uint64_t kLarge = 2u << 20;  // what is worth asking the system for
    const uint64_t now = in_use_.fetch_add(bytes) + bytes;
    const bool room = bytes <= installed() && now <= installed() && (bytes < kLarge || host_has_room(bytes));
    void* p = room ? std::aligned_alloc(64, (bytes + 63) / 64 * 64) : nullptr;
    if (!p) in_use_ -= bytes;
    for (uint64_t peak = peak_.load(); p && now > peak && !peak_.compare_exchange_weak(peak, now);) {
    }
    return static_cast<uint8_t*>(p);
  }
  void release(uint8_t* p, uint64_t bytes) {
    if (p) in_use_ -= bytes;
    std::free(p);
  }
  tenon_stats stats() const {
    const uint64_t used = in_use_.load(), free = installed() - std::min(installed(), used);
    return {sizeof(tenon_stats), 0, used, peak_.load(), free, free};
  }
  // What this process may have.
  static uint64_t installed() {
    static const uint64_t bytes = host_memory().limit;
    return bytes;
  }

 private:
  std::atomic<uint64_t> in_use_{0}, peak_{0};
};

struct InlineBuffer {
  uint8_t* data = nullptr;  // dense, row-major
  uint64_t bytes = 0;
  InlineDevice* owner = nullptr;  // of the memory; nullptr: the host
};

struct InlineQueue {
  std::atomic<uint64_t> ticket{0};            // all work up to it is done
  std::atomic<const char*> failure{nullptr};  // of a run that had begun: sticks; a text that lives for ever

  // At the start of what is submitted. Throws the first cause of a failure, of this queue or of one that is waited for.
  void begin(const tenon_point* after, uint32_t n_after) const;
};

inline InlineDevice* device_of(tenon_device* d) { return reinterpret_cast<InlineDevice*>(d); }
inline InlineBuffer* buffer_of(tenon_buffer* b) { return reinterpret_cast<InlineBuffer*>(b); }
inline InlineQueue* queue_of(tenon_queue* q) { return reinterpret_cast<InlineQueue*>(q); }
inline tenon_device* handle_of(InlineDevice* d) { return reinterpret_cast<tenon_device*>(d); }

inline void InlineQueue::begin(const tenon_point* after, uint32_t n_after) const {
  const char* text = failure.load();
  for (uint32_t i = 0; i < n_after && !text; ++i)
    if (after[i].queue) text = queue_of(after[i].queue)->failure.load();
  if (text) throw Error(TENON_INVALID, text);
}

// ---- units ----

// Throws unless the spec and the units are those of a backend with one unit.
inline void check_one_unit(const char* spec, const uint32_t* units = nullptr, uint32_t n_units = 0) {
  if (spec && *spec && std::strcmp(spec, "0") != 0)
    throw Error(TENON_UNAVAILABLE, "no such spec: expected none, or 0, the only unit");
  if (n_units > 1 || (n_units == 1 && units[0] != 0)) throw Error(TENON_INVALID, "there is one unit, 0");
}

// The body of the entry `enumerate`: one unit.
inline void give_one_unit(const char* name, const char* version, tenon_unit* units, uint64_t stride, uint32_t* count) {
  tenon_unit unit{};
  unit.flags = TENON_UNIT_INLINE | TENON_UNIT_HOST_FEED;
  unit.kind = TENON_CPU;
  unit.feed_depth = unit.queues = 1;
  unit.wrap_alignment = 64;
  unit.memory_bytes = unit.max_buffer_bytes = InlineDevice::installed();
  std::snprintf(unit.name, sizeof unit.name, "%s", name);
  std::snprintf(unit.version, sizeof unit.version, "%s", version);
  if (units && *count) std::memcpy(units, &unit, std::min<uint64_t>(stride, sizeof unit));
  *count = 1;
}

// ---- the entries ----

namespace inline_entries {

inline tenon_status buffer_alloc(tenon_device* device, const tenon_desc* given, tenon_buffer** out, void** host) {
  return guarded([&] {
    const tenon_desc desc = known(given);
    check_flags(desc.flags, TENON_DESC_HOST, "buffer_alloc");
    auto buffer = std::make_unique<InlineBuffer>();
    buffer->bytes = dense_bytes(desc);
    if (reinterpret_cast<uintptr_t>(desc.host_memory) % 64)
      throw Error(TENON_INVALID, "buffer_alloc: host_memory is not 64-byte aligned");
    buffer->owner = desc.host_memory ? nullptr : device_of(device);
    buffer->data = desc.host_memory ? static_cast<uint8_t*>(desc.host_memory) : buffer->owner->allocate(buffer->bytes);
    if (!buffer->data)
      throw Error(TENON_OUT_OF_MEMORY, "buffer_alloc: out of memory for " + std::to_string(buffer->bytes) + " bytes");
    if (host) *host = desc.flags & TENON_DESC_HOST ? buffer->data : nullptr;
    *out = reinterpret_cast<tenon_buffer*>(buffer.release());
  });
}

inline void buffer_free(tenon_buffer* handle) {
  const std::unique_ptr<InlineBuffer> buffer(buffer_of(handle));
  if (buffer && buffer->owner) buffer->owner->release(buffer->data, buffer->bytes);
}

inline tenon_status queue_create(tenon_device*, uint64_t flags, tenon_queue** out) {
  return guarded([&] {
    check_flags(flags, 0, "queue_create");
    *out = reinterpret_cast<tenon_queue*>(new InlineQueue);
  });
}

inline void queue_destroy(tenon_queue* queue) { delete queue_of(queue); }

// The address in a buffer or in the host's memory, whichever is given.
inline uint8_t* place(tenon_buffer* buffer, const void* memory, uint64_t offset, uint64_t bytes, const char* what) {
  if (!buffer == !memory) throw Error(TENON_INVALID, std::string("copy: needs one ") + what);
  if (!buffer) return static_cast<uint8_t*>(const_cast<void*>(memory)) + offset;
  const InlineBuffer& b = *buffer_of(buffer);
  if (offset > b.bytes || bytes > b.bytes - offset)
    throw Error(TENON_INVALID, std::string("copy: past the end of the ") + what);
  return b.data + offset;
}

inline tenon_status copy(tenon_queue* handle, const tenon_copy* given, uint64_t* ticket) {
  return guarded([&] {
    const tenon_copy c = known(given);
    check_flags(c.flags, 0, "copy");
    queue_of(handle)->begin(c.after, c.n_after);
    uint8_t* to = place(c.dst, c.dst_host, c.dst_offset, c.bytes, "destination");
    std::memmove(to, place(c.src, c.src_host, c.src_offset, c.bytes, "source"), c.bytes);
    *ticket = ++queue_of(handle)->ticket;
  });
}

inline tenon_status wait(tenon_queue* handle, uint64_t ticket, uint64_t) {
  return guarded([&] {
    if (ticket > queue_of(handle)->ticket.load()) throw Error(TENON_INVALID, "wait: the queue has no such ticket yet");
    queue_of(handle)->begin(nullptr, 0);
  });
}

inline tenon_status stats(tenon_device* device, tenon_stats* out) {
  return guarded([&] { give(device_of(device)->stats(), out); });
}

}  // namespace inline_entries

// Sets the entries of buffers, queues, copies, waits and statistics.
inline void add_inline_entries(tenon_backend& table) {
  table.buffer_alloc = inline_entries::buffer_alloc;
  table.buffer_free = inline_entries::buffer_free;
  table.queue_create = inline_entries::queue_create;
  table.queue_destroy = inline_entries::queue_destroy;
  table.copy = inline_entries::copy;
  table.wait = inline_entries::wait;
  table.stats = inline_entries::stats;
}

}  // namespace tenon::plugin

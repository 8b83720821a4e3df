// buffer_alloc, buffer_free.
#include <algorithm>

#include "tenon/plugin/graph.h"
#include "validation/layer.h"

namespace tenon::plugin::validation {
namespace {

constexpr uintptr_t kHostAlignment = 64;

// Its size in bytes. Throws violations of the host.
uint64_t check_desc(const tenon_desc& d) {
  const auto element = static_cast<uint64_t>(dtype_bytes(d.dtype));
  if (element == 0) host_broke("allocates elements of dtype ", d.dtype, ", which there is not");
  if (d.rank > TENON_MAX_RANK) host_broke("allocates rank ", d.rank);
  uint64_t bytes = element;
  for (uint32_t i = 0; i < d.rank; ++i)
    if (d.dims[i] < 1 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(d.dims[i]), &bytes))
      host_broke("allocates dimension ", d.dims[i]);
  if (d.placement < TENON_REPLICATED || d.placement > TENON_SPLIT) host_broke("allocates with placement ", d.placement);
  if (d.placement == TENON_SPLIT && d.rank == 0) host_broke("splits a buffer of rank 0");
  return bytes;
}

void check_memory(const tenon_desc& d, const void* host) {
  const bool wants_host = d.flags & TENON_DESC_HOST;
  if (!wants_host && host) backend_broke("gave memory for a buffer that is not HOST");
  if (wants_host && !host) backend_broke("gave a HOST buffer no memory");
  if (reinterpret_cast<uintptr_t>(host) % kHostAlignment)
    backend_broke("gave a HOST buffer memory that is not 64-byte aligned");
}

// Memory of two HOST buffers does not overlap.
void note_memory(Layer& layer, Device& device, Buffer& buffer, uintptr_t begin) {
  const std::lock_guard<std::mutex> lock(layer.mutex);
  const uintptr_t end = begin + buffer.bytes;
  const auto next = device.host_memory.upper_bound(begin);  // the first that ends behind it
  if (next != device.host_memory.end() && next->first - static_cast<Buffer*>(next->second)->bytes < end)
    backend_broke("gave buffer #", buffer.serial, " memory of buffer #", next->second->serial);
  device.host_memory.emplace(end, &buffer);
  buffer.memory_end = end;
}

void describe(const tenon_desc& d, uint64_t bytes, Buffer* buffer) {
  buffer->type.dtype = d.dtype;
  buffer->type.rank = d.rank;
  std::copy(d.dims, d.dims + d.rank, buffer->type.dims);
  buffer->placement = d.placement;
  buffer->bytes = bytes;
  buffer->row_bytes = d.rank ? bytes / static_cast<uint64_t>(d.dims[0]) : bytes;
}

}  // namespace

tenon_status buffer_alloc(Layer& layer, tenon_device* handle, const tenon_desc* desc, tenon_buffer** out, void** host) {
  Call call(layer, "buffer_alloc");
  Device& device = call.device(handle);
  TENON_VALIDATE_SIZE(desc, tenon_desc, reserved);
  const uint64_t bytes = check_desc(*desc);
  if (!out || (!host && (desc->flags & TENON_DESC_HOST))) host_broke("passes no place for the buffer or its memory");
  tenon_buffer* made = nullptr;
  void* memory = nullptr;
  const tenon_status status = call.forward(&device, [&] {
    return layer.inner.buffer_alloc(static_cast<tenon_device*>(device.inner), desc, &made, &memory);
  });
  if (status.code) {
    if (made) backend_broke("gave a buffer together with an error");
    return status;
  }
  check_flags_refused(layer, desc->flags, TENON_DESC_HOST, "tenon_desc");
  check_memory(*desc, memory);
  auto object = std::make_unique<Buffer>(made, &device);
  Buffer& buffer = *object;
  describe(*desc, bytes, &buffer);
  *out = static_cast<tenon_buffer*>(layer.add(std::move(object)));
  if (memory) note_memory(layer, device, buffer, reinterpret_cast<uintptr_t>(memory));
  if (host) *host = memory;
  return status;
}

void buffer_free(Layer& layer, tenon_buffer* handle) {
  Call call(layer, "buffer_free");
  const std::unique_ptr<Object> taken = call.take(handle, Kind::kBuffer);
  if (!taken) return;
  {
    const std::lock_guard<std::mutex> lock(layer.mutex);
    const auto& buffer = static_cast<const Buffer&>(*taken);
    if (buffer.memory_end) buffer.device->host_memory.erase(buffer.memory_end);
  }
  call.forward_void([&] { layer.inner.buffer_free(static_cast<tenon_buffer*>(taken->inner)); });
}

}  // namespace tenon::plugin::validation

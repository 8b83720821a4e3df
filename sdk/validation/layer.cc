#include "validation/layer.h"

#include <algorithm>
#include <cstring>

namespace tenon::plugin::validation {
namespace {

// No address of x86-64 or AArch64 is of this form: who follows a handle is stopped at once.
//   16 bits 0x7e0a | 8 slot | 4 kind | 36 serial
constexpr uint64_t kMark = 0x7e0aull << 48;
constexpr uint64_t kMaxStruct = 1 << 16;
constexpr size_t kMaxMessage = 4096;

struct Parts {
  bool ours;
  uint8_t slot;
  Kind kind;
  uint64_t serial;
};

Parts split(const void* handle) {
  const auto bits = reinterpret_cast<uintptr_t>(handle);
  return {(bits >> 48) << 48 == kMark, static_cast<uint8_t>(bits >> 40), static_cast<Kind>(bits >> 36 & 15),
          bits & ((uint64_t{1} << 36) - 1)};
}

bool is_known(int32_t code) { return code >= TENON_OK && code <= TENON_INTERNAL; }

// The text of a compiler about what does not fit, or what it does not take, may have lines of its own.
void check_message(const tenon_status& status, bool lines) {
  if (!status.message) {
    if (status.code != TENON_TIMEOUT) backend_broke("answered code ", status.code, " without a message");
    return;
  }
  const size_t n = ::strnlen(status.message, kMaxMessage);
  if (n == kMaxMessage) backend_broke("gave a message without an end");
  if (n == 0) backend_broke("answered code ", status.code, " with an empty message");
  if (!lines && std::memchr(status.message, '\n', n))
    backend_broke("gave a message of several lines: '", quoted(status.message), "'");
}

}  // namespace

const char* kind_name(Kind kind) {
  static const char* const names[] = {"?", "device", "buffer", "queue", "program"};
  return kind <= Kind::kProgram ? names[static_cast<int>(kind)] : "?";
}

// ---- Layer ----

void* Layer::handle_of(const Object& object) const {
  return reinterpret_cast<void*>(kMark | uint64_t{slot} << 40 | static_cast<uint64_t>(object.kind) << 36 |
                                 object.serial);
}

void* Layer::add(std::unique_ptr<Object> object) {
  const std::lock_guard<std::mutex> lock(mutex);
  Object& o = *object;
  if (!o.inner) backend_broke("answered OK without a ", kind_name(o.kind));
  if (const auto [it, added] = by_inner.emplace(std::pair(o.kind, static_cast<const void*>(o.inner)), &o); !added)
    backend_broke("gave the handle of ", kind_name(o.kind), " #", it->second->serial, ", which is alive, once more");
  o.serial = ++last_serial;
  objects.emplace(o.serial, std::move(object));
  return handle_of(o);
}

tenon_program* Layer::outer_program(const void* inner_program) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto it = by_inner.find({Kind::kProgram, inner_program});
  return it == by_inner.end() ? nullptr : static_cast<tenon_program*>(handle_of(*it->second));
}

Object& Layer::find(const void* handle, Kind kind, const std::string& what) {
  if (!handle) host_broke("passes no ", what);
  const Parts parts = split(handle);
  if (!parts.ours) host_broke("passes as ", what, " what was never a handle");
  if (parts.slot != slot) host_broke("passes as ", what, " a handle of another backend");
  if (parts.kind != kind) host_broke("passes as ", what, " ", kind_name(parts.kind), " #", parts.serial);
  const auto it = objects.find(parts.serial);
  if (it == objects.end())
    host_broke("passes as ", what, " ", kind_name(kind), " #", parts.serial, ", which was destroyed");
  return *it->second;
}

bool Layer::outstanding(Object& object) {
  const auto done = [&](const Use& use) {
    const auto it = objects.find(use.queue);
    if (it == objects.end()) return true;  // destroying a queue stops or drains it
    auto& queue = static_cast<Queue&>(*it->second);
    if (queue.completed < use.ticket) {
      const tenon_status polled = inner.wait(static_cast<tenon_queue*>(queue.inner), use.ticket, 0);
      if (polled.code != TENON_TIMEOUT) queue.completed = std::max(queue.completed, use.ticket);
    }
    return queue.completed >= use.ticket;
  };
  object.uses.erase(std::remove_if(object.uses.begin(), object.uses.end(), done), object.uses.end());
  return !object.uses.empty();
}

void Layer::note_use(Object& object, const Queue& queue, uint64_t ticket) {
  if (object.device->is_inline || &object == &queue) return;
  for (Use& use : object.uses)
    if (use.queue == queue.serial) return static_cast<void>(use.ticket = ticket);
  object.uses.push_back({queue.serial, ticket});
}

// ---- Call ----

int& Call::inside_backend() {
  static thread_local int depth = 0;
  return depth;
}

Call::~Call() {
  const std::lock_guard<std::mutex> lock(layer_.mutex);
  for (Object* object : used_) --object->users;
  if (submitting_) submitting_->submitting = nullptr;
}

Object& Call::use(const void* handle, Kind kind, const std::string& what) {
  const std::lock_guard<std::mutex> lock(layer_.mutex);
  Object& object = layer_.find(handle, kind, what);
  used_.push_back(&object);
  ++object.users;
  return object;
}

Device& Call::device(tenon_device* handle) { return static_cast<Device&>(use(handle, Kind::kDevice, "device")); }
Buffer& Call::buffer(tenon_buffer* handle, const std::string& what) {
  return static_cast<Buffer&>(use(handle, Kind::kBuffer, what));
}
Program& Call::program(tenon_program* handle) { return static_cast<Program&>(use(handle, Kind::kProgram, "program")); }
Queue& Call::queue(tenon_queue* handle, const std::string& what) {
  return static_cast<Queue&>(use(handle, Kind::kQueue, what));
}

Queue& Call::submit_to(tenon_queue* handle) {
  Queue& q = queue(handle);
  const std::lock_guard<std::mutex> lock(layer_.mutex);
  if (q.submitting) {
    const bool same = q.submitter == std::this_thread::get_id();
    host_broke("submits to queue #", q.serial, same ? " from inside its own " : " while another thread is in ",
               q.submitting);
  }
  q.submitting = entry_;
  q.submitter = std::this_thread::get_id();
  submitting_ = &q;
  return q;
}

std::unique_ptr<Object> Call::take(const void* handle, Kind kind) {
  if (!handle) return nullptr;
  const std::lock_guard<std::mutex> lock(layer_.mutex);
  Object& object = layer_.find(handle, kind, kind_name(kind));
  const std::string name = cat(kind_name(kind), " #", object.serial);
  if (object.users) host_broke("destroys ", name, ", which another call uses");
  if (layer_.outstanding(object)) host_broke("destroys ", name, ", which submitted work uses");
  layer_.by_inner.erase({kind, object.inner});
  const auto it = layer_.objects.find(object.serial);
  std::unique_ptr<Object> taken = std::move(it->second);
  layer_.objects.erase(it);
  return taken;
}

void Call::note_uses(const Queue& queue, uint64_t ticket) {
  const std::lock_guard<std::mutex> lock(layer_.mutex);
  for (Object* object : used_)
    if (object->device) layer_.note_use(*object, queue, ticket);
}

tenon_status Call::check_status(const tenon_status& status, Device* device, bool was_lost) {
  if (!is_known(status.code)) backend_broke("answered code ", status.code, ", which there is not");
  if (status.code == TENON_OK) {
    if (was_lost) backend_broke("answered OK on a device that was lost");
    return {TENON_OK, status.native, nullptr};
  }
  const bool reports = status.code == TENON_OUT_OF_MEMORY || status.code == TENON_UNSUPPORTED;
  check_message(status, reports && std::strcmp(entry_, "compile") == 0);
  if (status.code == TENON_DEVICE_LOST && device) device->lost = true;
  tenon_status out = answer(status.code, status.message ? status.message : "");
  if (!status.message) out.message = nullptr;
  out.native = status.native;
  return out;
}

// ---- shared checks ----

void check_size(uint64_t struct_size, uint64_t least, const char* type) {
  if (struct_size < least || struct_size > kMaxStruct)
    host_broke("passes a ", type, " of ", struct_size, " bytes, expected ", least, " or more");
}

void check_flags_refused(const Layer& layer, uint64_t flags, uint64_t known, const char* type) {
  const bool newer = layer.inner.abi_major == TENON_ABI_MAJOR && layer.inner.abi_minor > TENON_ABI_MINOR;
  if (flags & 0xffffffffull & ~known && !newer)
    backend_broke("took a ", type, " with flags ", flags, ", of which it cannot know ", flags & 0xffffffffull & ~known);
}

void check_zeroed(const void* out, uint64_t bytes, const char* type) {
  const auto* p = static_cast<const unsigned char*>(out);
  if (std::any_of(p, p + bytes, [](unsigned char c) { return c != 0; }))
    host_broke("passes a ", type, " to fill that is not zero");
}

}  // namespace tenon::plugin::validation

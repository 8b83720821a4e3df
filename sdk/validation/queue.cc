// queue_create, queue_destroy, copy, wait.
#include <algorithm>

#include "validation/layer.h"

namespace tenon::plugin::validation {

tenon_status queue_create(Layer& layer, tenon_device* handle, uint64_t flags, tenon_queue** out) {
  Call call(layer, "queue_create");
  Device& device = call.device(handle);
  if (!out) host_broke("passes no place for the queue");
  tenon_queue* made = nullptr;
  const tenon_status status = call.forward(
      &device, [&] { return layer.inner.queue_create(static_cast<tenon_device*>(device.inner), flags, &made); });
  if (status.code) {
    if (made) backend_broke("gave a queue together with an error");
    return status;
  }
  check_flags_refused(layer, flags, 0, "queue_create's flags,");
  *out = static_cast<tenon_queue*>(layer.add(std::make_unique<Queue>(made, &device)));
  return status;
}

void queue_destroy(Layer& layer, tenon_queue* handle) {
  Call call(layer, "queue_destroy");
  const std::unique_ptr<Object> queue = call.take(handle, Kind::kQueue);
  if (queue) call.forward_void([&] { layer.inner.queue_destroy(static_cast<tenon_queue*>(queue->inner)); });
}

void translate_after(Call& call, Queue& queue, const tenon_point* after, uint32_t n) {
  if (n && !after) host_broke("waits for ", n, " points and passes none");
  queue.after.clear();
  for (uint32_t i = 0; i < n; ++i) {
    if (!after[i].queue) {
      queue.after.push_back({nullptr, 0});
      continue;
    }
    const Queue& other = call.queue(after[i].queue, "a point's queue");
    if (other.device != queue.device) host_broke("waits for a queue of another device");
    const std::lock_guard<std::mutex> lock(call.layer().mutex);
    if (after[i].ticket == 0 || after[i].ticket > other.given)
      host_broke("waits for ticket ", after[i].ticket, " of queue #", other.serial, ", the last one given is ",
                 other.given);
    queue.after.push_back({static_cast<tenon_queue*>(other.inner), after[i].ticket});
  }
}

// A failure of the queue's work sticks.
tenon_status check_ticket(Call& call, Queue& queue, const tenon_status& status, uint64_t given, uint64_t* ticket) {
  if (status.code) return status;
  {
    const std::lock_guard<std::mutex> lock(call.layer().mutex);
    if (!queue.failure.empty())
      backend_broke("took work for queue #", queue.serial, ", which has failed: ", queue.failure);
    if (given <= queue.given) backend_broke("gave ticket ", given, ", expected more than ", queue.given);
    queue.given = given;
  }
  call.note_uses(queue, given);
  *ticket = given;
  return status;
}

namespace {

void check_range(const Buffer& buffer, uint64_t offset, uint64_t bytes, const char* what) {
  if (offset > buffer.bytes || bytes > buffer.bytes - offset)
    host_broke("copies ", bytes, " bytes at ", offset, " of ", what, " #", buffer.serial, ", which has ", buffer.bytes);
  if (offset % buffer.row_bytes || bytes % buffer.row_bytes)
    host_broke("copies ", bytes, " bytes at ", offset, " of ", what, " #", buffer.serial, ", whose rows have ",
               buffer.row_bytes);
}

// The copy in the backend's handles.
tenon_copy translate(Call& call, Queue& queue, const tenon_copy& c) {
  if (!c.dst == !c.dst_host) host_broke("sets ", c.dst ? "both" : "none", " of dst and dst_host");
  if (!c.src == !c.src_host) host_broke("sets ", c.src ? "both" : "none", " of src and src_host");
  tenon_copy out = c;
  out.struct_size = sizeof out;
  bool here = !c.dst && !c.src;
  if (c.dst) {
    const Buffer& buffer = call.buffer(c.dst, "destination");
    check_range(buffer, c.dst_offset, c.bytes, "destination");
    out.dst = static_cast<tenon_buffer*>(buffer.inner);
    here |= buffer.device == queue.device;
  }
  if (c.src) {
    const Buffer& buffer = call.buffer(c.src, "source");
    check_range(buffer, c.src_offset, c.bytes, "source");
    out.src = static_cast<tenon_buffer*>(buffer.inner);
    here |= buffer.device == queue.device;
  }
  if (!here) host_broke("copies on queue #", queue.serial, " between buffers of other devices");
  translate_after(call, queue, c.after, c.n_after);
  out.after = queue.after.data();
  return out;
}

}  // namespace

tenon_status copy(Layer& layer, tenon_queue* handle, const tenon_copy* c, uint64_t* ticket) {
  Call call(layer, "copy");
  Queue& queue = call.submit_to(handle);
  TENON_VALIDATE_SIZE(c, tenon_copy, bytes);
  if (!ticket) host_broke("passes no place for the ticket");
  const tenon_copy inner = translate(call, queue, *c);
  uint64_t given = 0;
  const tenon_status status = call.forward(
      queue.device, [&] { return layer.inner.copy(static_cast<tenon_queue*>(queue.inner), &inner, &given); });
  if (status.code == TENON_OK) check_flags_refused(layer, c->flags, 0, "tenon_copy");
  return check_ticket(call, queue, status, given, ticket);
}

namespace {

void check_timeout(const Queue& queue, uint64_t ticket, uint64_t timeout_ns) {
  if (timeout_ns == UINT64_MAX) backend_broke("answered TIMEOUT, though it was to wait for ever");
  if (queue.device->is_inline) backend_broke("answered TIMEOUT on an INLINE unit, whose tickets are complete");
  if (ticket <= queue.completed) backend_broke("answered TIMEOUT for ticket ", ticket, ", which was complete before");
}

void check_done(Queue& queue, uint64_t ticket) {
  if (!queue.failure.empty())
    backend_broke("answered OK on queue #", queue.serial, ", which has failed: ", queue.failure);
  if (queue.short_ticket && ticket >= queue.short_ticket)
    backend_broke("answered OK for ticket ", queue.short_ticket, ", whose run did less than it was told");
  queue.completed = std::max(queue.completed, ticket);
}

// What error_info tells of a queue is what wait tells of it.
void check_error(const Queue& queue, const tenon_error& error, uint64_t room) {
  if (error.struct_size > room) backend_broke("set struct_size ", error.struct_size, ", there was room for ", room);
  if (error.code < TENON_OK || error.code > TENON_INTERNAL) backend_broke("tells of code ", error.code);
  if (error.code == TENON_OK && !queue.failure.empty())
    backend_broke("tells of no failure of queue #", queue.serial, ", which has failed: ", queue.failure);
  if (error.code == TENON_OK) return;
  if (!error.message || !*error.message) backend_broke("tells of code ", error.code, " without a message");
  const std::string text = error.message;
  if (!queue.failure.empty() && text.find(queue.failure) == std::string::npos)
    backend_broke("tells '", quoted(error.message), "' of queue #", queue.serial, ", which had failed with '",
                  quoted(queue.failure.c_str()), "'");
  if (error.ticket > queue.given)
    backend_broke("tells of ticket ", error.ticket, " of queue #", queue.serial, ", the last one given is ", queue.given);
}

// The first cause's text stays.
void note_failure(Queue& queue, const tenon_status& status) {
  const std::string text = status.message ? status.message : "";
  if (queue.failure.empty())
    queue.failure = text;
  else if (text.find(queue.failure) == std::string::npos)
    backend_broke("answered '", quoted(text.c_str()), "' on queue #", queue.serial, ", which had failed with '",
                  quoted(queue.failure.c_str()), "'");
}

}  // namespace

tenon_status wait(Layer& layer, tenon_queue* handle, uint64_t ticket, uint64_t timeout_ns) {
  Call call(layer, "wait");
  Queue& queue = call.queue(handle);
  {
    const std::lock_guard<std::mutex> lock(layer.mutex);
    if (ticket == 0 || ticket > queue.given)
      host_broke("waits for ticket ", ticket, " of queue #", queue.serial, ", the last one given is ", queue.given);
  }
  const tenon_status status = call.forward(
      queue.device, [&] { return layer.inner.wait(static_cast<tenon_queue*>(queue.inner), ticket, timeout_ns); });
  const std::lock_guard<std::mutex> lock(layer.mutex);
  if (status.code == TENON_TIMEOUT)
    check_timeout(queue, ticket, timeout_ns);
  else if (status.code)
    note_failure(queue, status);
  else
    check_done(queue, ticket);
  return status;
}

tenon_status error_info(Layer& layer, tenon_queue* handle, tenon_error* out) {
  Call call(layer, "error_info");
  const Queue& queue = call.queue(handle);
  TENON_VALIDATE_SIZE(out, tenon_error, message);
  check_zeroed(&out->flags, TENON_SIZE(tenon_error, message) - sizeof out->struct_size, "tenon_error");
  const uint64_t room = out->struct_size;
  const tenon_status status = call.forward(  // of a lost device, too
      nullptr, [&] { return layer.inner.error_info(static_cast<tenon_queue*>(queue.inner), out); });
  if (status.code) return status;
  if (out->program) out->program = layer.outer_program(out->program);  // NULL: it was destroyed since
  const std::lock_guard<std::mutex> lock(layer.mutex);
  check_error(queue, *out, room);
  return status;
}

}  // namespace tenon::plugin::validation

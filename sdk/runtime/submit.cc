// What is submitted to queues.
#include <cstring>
#include <string>

#include "runtime/handles.h"

namespace tenon::plugin::entries {
namespace {

void check_range(const Buffer* buffer, uint64_t offset, uint64_t bytes, const char* what) {
  if (buffer && (offset > buffer->bytes || bytes > buffer->bytes - offset))
    throw Error(TENON_INVALID, std::string("copy: past the end of the ") + what);
}

void check_copy(const tenon_copy& c, const Device& device) {
  if (!c.dst == !c.dst_host || !c.src == !c.src_host)
    throw Error(TENON_INVALID, "copy: needs one source and one destination");
  check_range(as_buffer(c.dst), c.dst_offset, c.bytes, "destination");
  check_range(as_buffer(c.src), c.src_offset, c.bytes, "source");
  for (tenon_buffer* b : {c.dst, c.src})
    if (b && &as_buffer(b)->owner != &device.memory && !device.on_host())
      throw Error(TENON_UNSUPPORTED, "copy: between devices, go by the host's memory");
}

// Copies between memories of the host go by the device's of the HOST buffer that is one of them, so that they too
// come in their turn; between two pointers there is none, and the copy waits for its turn here.
void enqueue_copy(Queue& queue, const tenon_copy& c) {
  DeviceStream& stream = queue.work();
  Buffer *const dst = as_buffer(c.dst), *const src = as_buffer(c.src);
  uint8_t* to_host = dst ? dst->host : static_cast<uint8_t*>(c.dst_host);
  const uint8_t* from_host = src ? src->host : static_cast<const uint8_t*>(c.src_host);
  if (to_host) to_host += c.dst_offset;
  if (from_host) from_host += c.src_offset;
  if (to_host && from_host && !dst && !src) {
    queue.drain();
    std::memmove(to_host, from_host, c.bytes);
  } else if (to_host && from_host) {
    Buffer& stage = dst ? *dst : *src;
    const DeviceAddress at{stage.memory, dst ? c.dst_offset : c.src_offset};
    wait_behind(stream, stage.last_read);
    stream.write(at, from_host, c.bytes);
    stream.read(to_host, at, c.bytes);
  } else if (from_host) {
    stream.write({dst->memory, c.dst_offset}, from_host, c.bytes);
  } else if (to_host) {
    stream.read(to_host, {src->memory, c.src_offset}, c.bytes);
  } else {
    stream.copy({dst->memory, c.dst_offset}, {src->memory, c.src_offset}, c.bytes);
  }
}

// Whether what failed before the first iteration was done has changed nothing.
bool changed_nothing(const Queue& queue, const Error& e) {
  return e.code == TENON_INVALID || queue.device.execution == Execution::kInline;
}

// The ticket of what `work` enqueues. What it throws on the way sticks to the queue and shows when the ticket is
// waited for; only where it refuses before the first iteration, and nothing is under way any more, is it an error of
// the call.
template <class F>
uint64_t stick(Queue& queue, F work, const uint32_t* completed, tenon_program* program = nullptr) {
  try {
    work();
    return queue.finish(program);
  } catch (const Error& e) {
    if (completed && *completed == 0 && changed_nothing(queue, e)) {
      queue.drain();
      throw;
    }
    return queue.finish(e, program);
  } catch (const std::bad_alloc&) {
    return queue.finish(Error(TENON_OUT_OF_MEMORY, "out of host memory"), program);
  } catch (const std::exception& e) {
    return queue.finish(Error(TENON_INTERNAL, e.what()), program);
  }
}

}  // namespace

tenon_status queue_create(tenon_device* handle, uint64_t flags, tenon_queue** out) {
  Device& device = as_device(handle);
  return on_device(device, [&] {
    check_flags(flags, 0, "queue_create");
    *out = reinterpret_cast<tenon_queue*>(new Queue(device));
  });
}

void queue_destroy(tenon_queue* queue) { delete as_queue(queue); }

tenon_status copy(tenon_queue* handle, const tenon_copy* given, uint64_t* ticket) {
  Queue& queue = *as_queue(handle);
  return on_device(queue.device, [&] {
    const tenon_copy c = known(given);
    check_flags(c.flags, 0, "copy");
    check_copy(c, queue.device);
    queue.begin(c.after, c.n_after);
    const auto work = [&] {
      if (c.bytes) enqueue_copy(queue, c);
    };
    *ticket = stick(queue, work, nullptr);
  });
}

tenon_status run(tenon_queue* handle, const tenon_run* given, uint64_t* ticket, uint32_t* done) {
  Queue& queue = *as_queue(handle);
  return on_device(queue.device, [&] {
    const tenon_run run = known(given);
    if (done) *done = 0;
    check_flags(run.flags, 0, "run");
    if (run.feed) check_flags(run.feed->flags, 0, "run: the feed");
    queue.begin(run.after, run.n_after);
    if (!run.program || run.iterations == 0)
      throw Error(TENON_INVALID, "run: needs a program and one iteration or more");
    Program& program = *as_program(run.program);
    if (run.iterations > program.max_iterations)
      throw Error(TENON_INVALID, "run: more iterations than the program was compiled for");
    program.executor->check(run);
    uint32_t completed = 0;
    *ticket = stick(
        queue, [&] { program.executor->run(run, queue, &completed); }, &completed, run.program);
    if (done) *done = completed;
  });
}

tenon_status wait(tenon_queue* handle, uint64_t ticket, uint64_t timeout_ns) {
  return guarded([&] {
    if (!as_queue(handle)->wait(ticket, timeout_ns))
      throw Error(TENON_TIMEOUT, "wait: the work is not done within the time");
  });
}

tenon_status error_info(tenon_queue* queue, tenon_error* out) {
  return guarded([&] { as_queue(queue)->tell_failure(out); });
}

}  // namespace tenon::plugin::entries

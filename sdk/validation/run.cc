// run, and the feed between host and backend.
#include <algorithm>

#include "validation/layer.h"

namespace tenon::plugin::validation {
namespace {

std::string shape(const TensorType& t) {
  static const char* const names[] = {"?", "f32", "bf16", "f16", "f64", "i32", "i64", "u8", "bool"};
  std::string out = cat(names[t.dtype > 0 && t.dtype <= TENON_BOOL ? t.dtype : 0], "[");
  for (uint32_t i = 0; i < t.rank; ++i) out += cat(i ? "," : "", t.dims[i]);
  return out + "]";
}

void check_type(const Buffer& buffer, const TensorType& expected, int32_t placement, const std::string& what) {
  if (!(buffer.type == expected))
    host_broke("passes as ", what, " buffer #", buffer.serial, " of ", shape(buffer.type), ", expected ",
               shape(expected));
  if (buffer.placement != placement)
    host_broke("passes as ", what, " buffer #", buffer.serial, " of placement ", buffer.placement, ", expected ",
               placement);
}

void check_device(const Object& object, const Queue& queue, const std::string& what) {
  if (object.device != queue.device)
    host_broke("passes as ", what, " a ", kind_name(object.kind), " of another device");
}

// EACH: max_iterations rows.
TensorType result_type(const Signature::Result& r, uint32_t max_iterations) {
  if (r.mode != TENON_MODE_EACH) return r.type;
  TensorType t = r.type;
  std::copy_backward(t.dims, t.dims + t.rank, t.dims + t.rank + 1);
  t.dims[0] = max_iterations;
  ++t.rank;
  return t;
}

// ---- feed: what goes wrong here is told once run has returned ----

// False: there is no run to answer with it.
bool fail(FeedGuard& guard, const Broken& what) {
  const std::lock_guard<std::mutex> lock(guard.layer->mutex);
  if (!guard.feed) return false;
  if (!guard.broken) guard.what = what;
  guard.broken = true;
  return true;
}

template <class F>
bool in_feed(FeedGuard& guard, const char* entry, F body) {
  try {
    body();
    return true;
  } catch (const Broken& what) {
    if (!fail(guard, what)) (void)report(guard.layer->name, entry, what);
  } catch (...) {
    (void)fail(guard, {Side::kHost, "has no memory left"});
  }
  return false;
}

// Whether there is a run that goes on.
bool check_inside(const FeedGuard& guard) {
  const std::lock_guard<std::mutex> lock(guard.layer->mutex);
  if (!guard.feed) backend_broke("called the feed outside of run");
  if (guard.thread != std::this_thread::get_id()) backend_broke("called the feed from another thread than run's");
  return !guard.broken;
}

// The host's buffers of one batch become the backend's.
void translate_batch(FeedGuard& guard, tenon_buffer** feeds, tenon_point* after) {
  Layer& layer = *guard.layer;
  const std::lock_guard<std::mutex> lock(layer.mutex);
  std::vector<Buffer*> batch;
  uint32_t k = 0;
  for (const Signature::Input& in : guard.program->signature.buffers) {
    if (in.role != TENON_ROLE_FEED) continue;
    const std::string what = cat("batch ", guard.given, "'s input ", k);
    auto& buffer = static_cast<Buffer&>(layer.find(guard.handles[k], Kind::kBuffer, what));
    check_device(buffer, *guard.queue, what);
    check_type(buffer, in.type, in.placement, what);
    batch.push_back(&buffer);
    feeds[k++] = static_cast<tenon_buffer*>(buffer.inner);
  }
  if (after->queue) {
    const auto& other = static_cast<const Queue&>(layer.find(after->queue, Kind::kQueue, "a point's queue"));
    check_device(other, *guard.queue, "a point's queue");
    if (after->ticket == 0 || after->ticket > other.given)
      host_broke("gives a batch after ticket ", after->ticket, " of queue #", other.serial, ", the last one given is ",
                 other.given);
    after->queue = static_cast<tenon_queue*>(other.inner);
  }
  for (Buffer* buffer : batch) ++buffer->users;
  guard.batches.push_back(std::move(batch));
}

int32_t feed_next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after) {
  auto& guard = *static_cast<FeedGuard*>(ctx);
  bool more = false;
  const bool fine = in_feed(guard, "next", [&] {
    if (!check_inside(guard)) return;
    if (guard.stopped) backend_broke("asked for batch ", i, " after the feed had stopped");
    if (i != guard.given) backend_broke("asked for batch ", i, ", expected ", guard.given);
    if (i >= guard.iterations) backend_broke("asked for batch ", i, " of ", guard.iterations, " iterations");
    const uint32_t depth = guard.queue->device->feed_depth;
    if (guard.given - guard.released >= depth)
      backend_broke("asked for batch ", i, " while ", depth, " are unreleased, its feed_depth");
    if (!after || (!feeds && guard.program->signature.n_feeds)) backend_broke("asked for a batch without room for it");
    guard.handles.assign(guard.program->signature.n_feeds + size_t{1}, nullptr);
    *after = {nullptr, 0};
    const int32_t answer = guard.feed->next(guard.feed->ctx, i, guard.handles.data(), after);
    if (answer != 0 && answer != 1) host_broke("answers ", answer, " when asked for batch ", i, ", expected 0 or 1");
    more = answer == 1;
    guard.stopped = !more;
    if (!more) return;
    translate_batch(guard, feeds, after);
    ++guard.given;
  });
  return fine && more;
}

void give_back(FeedGuard& guard, size_t batch, uint64_t ticket) {
  const std::lock_guard<std::mutex> lock(guard.layer->mutex);
  for (Buffer* buffer : guard.batches[batch]) {
    --buffer->users;
    if (ticket) guard.layer->note_use(*buffer, *guard.queue, ticket);
  }
  guard.batches[batch].clear();
}

void feed_release(void* ctx, uint64_t i) {
  auto& guard = *static_cast<FeedGuard*>(ctx);
  (void)in_feed(guard, "release", [&] {
    if (!check_inside(guard)) return;
    if (i != guard.released || i >= guard.given)
      backend_broke("released batch ", i, ", expected ", guard.released, " of the ", guard.given, " given");
    give_back(guard, i, 0);
    ++guard.released;
    guard.feed->release(guard.feed->ctx, i);
  });
}

// Lets the guard stand between host and backend for one run.
class Feeding {
 public:
  Feeding(Layer& layer, Queue& queue, const Program& program, const tenon_run& run) {
    if (!run.feed) return;
    TENON_VALIDATE_SIZE(run.feed, tenon_feed, release);
    if (!run.feed->next || !run.feed->release) host_broke("passes a feed without next or release");
    if (!queue.feed) queue.feed = layer.keep(new FeedGuard);
    guard_ = queue.feed;
    *guard_ = FeedGuard{};
    guard_->layer = &layer;
    guard_->queue = &queue;
    guard_->program = &program;
    guard_->feed = run.feed;
    guard_->thread = std::this_thread::get_id();
    guard_->iterations = run.iterations;
    backends_ = {sizeof(tenon_feed), 0, guard_, feed_next, feed_release};
  }
  ~Feeding() { end(0); }
  Feeding(const Feeding&) = delete;
  Feeding& operator=(const Feeding&) = delete;

  const tenon_feed* backends() const { return guard_ ? &backends_ : nullptr; }
  // What was given and not released goes with the ticket.
  void end(uint64_t ticket) {
    if (!guard_ || !guard_->feed) return;
    for (size_t k = 0; k < guard_->batches.size(); ++k) give_back(*guard_, k, ticket);
    const std::lock_guard<std::mutex> lock(guard_->layer->mutex);
    guard_->feed = nullptr;
  }
  void check() const {
    if (guard_ && guard_->broken) throw guard_->what;
  }
  bool stopped() const { return guard_ && guard_->stopped; }
  uint64_t given() const { return guard_ ? guard_->given : 0; }

 private:
  FeedGuard* guard_ = nullptr;
  tenon_feed backends_{};
};

// ---- run ----

void translate_inputs(Call& call, Queue& queue, const Program& program, const tenon_run& run) {
  const auto& expected = program.signature.buffers;
  if (!expected.empty() && !run.inputs) host_broke("passes no inputs");
  queue.inputs.assign(expected.size() + 1, nullptr);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!run.inputs[i] && run.feed && expected[i].role == TENON_ROLE_FEED) continue;
    const std::string what = cat("input ", i);
    const Buffer& buffer = call.buffer(run.inputs[i], what);
    check_device(buffer, queue, what);
    check_type(buffer, expected[i].type, expected[i].placement, what);
    queue.inputs[i] = static_cast<tenon_buffer*>(buffer.inner);
  }
}

// Each result has a buffer of its own, or that of the input which it updates.
void translate_results(Call& call, Queue& queue, const Program& program, const tenon_run& run) {
  const auto& expected = program.signature.results;
  if (!expected.empty() && !run.results) host_broke("passes no results");
  queue.results.assign(expected.size() + 1, nullptr);
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string what = cat("result ", i);
    const Buffer& buffer = call.buffer(run.results[i], what);
    check_device(buffer, queue, what);
    check_type(buffer, result_type(expected[i], program.max_iterations), expected[i].placement, what);
    auto* handle = static_cast<tenon_buffer*>(buffer.inner);
    const uint32_t alias = expected[i].alias;
    if (alias && queue.inputs[alias - 1] != handle)
      host_broke("passes as ", what, " another buffer than that of input ", alias - 1, ", which it updates");
    const auto inputs_end = queue.inputs.begin() + static_cast<std::ptrdiff_t>(program.signature.buffers.size());
    if (!alias && std::find(queue.inputs.begin(), inputs_end, handle) != inputs_end)
      host_broke("passes an input's buffer as ", what, ", which updates none");
    const auto results_end = queue.results.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(queue.results.begin(), results_end, handle) != results_end)
      host_broke("passes one buffer for two results");
    queue.results[i] = handle;
  }
}

void check_scalars(const Signature& s, const tenon_run& run) {
  const size_t n = s.scalars.size();
  if (n && !run.scalars) host_broke("passes no scalars, the program takes ", n);
  for (uint32_t i = 0; i < run.iterations; ++i) {
    const tenon_scalar* row = run.scalars + i * n;
    for (size_t k = 0; k < n; ++k)
      if (s.scalars[k] == TENON_BOOL && row[k].u64 > 1) host_broke("passes ", row[k].i64, " as the bool scalar ", k);
  }
}

// Fewer iterations need a reason: a feed that stopped, an UNTIL, or a failure, which wait then tells.
void check_done(Layer& layer, Queue& queue, const Program& program, const Feeding& feeding, const tenon_run& run,
                uint32_t done, uint64_t ticket) {
  if (done > run.iterations) backend_broke("did ", done, " iterations, expected at most ", run.iterations);
  const uint64_t all = run.feed ? feeding.given() : run.iterations;
  if (run.feed && done > all) backend_broke("did ", done, " iterations of ", all, " batches");
  const bool asked_all = !run.feed || feeding.stopped() || all == run.iterations;
  if (program.signature.until || (done == all && asked_all)) return;
  const std::lock_guard<std::mutex> lock(layer.mutex);
  if (!queue.short_ticket) queue.short_ticket = ticket;
}

void check_run(Queue& queue, const Program& program, const tenon_run& run) {
  check_device(program, queue, "program");
  if (run.iterations == 0 || run.iterations > program.max_iterations)
    host_broke("runs ", run.iterations, " iterations of a program compiled for 1 to ", program.max_iterations);
}

}  // namespace

tenon_status run(Layer& layer, tenon_queue* handle, const tenon_run* r, uint64_t* ticket, uint32_t* done) {
  Call call(layer, "run");
  Queue& queue = call.submit_to(handle);
  TENON_VALIDATE_SIZE(r, tenon_run, feed);
  if (!ticket) host_broke("passes no place for the ticket");
  const Program& program = call.program(r->program);
  check_run(queue, program, *r);
  translate_inputs(call, queue, program, *r);
  translate_results(call, queue, program, *r);
  check_scalars(program.signature, *r);
  translate_after(call, queue, r->after, r->n_after);
  Feeding feeding(layer, queue, program, *r);
  tenon_run inner = *r;
  inner.struct_size = sizeof inner;
  inner.program = static_cast<tenon_program*>(program.inner);
  inner.after = queue.after.data();
  inner.inputs = queue.inputs.data();
  inner.results = queue.results.data();
  inner.feed = feeding.backends();
  uint64_t given = 0;
  uint32_t count = 0;
  const tenon_status status = call.forward(
      queue.device, [&] { return layer.inner.run(static_cast<tenon_queue*>(queue.inner), &inner, &given, &count); });
  feeding.end(status.code ? 0 : given);
  feeding.check();
  if (status.code == TENON_OK) {
    check_flags_refused(layer, r->flags, 0, "tenon_run");
    check_done(layer, queue, program, feeding, *r, count, given);
  }
  if (done) *done = count;
  return check_ticket(call, queue, status, given, ticket);
}

}  // namespace tenon::plugin::validation

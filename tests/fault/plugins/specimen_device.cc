// The smallest device there can be. Its spec says which entry fails and how: "run-error", once for each
// device. Buffers have memory; a run adds nothing to anything.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "specimen.h"

struct tenon_device {
  std::string fault;
  bool failed = false;

  bool is(const char* what) {
    if (failed || fault != what) return false;
    failed = true;
    return true;
  }
};
struct tenon_buffer {
  tenon_device* device;
  void* memory;
  uint64_t bytes;
};
struct tenon_queue {
  tenon_device* device;
  uint64_t ticket;
};
struct tenon_program {
  tenon_device* device;
};

namespace {

constexpr tenon_status kOk{TENON_OK, 0, nullptr};
constexpr tenon_status kBroken{TENON_INTERNAL, 5, "broken on purpose"};
constexpr tenon_status kFull{TENON_OUT_OF_MEMORY, 0, "full on purpose"};
constexpr tenon_status kStrange{77, 0, nullptr};

bool same(const char* spec, const char* what) { return spec && std::strcmp(spec, what) == 0; }

bool called(const char* name) { return std::strcmp(specimen_name(), name) == 0; }

// As the contract forbids.
[[noreturn]] void throw_out() { throw std::runtime_error("thrown on\n\x1b[1m purpose"); }

// "ENTRY-error", "ENTRY-full", "ENTRY-strange", "ENTRY-throw", "ENTRY-throw-int"; OK where none is asked for.
tenon_status fault_of(tenon_device* device, const std::string& entry) {
  if (device->is((entry + "-error").c_str())) return kBroken;
  if (device->is((entry + "-full").c_str())) return kFull;
  if (device->is((entry + "-strange").c_str())) return kStrange;
  if (device->is((entry + "-throw").c_str())) throw_out();
  if (device->is((entry + "-throw-int").c_str())) throw 7;
  return kOk;
}

tenon_unit make_unit(const char* spec) {
  tenon_unit unit{};
  unit.flags = TENON_UNIT_INLINE;
  unit.kind = called("units-gpu") ? TENON_GPU : called("units-emulated") || called("units-future") ? 9 : TENON_CPU;
  if (called("units-emulated")) unit.flags |= TENON_UNIT_EMULATED;
  unit.feed_depth = same(spec, "enumerate-depth") || called("units-depth") ? 0 : 1;
  std::memset(unit.name, 'x', sizeof unit.name);  // no end
  if (!same(spec, "enumerate-text")) std::strcpy(unit.name, "Specimen\x1b[1m");
  return unit;
}

tenon_status enumerate(void*, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
  if (same(spec, "enumerate-error") || called("units-error")) return kBroken;
  if (same(spec, "enumerate-throw")) throw_out();
  misbehave_as_called(units ? "second-" : "first-");
  if (called("units-none")) return {TENON_UNAVAILABLE, 0, "no card in any slot"};
  const uint32_t room = *count;
  *count = called("units-zero") ? 0 : called("units-absurd") ? 0xffffffffu : called("units-many") ? 65536 : 1;
  if (called("units-grow") && units) *count = room + 1000;
  const tenon_unit unit = make_unit(spec);
  for (uint32_t i = 0; units && i < room && i < *count; ++i)
    std::memcpy(reinterpret_cast<char*>(units) + i * stride, &unit, stride < sizeof unit ? stride : sizeof unit);
  return kOk;
}

tenon_status device_open(void*, const tenon_open* open, tenon_device** out) {
  misbehave_as_called("open-");
  if (same(open->spec, "open-error")) return kBroken;
  if (same(open->spec, "open-throw")) throw_out();
  *out = nullptr;
  if (!same(open->spec, "open-null")) *out = new tenon_device{open->spec ? open->spec : "", false};
  return kOk;
}

void device_close(tenon_device* device) {
  misbehave_as_called("close-");
  const bool throws = device && device->is("close-throw");
  delete device;
  if (throws) throw_out();
}

tenon_status supports(tenon_device* device, const tenon_graph*, const tenon_options*, const uint32_t*, uint32_t n,
                      tenon_verdict* out, uint64_t stride) {
  if (const tenon_status s = fault_of(device, "supports"); s.code) return s;
  const int32_t answer = device->is("supports-answer") ? 9 : TENON_TAKE;
  for (uint32_t i = 0; i < n; ++i) {
    auto& verdict = *reinterpret_cast<tenon_verdict*>(reinterpret_cast<char*>(out) + i * stride);
    verdict.answer = answer;
  }
  return kOk;
}

tenon_status compile(tenon_device* device, const tenon_graph*, const tenon_options*, tenon_program** out,
                     tenon_info* info) {
  if (const tenon_status s = fault_of(device, "compile"); s.code) return s;
  if (device->is("compile-info")) info->n_allocations = 0xffffffffu;  // without an array
  *out = device->is("compile-null") ? nullptr : new tenon_program{device};
  return kOk;
}

void program_destroy(tenon_program* program) {
  const bool throws = program && program->device->is("program-throw");
  delete program;
  if (throws) throw_out();
}

tenon_status buffer_alloc(tenon_device* device, const tenon_desc* desc, tenon_buffer** out, void** host) {
  if (const tenon_status s = fault_of(device, "alloc"); s.code) return s;
  uint64_t bytes = 8;
  for (uint32_t i = 0; i < desc->rank; ++i) bytes *= static_cast<uint64_t>(desc->dims[i]);
  if (device->is("alloc-null")) return *out = nullptr, kOk;
  *out = new tenon_buffer{device, std::aligned_alloc(64, (bytes + 63) / 64 * 64), bytes};
  *host = (*out)->memory;
  if (device->is("alloc-unaligned")) *host = static_cast<char*>(*host) + 4;
  if (device->is("alloc-no-host")) *host = nullptr;
  return kOk;
}

void buffer_free(tenon_buffer* buffer) {
  const bool throws = buffer && buffer->device->is("free-throw");
  if (buffer) std::free(buffer->memory);
  delete buffer;
  if (throws) throw_out();
}

tenon_status queue_create(tenon_device* device, uint64_t, tenon_queue** out) {
  if (const tenon_status s = fault_of(device, "queue"); s.code) return s;
  *out = device->is("queue-null") ? nullptr : new tenon_queue{device, 0};
  return kOk;
}

void queue_destroy(tenon_queue* queue) {
  const bool throws = queue && queue->device->is("destroy-throw");
  delete queue;
  if (throws) throw_out();
}

tenon_status copy(tenon_queue* queue, const tenon_copy* c, uint64_t* ticket) {
  if (const tenon_status s = fault_of(queue->device, "copy"); s.code) return s;
  if (c->dst && c->dst_offset + c->bytes <= c->dst->bytes)
    std::memcpy(static_cast<char*>(c->dst->memory) + c->dst_offset, c->src_host, c->bytes);
  if (c->src && c->src_offset + c->bytes <= c->src->bytes)
    std::memcpy(c->dst_host, static_cast<char*>(c->src->memory) + c->src_offset, c->bytes);
  *ticket = queue->device->is("copy-ticket") ? 0 : ++queue->ticket;
  return kOk;
}

// Its last member throws: on a thread of the host's where there is more than one.
void throw_in_gang(void*, uint32_t index, uint32_t count) {
  if (index + 1 == count) throw_out();
}

void take_batches(const tenon_feed& feed, uint32_t n) {
  tenon_buffer* batch = nullptr;
  tenon_point after{};
  for (uint32_t i = 0; i < n && feed.next(feed.ctx, i, &batch, &after); ++i) feed.release(feed.ctx, i);
}

tenon_status run(tenon_queue* queue, const tenon_run* r, uint64_t* ticket, uint32_t* done) {
  if (const tenon_status s = fault_of(queue->device, "run"); s.code) return s;
  if (queue->device->is("run-exit")) std::thread([] { std::exit(0); }).join();
  if (queue->device->is("run-print")) std::thread([] { std::puts("printed by a thread"), std::fflush(stdout); }).join();
  if (queue->device->is("run-gang-throw")) host_table()->gang(host_table()->ctx, 8, throw_in_gang, nullptr);
  if (r->feed) take_batches(*r->feed, r->iterations);
  *done = queue->device->is("run-more") ? r->iterations + 1 : queue->device->is("run-none") ? 0 : r->iterations;
  *ticket = queue->device->is("run-ticket") ? queue->ticket : ++queue->ticket;
  return kOk;
}

tenon_status wait(tenon_queue* queue, uint64_t, uint64_t) { return fault_of(queue->device, "wait"); }

tenon_status stats(tenon_device* device, tenon_stats* out) {
  if (const tenon_status s = fault_of(device, "stats"); s.code) return s;
  out->bytes_in_use = 4096, out->bytes_free = 1024, out->bytes_largest_free = 512;
  return kOk;
}

}  // namespace

void fill_entries(tenon_backend* t) {
  t->enumerate = enumerate;
  t->device_open = device_open;
  t->device_close = device_close;
  t->supports = supports;
  t->compile = compile;
  t->program_destroy = program_destroy;
  t->buffer_alloc = buffer_alloc;
  t->buffer_free = buffer_free;
  t->queue_create = queue_create;
  t->queue_destroy = queue_destroy;
  t->copy = copy;
  t->run = run;
  t->wait = wait;
  t->stats = stats;
}

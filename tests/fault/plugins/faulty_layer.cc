// A layer over `cpu` that breaks down once, as its spec says: "run-error-2" fails the second call of run.
//
// Faults: error, full (out of memory), strange (a code that there is not), lost (from then on), wrong (a size, count or
// handle that cannot be), nan (numbers that arrive are none). It counts calls from the first with that spec on.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "tenon/plugin/host_backend.h"

TENON_DECLARE_BACKEND

namespace {

constexpr tenon_status kOk{TENON_OK, 0, nullptr};

tenon_backend inner;
std::mutex mutex;
std::string spec;                  // of the device that was opened last
std::map<std::string, int> calls;  // of each spec and entry
bool lost = false;
tenon_program* running = nullptr;  // what was run last
std::map<tenon_buffer*, tenon_desc> buffers;
std::map<tenon_buffer*, void*> host_memory;

std::string text_of(const char* text) { return text ? text : ""; }

// The fault that this call of `entry` has, or "".
std::string fault_of(const std::string& entry, const std::string& with) {
  const std::lock_guard lock(mutex);
  if (with.rfind(entry + "-", 0) != 0) return {};
  const size_t dash = with.rfind('-');
  const int nth = std::stoi(with.substr(dash + 1));
  return ++calls[with] == nth ? with.substr(entry.size() + 1, dash - entry.size() - 1) : "";
}

// True: `status` is the answer.
bool breaks_down(const std::string& entry, std::string* fault, tenon_status* status) {
  *fault = fault_of(entry, spec);
  if (*fault == "lost") lost = true;
  if (lost)
    *status = {TENON_DEVICE_LOST, 1, "the card fell off on purpose"};
  else if (*fault == "error")
    *status = {TENON_INTERNAL, 5, "broken on purpose"};
  else if (*fault == "full")
    *status = {TENON_OUT_OF_MEMORY, 0, "full on purpose"};
  else if (*fault == "strange")
    *status = {77, 0, nullptr};
  else
    return false;
  return true;
}

#define TENON_FAULTY_ENTRY(entry) \
  std::string fault;              \
  tenon_status broken = kOk;      \
  if (breaks_down(entry, &fault, &broken)) return broken

// Another device: what was lost is forgotten.
void open_spec(const char* of) {
  const std::lock_guard lock(mutex);
  if (spec != text_of(of)) lost = false;
  spec = text_of(of);
}

tenon_status enumerate(void*, const char* of, tenon_unit* units, uint64_t stride, uint32_t* count) {
  open_spec(of);
  TENON_FAULTY_ENTRY("enumerate");
  const tenon_status status = inner.enumerate(inner.self, nullptr, units, stride, count);
  if (fault == "wrong") *count += 70000;
  return status;
}

tenon_status device_open(void*, const tenon_open* open, tenon_device** out) {
  open_spec(open->spec);
  TENON_FAULTY_ENTRY("device_open");
  if (fault == "wrong") return kOk;
  tenon_open mine = *open;
  mine.spec = nullptr;
  return inner.device_open(inner.self, &mine, out);
}

tenon_status supports(tenon_device* device, const tenon_graph* graph, const tenon_options* options,
                      const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride) {
  TENON_FAULTY_ENTRY("supports");
  const tenon_status status = inner.supports(device, graph, options, nodes, n, out, stride);
  if (fault == "wrong") out->answer = 9;
  return status;
}

tenon_status compile(tenon_device* device, const tenon_graph* graph, const tenon_options* options, tenon_program** out,
                     tenon_info* info) {
  TENON_FAULTY_ENTRY("compile");
  if (fault == "wrong") return kOk;
  return inner.compile(device, graph, options, out, info);
}

tenon_status buffer_alloc(tenon_device* device, const tenon_desc* desc, tenon_buffer** out, void** host) {
  TENON_FAULTY_ENTRY("buffer_alloc");
  if (fault == "wrong") return kOk;
  const tenon_status status = inner.buffer_alloc(device, desc, out, host);
  const std::lock_guard lock(mutex);
  buffers[*out] = *desc;
  host_memory[*out] = *host;
  return status;
}

tenon_status queue_create(tenon_device* device, uint64_t flags, tenon_queue** out) {
  TENON_FAULTY_ENTRY("queue_create");
  return fault == "wrong" ? kOk : inner.queue_create(device, flags, out);
}

uint64_t elements(const tenon_desc& d) {
  uint64_t n = 1;
  for (uint32_t i = 0; i < d.rank; ++i) n *= static_cast<uint64_t>(d.dims[i]);
  return n;
}

void spoil(void* floats, uint64_t n) {
  std::fill_n(static_cast<float*>(floats), n, std::numeric_limits<float>::quiet_NaN());
}

bool is_f32(tenon_buffer* buffer) {
  const auto it = buffers.find(buffer);
  return it != buffers.end() && it->second.dtype == TENON_F32;
}

tenon_status copy(tenon_queue* queue, const tenon_copy* c, uint64_t* ticket) {
  const bool to_spoil = c->dst_host && is_f32(c->src);  // of copies that are nan only these count
  if (spec.rfind("copy-nan", 0) == 0 && !to_spoil) return inner.copy(queue, c, ticket);
  TENON_FAULTY_ENTRY("copy");
  const tenon_status status = inner.copy(queue, c, ticket);
  const std::lock_guard lock(mutex);
  if (fault == "nan") spoil(c->dst_host, c->bytes / sizeof(float));
  if (fault == "wrong") *ticket = 0;
  return status;
}

tenon_status run(tenon_queue* queue, const tenon_run* r, uint64_t* ticket, uint32_t* done) {
  running = r->program;
  TENON_FAULTY_ENTRY("run");
  const tenon_status status = inner.run(queue, r, ticket, done);
  const std::lock_guard lock(mutex);
  for (int i = 0; fault == "nan" && i < 64 && r->results[i]; ++i)  // the core ends its lists with NULL
    if (is_f32(r->results[i]) && host_memory[r->results[i]])
      spoil(host_memory[r->results[i]], elements(buffers[r->results[i]]));
  if (fault == "wrong") *done = r->iterations + 1;
  return status;
}

tenon_status wait(tenon_queue* queue, uint64_t ticket, uint64_t timeout) {
  TENON_FAULTY_ENTRY("wait");
  if (fault == "wrong") return {TENON_TIMEOUT, 0, nullptr};
  return inner.wait(queue, ticket, timeout);
}

// What is lost was lost in the second iteration of the last run, in the first node.
tenon_status error_info(tenon_queue* queue, tenon_error* out) {
  if (!lost) return inner.error_info(queue, out);
  out->code = TENON_DEVICE_LOST;
  out->native = 1;
  out->program = running;
  out->node = 0;
  out->iteration = 1;
  return kOk;
}

tenon_status stats(tenon_device* device, tenon_stats* out) {
  TENON_FAULTY_ENTRY("stats");
  if (fault == "wrong") return *out = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 0, 0}, kOk;
  return inner.stats(device, out);
}

}  // namespace

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  inner.struct_size = sizeof inner;
  if (const tenon_status status = host->open_backend(host->ctx, "cpu", &inner); status.code) return status;
  tenon_backend full = inner;
  full.name = "faulty";
  full.enumerate = enumerate;
  full.device_open = device_open;
  full.supports = supports;
  full.compile = compile;
  full.buffer_alloc = buffer_alloc;
  full.queue_create = queue_create;
  full.copy = copy;
  full.run = run;
  full.wait = wait;
  full.stats = stats;
  full.error_info = error_info;
  full.struct_size = std::min<uint64_t>(out->struct_size, sizeof full);
  std::memcpy(out, &full, full.struct_size);
  return kOk;
}

// The layer's table. Entries of the ABI do not say which table they were called through: each layer has
// functions of its own.
#include "tenon/plugin/validation.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "validation/layer.h"

namespace tenon::plugin {
namespace validation {
namespace {

constexpr unsigned kMaxLayers = 32;
std::array<std::atomic<Layer*>, kMaxLayers> layers;

// ---- the entries, of a layer ----

template <class F>
tenon_status enter(Layer& l, const char* entry, F body) {
  return checked(l.name, entry, body);
}
template <class F>
void enter_void(Layer& l, const char* entry, F body) {
  (void)checked(l.name, entry, [&] { return body(), tenon_status{}; });
}

void check_self(const Layer& l, const void* self) {
  if (self != &l) host_broke("passes another self than the table's");
}
tenon_status on_enumerate(Layer& l, void* self, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
  return enter(l, "enumerate", [&] { return check_self(l, self), enumerate(l, spec, units, stride, count); });
}
tenon_status on_device_open(Layer& l, void* self, const tenon_open* open, tenon_device** out) {
  return enter(l, "device_open", [&] { return check_self(l, self), device_open(l, open, out); });
}
void on_device_close(Layer& l, tenon_device* d) {
  enter_void(l, "device_close", [&] { device_close(l, d); });
}
tenon_status on_supports(Layer& l, tenon_device* d, const tenon_graph* graph, const tenon_options* options,
                         const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride) {
  return enter(l, "supports", [&] { return supports(l, d, graph, options, nodes, n, out, stride); });
}
tenon_status on_compile(Layer& l, tenon_device* d, const tenon_graph* graph, const tenon_options* options,
                        tenon_program** out, tenon_info* info) {
  return enter(l, "compile", [&] { return compile(l, d, graph, options, out, info); });
}
tenon_status on_describe(Layer& l, const tenon_program* p, tenon_plan* out) {
  return enter(l, "describe", [&] { return describe(l, p, out); });
}
void on_program_destroy(Layer& l, tenon_program* p) {
  enter_void(l, "program_destroy", [&] { program_destroy(l, p); });
}
tenon_status on_buffer_alloc(Layer& l, tenon_device* d, const tenon_desc* desc, tenon_buffer** out, void** host) {
  return enter(l, "buffer_alloc", [&] { return buffer_alloc(l, d, desc, out, host); });
}
void on_buffer_free(Layer& l, tenon_buffer* b) {
  enter_void(l, "buffer_free", [&] { buffer_free(l, b); });
}
tenon_status on_queue_create(Layer& l, tenon_device* d, uint64_t flags, tenon_queue** out) {
  return enter(l, "queue_create", [&] { return queue_create(l, d, flags, out); });
}
void on_queue_destroy(Layer& l, tenon_queue* q) {
  enter_void(l, "queue_destroy", [&] { queue_destroy(l, q); });
}
tenon_status on_copy(Layer& l, tenon_queue* q, const tenon_copy* c, uint64_t* ticket) {
  return enter(l, "copy", [&] { return copy(l, q, c, ticket); });
}
tenon_status on_run(Layer& l, tenon_queue* q, const tenon_run* r, uint64_t* ticket, uint32_t* done) {
  return enter(l, "run", [&] { return run(l, q, r, ticket, done); });
}
tenon_status on_wait(Layer& l, tenon_queue* q, uint64_t ticket, uint64_t timeout_ns) {
  return enter(l, "wait", [&] { return wait(l, q, ticket, timeout_ns); });
}
tenon_status on_stats(Layer& l, tenon_device* d, tenon_stats* out) {
  return enter(l, "stats", [&] { return stats(l, d, out); });
}
tenon_status on_trace(Layer& l, tenon_device* d, const tenon_sink* sink) {
  return enter(l, "trace", [&] { return trace(l, d, sink); });
}

tenon_status on_error_info(Layer& l, tenon_queue* q, tenon_error* out) {
  return enter(l, "error_info", [&] { return error_info(l, q, out); });
}
tenon_status on_facts(Layer& l, tenon_device* d, tenon_facts* out) {
  return enter(l, "facts", [&] { return facts(l, d, out); });
}

// ---- a table for each slot ----

template <unsigned slot, auto entry>
struct Through;
template <unsigned slot, class R, class... A, R (*entry)(Layer&, A...)>
struct Through<slot, entry> {
  static R call(A... a) { return entry(*layers[slot].load(std::memory_order_acquire), a...); }
};

template <unsigned slot>
void fill(tenon_backend* t) {
  t->enumerate = Through<slot, on_enumerate>::call;
  t->device_open = Through<slot, on_device_open>::call;
  t->device_close = Through<slot, on_device_close>::call;
  t->supports = Through<slot, on_supports>::call;
  t->compile = Through<slot, on_compile>::call;
  t->program_destroy = Through<slot, on_program_destroy>::call;
  t->buffer_alloc = Through<slot, on_buffer_alloc>::call;
  t->buffer_free = Through<slot, on_buffer_free>::call;
  t->queue_create = Through<slot, on_queue_create>::call;
  t->queue_destroy = Through<slot, on_queue_destroy>::call;
  t->copy = Through<slot, on_copy>::call;
  t->run = Through<slot, on_run>::call;
  t->wait = Through<slot, on_wait>::call;
  t->stats = Through<slot, on_stats>::call;
  t->trace = Through<slot, on_trace>::call;
  t->describe = Through<slot, on_describe>::call;
  t->error_info = Through<slot, on_error_info>::call;
  t->facts = Through<slot, on_facts>::call;
}

using Fill = void (*)(tenon_backend*);

template <unsigned... slots>
constexpr std::array<Fill, kMaxLayers> fills(std::integer_sequence<unsigned, slots...>) {
  return {fill<slots>...};
}

// The slot that is now this layer's, or kMaxLayers.
unsigned place(Layer* layer) {
  for (unsigned i = 0; i < kMaxLayers; ++i) {
    Layer* none = nullptr;
    layer->slot = static_cast<uint8_t>(i);
    if (layers[i].compare_exchange_strong(none, layer, std::memory_order_acq_rel)) return i;
  }
  return kMaxLayers;
}

bool is_whole(const tenon_backend& t) {
  return t.struct_size >= TENON_SIZE(tenon_backend, wait) && t.name && t.version && t.enumerate && t.device_open &&
         t.device_close && t.supports && t.compile && t.program_destroy && t.buffer_alloc && t.buffer_free &&
         t.queue_create && t.queue_destroy && t.copy && t.run && t.wait;
}

tenon_status install(const tenon_backend& inner, tenon_backend* out) {
  auto layer = std::make_unique<Layer>();
  std::memcpy(&layer->inner, &inner, std::min<uint64_t>(inner.struct_size, sizeof inner));
  layer->name = quoted(inner.name);
  const unsigned slot = place(layer.get());
  if (slot == kMaxLayers) return answer(TENON_UNSUPPORTED, cat("validates at most ", kMaxLayers, " backends"));
  const tenon_backend& in = layer.release()->inner;  // lives for ever
  tenon_backend full{};
  full.struct_size = std::min<uint64_t>(out->struct_size, sizeof full);
  full.abi_major = in.abi_major;
  full.abi_minor = std::min(in.abi_minor, TENON_ABI_MINOR);
  full.self = layers[slot];
  full.name = inner.name;
  full.version = inner.version;
  constexpr auto table = fills(std::make_integer_sequence<unsigned, kMaxLayers>());
  table[slot](&full);
  if (!in.stats) full.stats = nullptr;
  if (!in.trace) full.trace = nullptr;
  if (!in.describe) full.describe = nullptr;
  if (!in.error_info) full.error_info = nullptr;
  if (!in.facts) full.facts = nullptr;
  std::memcpy(out, &full, full.struct_size);
  return {TENON_OK, 0, nullptr};
}

}  // namespace
}  // namespace validation

tenon_status validate_backend(const tenon_backend& inner, tenon_backend* out) {
  using namespace validation;
  return checked("?", "validate_backend", [&] {
    if (!out || out->struct_size < TENON_SIZE(tenon_backend, wait)) host_broke("passes no table to fill");
    if (!is_whole(inner)) backend_broke("left an entry of its table, its name or version empty");
    return install(inner, out);
  });
}

}  // namespace tenon::plugin

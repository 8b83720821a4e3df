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

template <unsigned slot>
struct Entries {
  static Layer& layer() { return *layers[slot].load(std::memory_order_acquire); }

  template <class F>
  static tenon_status enter(const char* entry, F body) {
    return checked(layer().name, entry, body);
  }
  template <class F>
  static void enter_void(const char* entry, F body) {
    (void)checked(layer().name, entry, [&] { return body(), tenon_status{}; });
  }
  static void check_self(const void* self) {
    if (self != &layer()) host_broke("passes another self than the table's");
  }

  static tenon_status enumerate(void* self, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
    return enter("enumerate",
                 [&] { return check_self(self), validation::enumerate(layer(), spec, units, stride, count); });
  }
  static tenon_status device_open(void* self, const tenon_open* open, tenon_device** out) {
    return enter("device_open", [&] { return check_self(self), validation::device_open(layer(), open, out); });
  }
  static void device_close(tenon_device* d) {
    enter_void("device_close", [&] { validation::device_close(layer(), d); });
  }
  static tenon_status supports(tenon_device* d, const tenon_graph* graph, const tenon_options* options,
                               const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride) {
    return enter("supports", [&] { return validation::supports(layer(), d, graph, options, nodes, n, out, stride); });
  }
  static tenon_status compile(tenon_device* d, const tenon_graph* graph, const tenon_options* options,
                              tenon_program** out, tenon_info* info) {
    return enter("compile", [&] { return validation::compile(layer(), d, graph, options, out, info); });
  }
  static void program_destroy(tenon_program* p) {
    enter_void("program_destroy", [&] { validation::program_destroy(layer(), p); });
  }
  static tenon_status buffer_alloc(tenon_device* d, const tenon_desc* desc, tenon_buffer** out, void** host) {
    return enter("buffer_alloc", [&] { return validation::buffer_alloc(layer(), d, desc, out, host); });
  }
  static void buffer_free(tenon_buffer* b) {
    enter_void("buffer_free", [&] { validation::buffer_free(layer(), b); });
  }
  static tenon_status queue_create(tenon_device* d, uint64_t flags, tenon_queue** out) {
    return enter("queue_create", [&] { return validation::queue_create(layer(), d, flags, out); });
  }
  static void queue_destroy(tenon_queue* q) {
    enter_void("queue_destroy", [&] { validation::queue_destroy(layer(), q); });
  }
  static tenon_status copy(tenon_queue* q, const tenon_copy* c, uint64_t* ticket) {
    return enter("copy", [&] { return validation::copy(layer(), q, c, ticket); });
  }
  static tenon_status run(tenon_queue* q, const tenon_run* r, uint64_t* ticket, uint32_t* done) {
    return enter("run", [&] { return validation::run(layer(), q, r, ticket, done); });
  }
  static tenon_status wait(tenon_queue* q, uint64_t ticket, uint64_t timeout_ns) {
    return enter("wait", [&] { return validation::wait(layer(), q, ticket, timeout_ns); });
  }
  static tenon_status stats(tenon_device* d, tenon_stats* out) {
    return enter("stats", [&] { return validation::stats(layer(), d, out); });
  }
  static tenon_status trace(tenon_device* d, const tenon_sink* sink) {
    return enter("trace", [&] { return validation::trace(layer(), d, sink); });
  }

  static void fill(tenon_backend* t) {
    t->enumerate = enumerate, t->device_open = device_open, t->device_close = device_close;
    t->supports = supports, t->compile = compile, t->program_destroy = program_destroy;
    t->buffer_alloc = buffer_alloc, t->buffer_free = buffer_free;
    t->queue_create = queue_create, t->queue_destroy = queue_destroy;
    t->copy = copy, t->run = run, t->wait = wait, t->stats = stats, t->trace = trace;
  }
};

using Fill = void (*)(tenon_backend*);

template <unsigned... slots>
constexpr std::array<Fill, kMaxLayers> fills(std::integer_sequence<unsigned, slots...>) {
  return {Entries<slots>::fill...};
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

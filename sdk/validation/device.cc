// Units, devices, what they count and trace.
#include <algorithm>
#include <cstring>

#include "validation/layer.h"

namespace tenon::plugin::validation {
namespace {

constexpr uint64_t kUnitBytes = sizeof(tenon_unit);  // of version 1.0
constexpr unsigned char kUnitGuard = 0xa5;
constexpr uint32_t kMaxUnits = 65536;

void check_text(const char (&text)[64], const char* field, uint32_t unit) {
  const char* end = static_cast<const char*>(std::memchr(text, 0, sizeof text));
  if (!end) backend_broke("gave unit ", unit, " a ", field, " without an end");
  if (std::any_of(text, end, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    backend_broke("gave unit ", unit, " a ", field, " that cannot be printed: '", quoted(text), "'");
}

void check_unit(const tenon_unit& u, uint32_t i) {
  if (u.feed_depth == 0) backend_broke("gave unit ", i, " feed_depth 0, expected 1 or more");
  if (u.kind == 0) backend_broke("gave unit ", i, " no kind");
  check_text(u.name, "name", i);
  check_text(u.version, "version", i);
}

// Room for some units and a guard behind them.
class Room {
 public:
  Room(uint32_t n, uint64_t stride) : n_(n), stride_(stride), bytes_((n + uint64_t{1}) * stride, 0) {
    std::fill(bytes_.begin() + static_cast<std::ptrdiff_t>(n * stride), bytes_.end(), kUnitGuard);
  }
  tenon_unit* data() { return reinterpret_cast<tenon_unit*>(bytes_.data()); }
  tenon_unit unit(uint32_t i) const {
    tenon_unit u{};
    std::memcpy(&u, bytes_.data() + i * stride_, std::min<uint64_t>(stride_, sizeof u));
    return u;
  }
  void check(uint32_t filled) const {
    const auto guard = bytes_.begin() + static_cast<std::ptrdiff_t>(n_ * stride_);
    if (std::any_of(guard, bytes_.end(), [](unsigned char c) { return c != kUnitGuard; }))
      backend_broke("wrote beyond the ", n_, " units it had room for");
    for (uint32_t i = 0; i < filled; ++i) check_unit(unit(i), i);
  }
  // What is behind the units that this version knows is left alone, as the backend would have left it.
  void copy_to(tenon_unit* out, uint32_t n) const {
    for (uint32_t i = 0; i < n; ++i)
      std::memcpy(reinterpret_cast<unsigned char*>(out) + i * stride_, bytes_.data() + i * stride_,
                  std::min<uint64_t>(stride_, sizeof(tenon_unit)));
  }

 private:
  uint32_t n_;
  uint64_t stride_;
  std::vector<unsigned char> bytes_;
};

// The units of `spec`, which device_open speaks of; empty where the backend does not say.
std::vector<tenon_unit> units_of(Call& call, const char* spec) {
  const tenon_backend& inner = call.layer().inner;
  uint32_t n = 0;
  if (call.forward(nullptr, [&] { return inner.enumerate(inner.self, spec, nullptr, kUnitBytes, &n); }).code) return {};
  n = std::min(n, kMaxUnits);
  std::vector<tenon_unit> units(n);
  if (n && call.forward(nullptr, [&] { return inner.enumerate(inner.self, spec, units.data(), kUnitBytes, &n); }).code)
    return {};
  units.resize(std::min<size_t>(n, units.size()));
  return units;
}

void check_open(const tenon_open& o, const std::vector<tenon_unit>& units) {
  if (!o.units || o.n_units == 0) host_broke("opens no units");
  if (units.empty()) return;
  std::vector<uint32_t> seen;
  for (uint32_t i = 0; i < o.n_units; ++i) {
    const uint32_t u = o.units[i];
    if (u >= units.size()) host_broke("opens unit ", u, " of ", units.size());
    if (units[u].domain != units[o.units[0]].domain) host_broke("opens units of two domains together");
    if (std::find(seen.begin(), seen.end(), u) != seen.end()) host_broke("opens unit ", u, " twice");
    seen.push_back(u);
  }
}

void describe(const tenon_open& o, const std::vector<tenon_unit>& units, Device* device) {
  device->units = o.n_units;
  device->is_inline = !units.empty();  // else it has to be asked what is complete
  device->feed_depth = UINT32_MAX;
  for (uint32_t i = 0; i < o.n_units && !units.empty(); ++i) {
    const tenon_unit& u = units[o.units[i]];
    device->is_inline &= (u.flags & TENON_UNIT_INLINE) != 0;
    device->feed_depth = std::min(device->feed_depth, std::max(u.feed_depth, 1u));
  }
}

}  // namespace

tenon_status enumerate(Layer& layer, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
  Call call(layer, "enumerate");
  if (!count) host_broke("passes no count");
  if (units && stride < kUnitBytes)
    host_broke("passes units with a stride of ", stride, ", expected ", kUnitBytes, " or more");
  const uint32_t room = units ? std::min(*count, kMaxUnits) : 0;
  Room own(room, units ? stride : kUnitBytes);
  uint32_t n = room;
  const tenon_backend& inner = layer.inner;
  const tenon_status status = call.forward(nullptr, [&] {
    return inner.enumerate(inner.self, spec, units ? own.data() : nullptr, units ? stride : kUnitBytes, &n);
  });
  if (status.code) return status;
  if (n == 0) backend_broke("answered OK with no unit, expected UNAVAILABLE and why");
  own.check(std::min(n, room));
  if (room) own.copy_to(units, std::min(n, room));
  *count = n;
  return status;
}

tenon_status device_open(Layer& layer, const tenon_open* open, tenon_device** out) {
  Call call(layer, "device_open");
  TENON_VALIDATE_SIZE(open, tenon_open, n_units);
  if (!out) host_broke("passes no place for the device");
  const std::vector<tenon_unit> units = units_of(call, open->spec);
  check_open(*open, units);
  tenon_open inner_open{};
  std::memcpy(&inner_open, open, std::min<uint64_t>(open->struct_size, sizeof inner_open));
  const ProcessState before;
  tenon_device* made = nullptr;
  const tenon_status status =
      call.forward(nullptr, [&] { return layer.inner.device_open(layer.inner.self, &inner_open, &made); });
  if (const char* changed = before.difference()) backend_broke("changed ", changed);
  if (status.code) {
    if (made) backend_broke("gave a device together with an error");
    return status;
  }
  check_flags_refused(layer, open->flags, 0, "tenon_open");
  auto device = std::make_unique<Device>(made);
  describe(*open, units, device.get());
  *out = static_cast<tenon_device*>(layer.add(std::move(device)));
  return status;
}

void device_close(Layer& layer, tenon_device* handle) {
  Call call(layer, "device_close");
  if (!handle) return;
  {
    const std::lock_guard<std::mutex> lock(layer.mutex);
    const Object& device = layer.find(handle, Kind::kDevice, "device");
    unsigned left[5] = {};
    for (const auto& [serial, object] : layer.objects)
      if (object->device == &device) ++left[static_cast<int>(object->kind)];
    if (left[2] || left[3] || left[4])
      host_broke("closes device #", device.serial, ", of which ", left[2], " buffers, ", left[3], " queues and ",
                 left[4], " programs are left");
  }
  const std::unique_ptr<Object> device = call.take(handle, Kind::kDevice);
  const ProcessState before;
  call.forward_void([&] { layer.inner.device_close(static_cast<tenon_device*>(device->inner)); });
  if (const char* changed = before.difference()) backend_broke("changed ", changed);
}

tenon_status stats(Layer& layer, tenon_device* handle, tenon_stats* out) {
  Call call(layer, "stats");
  Device& device = call.device(handle);
  TENON_VALIDATE_SIZE(out, tenon_stats, bytes_largest_free);
  check_zeroed(&out->flags, TENON_SIZE(tenon_stats, bytes_largest_free) - sizeof out->struct_size, "tenon_stats");
  const uint64_t room = out->struct_size;
  const tenon_status status =
      call.forward(nullptr, [&] { return layer.inner.stats(static_cast<tenon_device*>(device.inner), out); });
  if (out->struct_size > room) backend_broke("set struct_size ", out->struct_size, ", there was room for ", room);
  return status;
}

namespace {

void check_fact(const char* text, const char* field) {
  if (text && (!*text || quoted(text) != text))
    backend_broke("tells as ", field, " what is no line: '", quoted(text), "'");
}

}  // namespace

tenon_status facts(Layer& layer, tenon_device* handle, tenon_facts* out) {
  Call call(layer, "facts");
  Device& device = call.device(handle);
  TENON_VALIDATE_SIZE(out, tenon_facts, trace_clock);
  check_zeroed(&out->flags, TENON_SIZE(tenon_facts, trace_clock) - sizeof out->struct_size, "tenon_facts");
  const uint64_t room = out->struct_size;
  const tenon_status status =
      call.forward(nullptr, [&] { return layer.inner.facts(static_cast<tenon_device*>(device.inner), out); });
  if (status.code) return status;
  if (out->struct_size > room) backend_broke("set struct_size ", out->struct_size, ", there was room for ", room);
  check_fact(out->kind, "kind");
  check_fact(out->vendor, "vendor");
  check_fact(out->driver, "driver");
  check_fact(out->topology, "topology");
  if (out->trace_clock < TENON_CLOCK_OWN || out->trace_clock > TENON_CLOCK_PREDICTED)
    backend_broke("tells of trace clock ", out->trace_clock, ", expected 0 to 2");
  return status;
}

namespace {

void emit(void* ctx, const tenon_event* events, uint32_t n, uint64_t stride) {
  auto& trace = *static_cast<Trace*>(ctx);
  (void)checked(trace.layer->name, "emit", [&]() -> tenon_status {
    if (n && (!events || stride < TENON_SIZE(tenon_event, bytes)))
      backend_broke("emits ", n, " events with a stride of ", stride);
    const std::lock_guard<std::mutex> lock(trace.mutex);
    if (!trace.hosts) backend_broke("emits events after its trace was ended");
    std::vector<tenon_event> out(n);
    for (uint32_t i = 0; i < n; ++i) {
      std::memcpy(&out[i], reinterpret_cast<const char*>(events) + i * stride,
                  std::min<uint64_t>(stride, sizeof out[i]));
      out[i].program = trace.layer->outer_program(out[i].program);  // NULL: it was destroyed since
      if (!out[i].name) backend_broke("emits an event without a name");
    }
    trace.hosts->emit(trace.hosts->ctx, out.data(), n, sizeof(tenon_event));
    return {TENON_OK, 0, nullptr};
  });
}

}  // namespace

tenon_status trace(Layer& layer, tenon_device* handle, const tenon_sink* sink) {
  Call call(layer, "trace");
  Device& device = call.device(handle);
  if (sink) {
    TENON_VALIDATE_SIZE(sink, tenon_sink, emit);
    if (!sink->emit) host_broke("passes a sink that takes no events");
    if (!device.trace) device.trace = layer.keep(new Trace);
    const std::lock_guard<std::mutex> lock(device.trace->mutex);
    if (device.trace->hosts) host_broke("begins a trace before the last one was ended");
    device.trace->layer = &layer;
    device.trace->hosts = sink;
    device.trace->backends = {sizeof(tenon_sink), sink->flags, device.trace, emit};
  }
  const tenon_status status = call.forward(&device, [&] {
    return layer.inner.trace(static_cast<tenon_device*>(device.inner), sink ? &device.trace->backends : nullptr);
  });
  if (device.trace && (!sink || status.code)) {
    const std::lock_guard<std::mutex> lock(device.trace->mutex);
    device.trace->hosts = nullptr;
  }
  return status;
}

}  // namespace tenon::plugin::validation

#include "backend/units.h"

#include <algorithm>
#include <cstring>

#include "backend/abi.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr uint32_t kMaxUnits = 65536;
constexpr uint32_t kMaxFeedDepth = 4096;
constexpr uint64_t kUnitFlags = TENON_UNIT_INLINE | TENON_UNIT_EMULATED;

const char* or_null(const std::string& spec) { return spec.empty() ? nullptr : spec.c_str(); }

Status wrong(const std::string& backend, const std::string& what) {
  return Status(Code::kAbi, cat(backend, ": enumerate ", what));
}

Status call(const LoadedBackend& backend, const std::string& spec, tenon_unit* units, uint32_t* count) {
  const tenon_backend& t = backend.table;
  return call_entry(backend.name, "enumerate",
                    [&] { return t.enumerate(t.self, or_null(spec), units, sizeof(tenon_unit), count); });
}

Status check_unit(const std::string& backend, const tenon_unit& u, size_t i) {
  if (u.feed_depth == 0 || u.feed_depth > kMaxFeedDepth)
    return wrong(backend, cat("gave unit ", i, " feed_depth ", u.feed_depth, ", expected 1 to ", kMaxFeedDepth));
  if (!is_readable(u.flags, kUnitFlags))
    return wrong(backend, cat("gave unit ", i, " flags ", u.flags, ", of which this version knows ", kUnitFlags));
  if (u.kind == 0) return wrong(backend, cat("gave unit ", i, " no kind"));
  return {};
}

// Kinds that are not known yet count as accelerators.
const char* kind_name(uint32_t kind) { return kind == TENON_CPU ? "cpu" : kind == TENON_GPU ? "gpu" : "accelerator"; }

template <size_t n>
std::string text_of(const char (&field)[n]) {
  return one_line(std::string_view(field, ::strnlen(field, n)));
}

UnitInfo describe(const tenon_unit& u) {
  UnitInfo info;
  info.name = text_of(u.name);
  info.version = text_of(u.version);
  info.kind = kind_name(u.kind);
  info.memory_bytes = u.memory_bytes;
  info.max_buffer_bytes = u.max_buffer_bytes;
  info.feed_depth = static_cast<int>(u.feed_depth);
  info.host = static_cast<int>(u.host);
  info.domain = static_cast<int>(u.domain);
  info.emulated = u.flags & TENON_UNIT_EMULATED;
  return info;
}

// The units of the domain of the first.
std::vector<uint32_t> first_domain(const std::vector<tenon_unit>& units) {
  std::vector<uint32_t> which;
  for (uint32_t i = 0; i < units.size(); ++i)
    if (units[i].domain == units[0].domain) which.push_back(i);
  return which;
}

Result<tenon_device*> open_which(const LoadedBackend& backend, const std::string& spec,
                                 const std::vector<uint32_t>& which) {
  tenon_open open{};
  open.struct_size = sizeof open;
  open.spec = or_null(spec);
  open.units = which.data();
  open.n_units = static_cast<uint32_t>(which.size());
  tenon_device* device = nullptr;
  TENON_TRY(call_entry(backend.name, "device_open",
                       [&] { return backend.table.device_open(backend.table.self, &open, &device); }));
  if (!device) return Status(Code::kAbi, cat(backend.name, ": device_open gave no device"));
  return device;
}

std::string fact(const char* text) { return text ? one_line(printable(text)) : std::string(); }

DeviceFacts::Clock clock_of(int32_t clock) {
  if (clock == TENON_CLOCK_MONOTONIC) return DeviceFacts::Clock::kMonotonic;
  return clock == TENON_CLOCK_PREDICTED ? DeviceFacts::Clock::kPredicted : DeviceFacts::Clock::kOwn;
}

}  // namespace

DeviceFacts facts_of(const tenon_backend& backend, tenon_device* device, const std::string& name) {
  if (!backend.facts) return {};
  tenon_facts facts{};
  facts.struct_size = sizeof facts;
  if (!call_entry(name, "facts", [&] { return backend.facts(device, &facts); }).ok()) return {};
  if (!is_readable(facts.flags)) return {};
  return {fact(facts.kind), fact(facts.vendor), fact(facts.driver), fact(facts.topology), clock_of(facts.trace_clock)};
}

Result<std::vector<tenon_unit>> raw_units(const LoadedBackend& backend, const std::string& spec) {
  uint32_t count = 0;
  TENON_TRY(call(backend, spec, nullptr, &count));
  if (count == 0) return Status(Code::kUnavailable, cat(backend.name, ": has no units here"));
  if (count > kMaxUnits) return wrong(backend.name, cat("counts ", count, " units, expected 1 to ", kMaxUnits));
  std::vector<tenon_unit> units(count);
  uint32_t filled = count;
  TENON_TRY(call(backend, spec, units.data(), &filled));
  if (filled == 0 || filled > count) return wrong(backend.name, cat("filled ", filled, " units, expected ", count));
  units.resize(filled);
  return units;
}

Result<std::vector<UnitInfo>> describe_units(const std::string& backend, const std::vector<tenon_unit>& units) {
  std::vector<UnitInfo> out;
  for (size_t i = 0; i < units.size(); ++i) {
    TENON_TRY(check_unit(backend, units[i], i));
    out.push_back(describe(units[i]));
  }
  return out;
}

Result<std::vector<UnitInfo>> enumerate_units(const LoadedBackend& backend, const std::string& spec) {
  TENON_ASSIGN(const std::vector<tenon_unit> raw, raw_units(backend, spec));
  return describe_units(backend.name, raw);
}

Result<DeviceFacts> try_to_open(const LoadedBackend& backend, const std::string& spec,
                                const std::vector<tenon_unit>& units) {
  TENON_ASSIGN(tenon_device* const device, open_which(backend, spec, first_domain(units)));
  const DeviceFacts facts = facts_of(backend.table, device, backend.name);
  call_void_entry(backend.name, "device_close", [&] { backend.table.device_close(device); });
  return facts;
}

Result<std::shared_ptr<Device>> open_units(const LoadedBackend& backend, const std::string& spec) {
  TENON_ASSIGN(const std::vector<tenon_unit> raw, raw_units(backend, spec));
  TENON_ASSIGN(const std::vector<UnitInfo> all, describe_units(backend.name, raw));
  const std::vector<uint32_t> which = first_domain(raw);
  std::vector<UnitInfo> units;
  for (const uint32_t i : which) units.push_back(all[i]);
  TENON_ASSIGN(tenon_device* const device, open_which(backend, spec, which));
  return std::make_shared<Device>(backend.table, device, spec.empty() ? backend.name : cat(backend.name, ":", spec),
                                  std::move(units));
}

}  // namespace tenon

#include "backend/forecast.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "backend/abi.h"
#include "backend/load/loader.h"
#include "base/strings.h"
#include "tenon/abi/forecast.h"

namespace tenon {
namespace {

// What the backend set of the table; the rest is zero.
std::optional<tenon_forecast> find_forecast(const tenon_backend& backend, std::string_view name) {
  if (!backend.extension) return {};
  const void* found = nullptr;
  call_void_entry(name, "extension", [&] { found = backend.extension(backend.self, TENON_FORECAST, 1); });
  if (!found) return {};
  tenon_forecast table{};
  uint64_t size = 0;
  std::memcpy(&size, found, sizeof size);
  std::memcpy(&table, found, std::min<uint64_t>(size, sizeof table));
  if (!table.step || !is_readable(table.flags)) return {};
  return table;
}

double milliseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

PredictedKernel kernel_of(const tenon_forecast_kernel& k) {
  PredictedKernel out;
  out.node = k.node;
  out.nodes = static_cast<int>(std::min<uint32_t>(k.n_nodes, kMaxRows));
  out.category = printable(k.category);
  out.bound = printable(k.bound);
  out.start_ms = static_cast<double>(k.start_ps) * 1e-9;
  out.ms = static_cast<double>(k.duration_ps) * 1e-9;
  out.flops = k.flops;
  out.padded_flops = k.padded_flops;
  out.bytes = k.bytes;
  out.padded_bytes = k.padded_bytes;
  return out;
}

PredictedArgument argument_of(const tenon_forecast_argument& a) { return {a.input, a.bytes, a.dense_bytes}; }

PredictedPadding padding_of(const tenon_forecast_padding& p) {
  return {p.node == TENON_NONE ? -1 : int64_t{p.node}, p.index, p.axis, static_cast<int64_t>(p.size),
          static_cast<int64_t>(p.padded)};
}

PredictedStep step_of(const tenon_forecast_step& s) {
  PredictedStep out;
  out.machine = printable(s.machine);
  out.software = printable(s.software);
  out.validated = s.validated != 0;
  out.bottleneck = printable(s.bottleneck);
  out.advice = printable(s.advice, kMaxReport);
  out.units = static_cast<int>(std::min<uint32_t>(s.units, kMaxRows));
  out.hosts = static_cast<int>(std::min<uint32_t>(s.hosts, kMaxRows));
  out.step_ms = milliseconds(s.step_ns);
  out.device_ms = milliseconds(s.device_ns);
  out.infeed_ms = milliseconds(s.infeed_ns);
  out.outfeed_ms = milliseconds(s.outfeed_ns);
  out.host_ms = milliseconds(s.host_ns);
  out.collective_ms = milliseconds(s.collective_ns);
  out.update_ms = milliseconds(s.update_ns);
  out.flops = s.flops;
  out.peak_flops = static_cast<double>(s.flops_per_second);
  out.peak_bytes = static_cast<double>(s.bytes_per_second);
  out.out_bytes_per_s = static_cast<double>(s.out_bytes_per_second);
  out.back_bytes_per_s = static_cast<double>(s.back_bytes_per_second);
  out.kernels = rows_of(s.kernels, s.n_kernels, s.kernel_stride, kernel_of);
  out.arguments = rows_of(s.arguments, s.n_arguments, s.argument_stride, argument_of);
  out.paddings = rows_of(s.paddings, s.n_paddings, s.padding_stride, padding_of);
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

bool offers_forecast(const Device& device) { return find_forecast(device.backend(), device.name()).has_value(); }

Result<PredictedStep> forecast(const Device& device, const Program& program) {
  const std::optional<tenon_forecast> table = find_forecast(device.backend(), device.name());
  if (!table) return Status(Code::kUnsupported, cat(device.name(), ": the backend does not predict"));
  tenon_forecast_step step{};
  step.struct_size = sizeof step;
  TENON_TRY(call_entry(device.name(), "forecast", [&] { return table->step(program.handle(), &step); }));
  if (!is_readable(step.flags))
    return Status(Code::kUnsupported,
                  cat(device.name(), ": its prediction has flags ", step.flags, " that are not known"));
  return step_of(step);
}

std::vector<std::string> beside_units(const LoadedBackend& backend, const std::string& spec) {
  const std::optional<tenon_forecast> table = find_forecast(backend.table, backend.name);
  if (!table || !table->beside) return {};
  const char* lines = nullptr;
  call_void_entry(backend.name, "beside",
                  [&] { lines = table->beside(backend.table.self, spec.empty() ? nullptr : spec.c_str()); });
  return lines_of(printable(lines, kMaxReport));
}

std::vector<std::string> forecast_machines(const LoadedBackend& backend) {
  const std::optional<tenon_forecast> table = find_forecast(backend.table, backend.name);
  if (!table || !table->machines) return {};
  const char* names = nullptr;
  call_void_entry(backend.name, "machines", [&] { names = table->machines(backend.table.self); });
  return lines_of(printable(names, kMaxReport));
}

Result<std::vector<std::string>> forecast_machines(std::string_view backend) {
  TENON_ASSIGN(const LoadedBackend* loaded, load_by_name(backend));
  return forecast_machines(*loaded);
}

}  // namespace tenon

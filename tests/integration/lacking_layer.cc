// A layer over the backend TENON_INNER that refuses ops. Its spec is their names, with + between them, then perhaps a
// spec of the backend: "tanh+exp,units=2". The name HOST stands for memory that the host sees.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "tenon/plugin/graph.h"
#include "tenon/plugin/host_backend.h"

TENON_DECLARE_BACKEND

namespace {

tenon_backend inner;
std::mutex mutex;
std::map<tenon_device*, std::string> lacking;  // "+tanh+exp+"

std::string ops_of(const char* spec) {
  const std::string text = spec ? spec : "";
  return "+" + text.substr(0, text.find(',')) + "+";
}

// The spec of the backend below; nullptr: its default.
const char* spec_below(const char* spec) {
  const char* comma = spec ? std::strchr(spec, ',') : nullptr;
  return comma ? comma + 1 : nullptr;
}

tenon_status enumerate(void*, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
  return inner.enumerate(inner.self, spec_below(spec), units, stride, count);
}

tenon_status device_open(void*, const tenon_open* open, tenon_device** out) {
  tenon_open below = *open;
  below.spec = spec_below(open->spec);
  const tenon_status status = inner.device_open(inner.self, &below, out);
  if (status.code) return status;
  const std::lock_guard lock(mutex);
  lacking[*out] = ops_of(open->spec);
  return status;
}

bool lacks(tenon_device* device, std::string_view name) {
  const std::lock_guard lock(mutex);
  return lacking[device].find("+" + std::string(name) + "+") != std::string::npos;
}

tenon_status supports(tenon_device* device, const tenon_graph* graph, const tenon_options* options,
                      const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride) {
  const tenon_status status = inner.supports(device, graph, options, nodes, n, out, stride);
  if (status.code) return status;
  const tenon::plugin::GraphView view(*graph);
  for (uint32_t i = 0; i < n; ++i) {
    if (!lacks(device, view.node(nodes[i]).op())) continue;
    auto* verdict = reinterpret_cast<tenon_verdict*>(reinterpret_cast<char*>(out) + i * stride);
    verdict->answer = TENON_REFUSE;
    verdict->reason = "lacking on purpose";
  }
  return status;
}

tenon_status buffer_alloc(tenon_device* device, const tenon_desc* desc, tenon_buffer** out, void** host) {
  if ((desc->flags & TENON_DESC_HOST) && lacks(device, "HOST"))
    return {TENON_UNSUPPORTED, 0, "memory that the host sees is lacking on purpose"};
  return inner.buffer_alloc(device, desc, out, host);
}

}  // namespace

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  inner.struct_size = sizeof inner;
  if (const tenon_status status = host->open_backend(host->ctx, TENON_INNER, &inner); status.code) return status;
  tenon_backend full = inner;
  full.name = "lacking-" TENON_INNER;
  full.enumerate = enumerate;
  full.device_open = device_open;
  full.supports = supports;
  full.buffer_alloc = buffer_alloc;
  full.struct_size = std::min<uint64_t>(out->struct_size, sizeof full);
  std::memcpy(out, &full, full.struct_size);
  return {TENON_OK, 0, nullptr};
}

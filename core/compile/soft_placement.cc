#include "compile/soft_placement.h"

#include <mutex>
#include <set>

#include "backend/forecast.h"
#include "backend/registry.h"
#include "base/strings.h"

namespace tenon {
namespace {

// Where refused nodes run: opened once, as long as something uses it.
Result<std::shared_ptr<Device>> host_device() {
  static std::mutex mutex;
  static std::weak_ptr<Device> open;
  const std::lock_guard lock(mutex);
  if (std::shared_ptr<Device> device = open.lock()) return device;
  TENON_ASSIGN(std::shared_ptr<Device> device, open_device("cpu"));
  open = device;
  return device;
}

// Counts the bytes that move for one unit.
void count_bytes(PartedProgram& soft, const Graph& graph) {
  std::set<ValueId> given_there, out, back, updated;
  for (const Output& r : graph.results)
    if (r.alias >= 0) updated.insert(graph.inputs[r.alias].value);
  for (const PlacedPart& part : soft.parts)
    if (part.kind == PartKind::kHost) given_there.insert(part.gives.begin(), part.gives.end());
  for (const PlacedPart& part : soft.parts)
    for (const ValueId v : part.takes) {
      if (part.kind == PartKind::kHost && !given_there.contains(v) &&
          (graph.values[v].node >= 0 || updated.contains(v)))
        out.insert(v);
      if (part.kind == PartKind::kDevice && given_there.contains(v)) back.insert(v);
    }
  for (const Output& r : graph.results)
    if (r.alias >= 0 && given_there.contains(r.value)) back.insert(r.value);
  for (const ValueId v : out) soft.out_bytes += static_cast<uint64_t>(graph.type(v).bytes());
  for (const ValueId v : back) soft.back_bytes += static_cast<uint64_t>(graph.type(v).bytes());
}

// What the device says of the time in which so much crosses; "" where it does not.
std::string time_text(const PartedProgram& soft, const Device& device) {
  if (!offers_forecast(device)) return {};
  for (const PlacedPart& part : soft.parts) {
    if (part.kind != PartKind::kDevice) continue;
    const Result<PredictedStep> step = forecast(device, part.program.program);
    if (!step.ok() || step->out_bytes_per_s <= 0) return {};
    char text[64];
    std::snprintf(text, sizeof text, ", at least %.3f ms a step", step->crossing_ms(soft.out_bytes, soft.back_bytes));
    return text;
  }
  return {};
}

std::string summary(const PartedProgram& soft, const Graph& graph, const std::vector<RefusedNode>& refused,
                    const Device& device, const Device& host) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (const RefusedNode& r : refused) names.push_back(describe(graph.nodes[r.node]));
  return cat("soft placement: ", refused.size(), " of ", image_nodes(graph).size(), " nodes run on ", host.name(), ": ",
             join_first(names, kMostNamed, ", "), "; ", soft.out_bytes, " bytes leave ", device.name(), " and ",
             soft.back_bytes, " come back in each step", graph.replicas > 1 ? " of each unit" : "",
             time_text(soft, device), "\n");
}

}  // namespace

Result<std::shared_ptr<const PartedProgram>> place_softly(const Graph& graph, const std::vector<RefusedNode>& refused,
                                                          const Status& refusal, const std::shared_ptr<Device>& device,
                                                          const ProgramOptions& options, Untaken* untaken) {
  const auto because = [&](const Status& s) {
    return Status(refusal.code(), cat(refusal.message(), "; soft placement: ", s.message()));
  };
  const Result<std::shared_ptr<Device>> opened = host_device();
  if (!opened.ok()) return because(opened.status());
  const std::shared_ptr<Device>& host = *opened;
  if (&host->backend() == &device->backend()) return refusal;
  std::vector<bool> moved(graph.nodes.size(), false);
  for (const RefusedNode& r : refused) moved[static_cast<size_t>(r.node)] = true;
  Result<std::vector<GraphPart>> parts = partition(graph, {.moved = std::move(moved)});
  if (!parts.ok()) return because(parts.status());
  auto out = std::make_shared<PartedProgram>();
  for (GraphPart& part : *parts) {
    const bool here = part.kind == PartKind::kDevice;
    const Status added =
        add_part(*out, std::move(part), graph, here ? device : host, options, here ? untaken : nullptr);
    if (!added.ok()) return here ? added : because(added);
  }
  count_bytes(*out, graph);
  out->info.warnings += summary(*out, graph, refused, *device, *host);
  return std::shared_ptr<const PartedProgram>(std::move(out));
}

}  // namespace tenon

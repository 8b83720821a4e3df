#include "compile/soft_placement.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "backend/forecast.h"
#include "backend/registry.h"
#include "base/text.h"
#include "compile/partition.h"

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

// What the compiler left of a part's inputs, in the whole.
std::vector<ValueId> taken_of(const Graph& compiled, const GraphPart& part) {
  std::map<std::string_view, ValueId> by_name;
  for (size_t i = 0; i < part.takes.size(); ++i) by_name.emplace(part.graph.inputs[i].name, part.takes[i]);
  std::vector<ValueId> out;
  for (const GraphInput& input : compiled.inputs) out.push_back(by_name.at(input.name));
  return out;
}

// The numbers that a device has of a part's nodes, as those of the whole, which knows them by the same names.
std::vector<uint32_t> numbers_in_whole(const Graph& part, const Graph& whole) {
  std::map<std::string_view, uint32_t> by_name;
  const std::vector<NodeId> nodes = image_nodes(whole);
  for (size_t i = 0; i < nodes.size(); ++i) by_name.emplace(whole.nodes[nodes[i]].name, static_cast<uint32_t>(i));
  std::vector<uint32_t> out;
  for (const NodeId n : image_nodes(part)) {
    const auto found = by_name.find(part.nodes[n].name);
    out.push_back(found == by_name.end() ? kNoNode : found->second);
  }
  return out;
}

void add_info(ProgramInfo& all, const ProgramInfo& part, const std::vector<uint32_t>& numbers) {
  for (uint64_t ProgramInfo::*most :
       {&ProgramInfo::argument_bytes, &ProgramInfo::workspace_bytes, &ProgramInfo::reserved_bytes,
        &ProgramInfo::peak_bytes, &ProgramInfo::capacity_bytes})
    all.*most = std::max(all.*most, part.*most);
  for (uint64_t ProgramInfo::*sum :
       {&ProgramInfo::result_bytes, &ProgramInfo::code_bytes, &ProgramInfo::flops, &ProgramInfo::bytes_moved,
        &ProgramInfo::device_ns, &ProgramInfo::feed_ns, &ProgramInfo::host_ns})
    all.*sum += part.*sum;
  all.warnings += part.warnings;
  for (ProgramAllocation a : part.allocations) {
    a.node = a.node < numbers.size() ? numbers[a.node] : kNoNode;
    all.allocations.push_back(a);
  }
}

// Counts the bytes that move for one unit.
void count_bytes(SoftPlacement& soft, const Graph& graph) {
  std::set<ValueId> given_there, out, back, updated;
  for (const Output& r : graph.results)
    if (r.alias >= 0) updated.insert(graph.inputs[r.alias].value);
  for (const PlacedPart& part : soft.parts)
    if (part.moved) given_there.insert(part.gives.begin(), part.gives.end());
  for (const PlacedPart& part : soft.parts)
    for (const ValueId v : part.takes) {
      if (part.moved && !given_there.contains(v) && (graph.values[v].node >= 0 || updated.contains(v))) out.insert(v);
      if (!part.moved && given_there.contains(v)) back.insert(v);
    }
  for (const Output& r : graph.results)
    if (r.alias >= 0 && given_there.contains(r.value)) back.insert(r.value);
  for (const ValueId v : out) soft.out_bytes += static_cast<uint64_t>(graph.type(v).bytes());
  for (const ValueId v : back) soft.back_bytes += static_cast<uint64_t>(graph.type(v).bytes());
}

// What the device says of the time in which so much crosses; "" where it does not.
std::string time_text(const SoftPlacement& soft, const Device& device) {
  if (!offers_forecast(device)) return {};
  for (const PlacedPart& part : soft.parts) {
    if (part.moved) continue;
    const Result<PredictedStep> step = forecast(device, part.program.program);
    if (!step.ok() || step->out_bytes_per_s <= 0) return {};
    char text[64];
    std::snprintf(text, sizeof text, ", at least %.3f ms a step", step->crossing_ms(soft.out_bytes, soft.back_bytes));
    return text;
  }
  return {};
}

std::string summary(const SoftPlacement& soft, const Graph& graph, const std::vector<RefusedNode>& refused,
                    const Device& device, const Device& host) {
  constexpr size_t kMostNamed = 5;
  std::vector<std::string> names;
  for (const RefusedNode& r : refused) names.push_back(describe(graph.nodes[r.node]));
  return cat("soft placement: ", refused.size(), " of ", image_nodes(graph).size(), " nodes run on ", host.name(), ": ",
             join_first(names, kMostNamed, ", "), "; ", soft.out_bytes, " bytes leave ", device.name(), " and ",
             soft.back_bytes, " come back in each step", graph.replicas > 1 ? " of each unit" : "",
             time_text(soft, device), "\n");
}

Result<PlacedPart> compile_part(GraphPart part, const std::shared_ptr<Device>& device, const ProgramOptions& options,
                                Untaken* untaken) {
  PlacedPart out{part.moved, {}, {}, part.gives, {}};
  ProgramOptions own = options;
  own.soft_placement = own.trace = false;
  if (part.moved) own.forecast_only = false;  // the host predicts nothing
  TENON_ASSIGN(out.program, compile(part.graph, device, own, untaken));
  out.takes = taken_of(out.program.graph, part);
  return out;
}

}  // namespace

Result<std::shared_ptr<const SoftPlacement>> place_softly(const Graph& graph, const std::vector<RefusedNode>& refused,
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
  Result<std::vector<GraphPart>> parts = partition(graph, moved);
  if (!parts.ok()) return because(parts.status());
  auto out = std::make_shared<SoftPlacement>();
  for (GraphPart& part : *parts) {
    const bool moved_part = part.moved;
    Result<PlacedPart> placed =
        compile_part(std::move(part), moved_part ? host : device, options, moved_part ? nullptr : untaken);
    if (!placed.ok()) return moved_part ? because(placed.status()) : placed.status();
    placed->nodes = numbers_in_whole(placed->program.graph, graph);
    if (!moved_part) add_info(out->info, placed->program.info(), placed->nodes);
    out->parts.push_back(placed.take());
  }
  count_bytes(*out, graph);
  out->info.warnings += summary(*out, graph, refused, *device, *host);
  return std::shared_ptr<const SoftPlacement>(std::move(out));
}

}  // namespace tenon

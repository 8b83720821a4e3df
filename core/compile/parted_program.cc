#include "compile/parted_program.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace tenon {
namespace {

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

}  // namespace

Status add_part(PartedProgram& program, GraphPart part, const Graph& whole, const std::shared_ptr<Device>& device,
                const ProgramOptions& options, Untaken* untaken) {
  PlacedPart out{part.kind, {}, {}, part.gives};
  if (part.kind == PartKind::kExchange) {
    out.takes = part.takes;
    out.program.graph = std::move(part.graph);
    program.parts.push_back(std::move(out));
    return {};
  }
  ProgramOptions own = options;
  own.soft_placement = false;
  if (part.kind == PartKind::kHost) own.forecast_only = own.trace = false;  // the host predicts nothing
  TENON_ASSIGN(out.program, compile(part.graph, device, own, untaken));
  out.takes = taken_of(out.program.graph, part);
  out.nodes = numbers_in_whole(out.program.graph, whole);
  if (part.kind == PartKind::kDevice) add_info(program.info, out.program.info(), out.nodes);
  program.parts.push_back(std::move(out));
  return {};
}

}  // namespace tenon

#include "compile/compile.h"

#include <map>
#include <numeric>

#include "base/strings.h"
#include "compile/rewrite.h"
#include "compile/shared_graph.h"
#include "compile/soft_placement.h"
#include "op/decompose.h"

namespace tenon {
namespace {

struct PutAttr {
  GraphImage& image;
  const std::string& name;
  void operator()(int64_t v) const { image.attr(name, v); }
  void operator()(double v) const { image.attr(name, v); }
  void operator()(bool v) const { image.attr(name, v); }
  void operator()(DType v) const { image.attr(name, v); }
  void operator()(Enum v) const { image.attr_enum(name, v.number); }
  void operator()(const std::string& v) const { image.attr(name, v); }
  void operator()(const std::vector<int64_t>& v) const { image.attr(name, v); }
};

GraphImage::Role image_role(Role role) {
  switch (role) {
    case Role::kState:
      return GraphImage::Role::kState;
    case Role::kFeed:
      return GraphImage::Role::kFeed;
    case Role::kScalar:
      break;
  }
  return GraphImage::Role::kScalar;
}

// Replaces the nodes that `expand` names by their decomposition. An update with rows is asked for once more, without.
Graph expand(const Graph& graph, const std::vector<bool>& expand) {
  Rewrite rewrite(graph);
  return rewrite.run([&](const Node& node, const Tensors& operands) {
    if (!expand[&node - graph.nodes.data()]) return rewrite.copy(node, operands);
    if (has_rows(node)) return dense_update(rewrite, node, operands);
    return decompose_node(rewrite.to(), node, operands);
  });
}

// Backends say why in their own lines.
std::string in_one_line(const std::string& text) {
  std::string out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(at, end - at));
    if (!line.empty()) append(out, cat(out.empty() ? "" : " ", line));
    at = end + 1;
  }
  return out;
}

constexpr size_t kMostRefused = 3;  // that a message has

// Marks what must be decomposed, and lists what the device refuses.
Result<bool> ask(const Graph& graph, Device& device, const ProgramOptions& options, std::vector<bool>& to_expand,
                 std::vector<RefusedNode>& refused) {
  const std::vector<NodeId> nodes = image_nodes(graph);
  std::vector<uint32_t> which(nodes.size());
  std::iota(which.begin(), which.end(), 0u);
  TENON_ASSIGN(const std::vector<NodeVerdict> verdicts, device.supports(flatten(graph), which, options));
  bool any = false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = graph.nodes[nodes[i]];
    if (verdicts[i].answer == NodeVerdict::Answer::kTake) continue;
    // Whoever does not know a vendor's op does not know either that there is something to take its place.
    const bool leaves = verdicts[i].answer == NodeVerdict::Answer::kDecompose || node.custom;
    if (leaves && has_decomposition(node)) {
      to_expand[nodes[i]] = any = true;
      continue;
    }
    refused.push_back(
        {nodes[i], cat(describe(node), node.origin == node.name ? "" : cat(" (of '", node.origin, "')"), ": ",
                       verdicts[i].reason.empty() ? "not supported" : in_one_line(verdicts[i].reason),
                       node.custom ? ", and it has no decomposition" : "")});
  }
  return any;
}

Status refusal(const Graph& graph, const Device& device, const std::vector<RefusedNode>& refused) {
  std::vector<std::string> texts;
  for (const RefusedNode& r : refused) texts.push_back(r.text);
  return Status(Code::kUnsupported, cat(device.name(), " cannot run ", refused.size(), " of ",
                                        image_nodes(graph).size(), " nodes: ", join_first(texts, kMostRefused, "; ")));
}

// Which dimensions of inputs, and of nodes that are still there, have a bound. For readers: nothing is masked by it any more.
Graph with_bounds(Graph lowered, const Graph& graph) {
  if (graph.dynamic_dims.empty()) return lowered;
  std::map<std::string_view, ValueId> inputs;
  std::map<std::string_view, const Node*> nodes;
  for (const GraphInput& input : graph.inputs) inputs.emplace(input.name, input.value);
  for (const Node& node : graph.nodes) nodes.emplace(node.name, &node);
  const auto take = [&](ValueId to, ValueId from) {
    if (lowered.type(to) == graph.type(from)) lowered.values[to].bounds = graph.values[from].bounds;
  };
  for (const GraphInput& input : lowered.inputs)
    if (const auto found = inputs.find(input.name); found != inputs.end()) take(input.value, found->second);
  for (const Node& node : lowered.nodes)
    if (const auto found = nodes.find(node.name); found != nodes.end())
      for (size_t r = 0; r < std::min(node.results.size(), found->second->results.size()); ++r)
        take(node.results[r], found->second->results[r]);
  return lowered;
}

}  // namespace

std::vector<NodeId> image_nodes(const Graph& graph) {
  std::vector<NodeId> out;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[i].op != "constant") out.push_back(static_cast<NodeId>(i));
  return out;
}

GraphImage flatten(const Graph& graph) {
  GraphImage image;
  std::vector<int64_t> map(graph.values.size(), -1);
  for (const GraphInput& i : graph.inputs)
    map[i.value] = image.input(graph.type(i.value), image_role(i.role), i.split, i.name);
  for (const Node& node : graph.nodes) {
    if (node.op == "constant") {
      map[node.results[0]] =
          image.constant(graph.type(node.results[0]), std::get<std::string>(*find_attr(node.attrs, "value")));
      continue;
    }
    std::vector<int64_t> operands, results;
    for (ValueId v : node.operands) operands.push_back(v < 0 ? -1 : map[v]);
    for (ValueId v : node.results) results.push_back(map[v] = image.value(graph.type(v)));
    image.node(node.op, node.version, node.name, node.origin, operands, results);
    for (const Attr& a : node.attrs) std::visit(PutAttr{image, a.name}, a.value);
  }
  for (const Output& r : graph.results)
    image.result(static_cast<uint32_t>(map[r.value]), static_cast<GraphImage::Mode>(r.mode), r.alias, r.split);
  image.finish();
  return image;
}

Graph lower_to_primitives(const Graph& graph) {
  Graph current = simplify(graph);
  for (;;) {
    std::vector<bool> composite;
    for (const Node& node : current.nodes) composite.push_back(has_decomposition(node));
    if (std::find(composite.begin(), composite.end(), true) == composite.end()) return current;
    current = simplify(expand(current, composite));
  }
}

namespace {

// `refused`, of the graph that is returned, is empty without soft placement.
Result<Graph> lower_to(const Graph& graph, Device& device, const ProgramOptions& options,
                       std::vector<RefusedNode>& refused) {
  try {
    TENON_TRY(verify(graph));
    Graph current = simplify(give_rows_to_updates(simplify(graph)));
    for (;;) {
      std::vector<bool> to_expand(current.nodes.size(), false);
      refused.clear();
      TENON_ASSIGN(const bool any, ask(current, device, options, to_expand, refused));
      if (!refused.empty() && !options.soft_placement) return refusal(current, device, refused);
      if (!any) return with_bounds(prune_inputs(current), graph);
      current = simplify(expand(current, to_expand));
    }
  } catch (const Error& e) {
    return e.status();
  }
}

}  // namespace

Result<Graph> lower(const Graph& graph, Device& device, const ProgramOptions& options) {
  std::vector<RefusedNode> refused;
  TENON_ASSIGN(Graph lowered, lower_to(graph, device, options, refused));
  if (!refused.empty()) return refusal(lowered, device, refused);
  return lowered;
}

void lay_out_arguments(Executable& executable) {
  for (const GraphInput& input : executable.graph.inputs) {
    executable.slot.push_back(input.role == Role::kScalar ? executable.n_scalars++ : executable.n_buffers++);
    executable.n_feeds += input.role == Role::kFeed;
  }
}

int Executable::find_input(std::string_view name) const {
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    if (graph.inputs[i].name == name) return static_cast<int>(i);
  return -1;
}

const ProgramInfo& Executable::info() const { return parted ? parted->info : program.info(); }

int Executable::find_result(std::string_view name) const {
  for (size_t i = 0; i < graph.results.size(); ++i)
    if (graph.results[i].name == name) return static_cast<int>(i);
  return -1;
}

Result<Executable> compile(const Graph& graph, const std::shared_ptr<Device>& device, const ProgramOptions& options,
                           Untaken* untaken) {
  Executable out;
  out.device = device;
  out.max_iterations = options.max_iterations;
  if (spans_processes(graph, *device)) return compile_shared(graph, device, options, untaken);
  std::vector<RefusedNode> refused;
  TENON_ASSIGN(out.graph, lower_to(graph, *device, options, refused));
  lay_out_arguments(out);
  if (!refused.empty()) {
    TENON_ASSIGN(out.parted,
                 place_softly(out.graph, refused, refusal(out.graph, *device, refused), device, options, untaken));
    return out;
  }
  Result<Program> program = device->compile(flatten(out.graph), options, untaken ? &untaken->info : nullptr);
  if (!program.ok()) {
    if (untaken) untaken->graph = std::move(out.graph);
    return program.status();
  }
  out.program = program.take();
  return out;
}

}  // namespace tenon

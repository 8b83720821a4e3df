#include "export/tensorflow/graph_writer.h"

#include "base/strings.h"
#include "export/narrow_values.h"

namespace tenon::tensorflow {
namespace {

std::vector<Ref> write_node(const PortableGraph& graph, const PortableNode& node, const std::vector<Ref>& values,
                            NodeWriter& nodes, RowNumbers& rows, const NarrowValues& narrow) {
  const NodeRule* rule = find_rule(node.op);
  if (!rule) throw Lacking{"TensorFlow's graph has no op for it"};
  NodeScribe scribe(graph, node, rule->tensorflow, values, nodes, rows);
  if (!node.results.empty()) scribe.set_narrow(narrow.has(node.results[0]));
  return rule->rule(scribe);
}

}  // namespace

std::vector<Ref> write_graph(const PortableGraph& graph, const InputRef& input, const std::string& scope,
                             NodeWriter& nodes, RowNumbers& rows, std::vector<std::string>& lacking) {
  std::vector<Ref> values(graph.values.size());
  const NarrowValues narrow(graph);
  for (const PortableInput& in : graph.inputs)
    values[static_cast<size_t>(in.value)] = input(in, graph.values[static_cast<size_t>(in.value)]);
  for (const PortableNode& node : graph.nodes) {
    nodes.set_scope(scope + node.name);
    try {
      const std::vector<Ref> results = write_node(graph, node, values, nodes, rows, narrow);
      for (size_t r = 0; r < node.results.size(); ++r)
        if (node.results[r] >= 0) values[static_cast<size_t>(node.results[r])] = results.at(r);
    } catch (const Lacking& lack) {
      lacking.push_back(cat(node.op, " '", node.name, "': ", lack.why));
    }
  }
  nodes.set_scope({});
  return values;
}

}  // namespace tenon::tensorflow

#include "tenon/plugin/graph_check.h"

#include "runtime/check/node_check.h"
#include "tenon/plugin/entry.h"

namespace tenon::plugin {

void check_graph(const tenon_graph* graph, const char* entry) {
  const auto expect_none = [&](const std::string& fault) {
    if (!fault.empty()) throw Error(TENON_INVALID, std::string(entry) + ": the graph: " + fault);
  };
  if (!graph) throw Error(TENON_INVALID, std::string(entry) + ": there is no graph");
  expect_none(structure_fault(*graph));
  const GraphView view(*graph);
  for (uint32_t i = 0; i < view.n_nodes(); ++i) expect_none(node_fault(view.node(i)));
}

}  // namespace tenon::plugin

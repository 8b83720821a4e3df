// What supports and compile are asked with (tenon/plugin/graph_check.h).
#include <string>

#include "tenon/plugin/entry.h"
#include "tenon/plugin/graph_check.h"

namespace tenon::plugin {

tenon_options checked_request(const tenon_graph* graph, const tenon_options* given, uint64_t flags, const char* entry) {
  const tenon_options options = known(given);
  check_flags(options.flags, flags, entry);
  check_graph(graph, entry);
  check_flags(graph->flags, 0, "the graph");
  return options;
}

}  // namespace tenon::plugin

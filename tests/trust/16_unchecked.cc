// The control of row 16: in the place of the runtime's graph_check.cc.
#include "tenon/plugin/graph_check.h"

namespace tenon::plugin {

void check_graph(const tenon_graph*, const char*) {}

}  // namespace tenon::plugin

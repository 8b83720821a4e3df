// A portable graph written node by node.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "export/tensorflow/node_rules.h"

namespace tenon::tensorflow {

// What an input is in TensorFlow's graph.
using InputRef = std::function<Ref(const PortableInput& input, const PortableValue& type)>;

// What each value is; of results, that are needed. Names are put under `scope`. `lacking` gets a line for each node that TensorFlow
// has no op for, whose results are empty then.
std::vector<Ref> write_graph(const PortableGraph& graph, const InputRef& input, const std::string& scope,
                             NodeWriter& nodes, std::vector<std::string>& lacking);

}  // namespace tenon::tensorflow

// Which layers have sizes that a device's memory and matrix units pad.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "tenon/forecast.h"

namespace tenon {

// Of the graph as the device got it, and what the device said of it. A layer is what its variables say: its sizes are those
// of what it makes with its kernel. Most memory that holds nothing first.
std::vector<PaddedLayer> padded_layers(const PredictedStep& step, const Graph& graph);

}  // namespace tenon

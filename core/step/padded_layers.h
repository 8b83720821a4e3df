// Which layers have sizes that a device's memory and matrix units pad.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "tenon/predicted_step.h"

namespace tenon {

// The layers whose values the device pads, by the graph that it got and what it said of it, those with most padding first. A
// layer is what its variables say: its sizes are those of what it makes with its kernel.
std::vector<PaddedLayer> padded_layers(const PredictedStep& step, const Graph& graph);

}  // namespace tenon

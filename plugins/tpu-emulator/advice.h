// What would make a step faster or smaller, as lines for a user.
#pragma once

#include <string>

#include "forecast.h"

namespace tpu {

// What padding wastes and which dimension to change to what, worst first; then what would lift the bottleneck.
std::string advice(const tenon::plugin::GraphView& graph, const Machine& machine, const Forecast& forecast);

}  // namespace tpu

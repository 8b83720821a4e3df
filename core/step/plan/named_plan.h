// A plan in the names of the traced function.
#pragma once

#include <memory>

#include "backend/device.h"
#include "graph/graph.h"
#include "tenon/step_plan.h"

namespace tenon {

// Compiles the graph for the device, looks at the program, and drops it; one that predicts needs no memory for it.
Result<StepPlan> step_plan(const Graph& graph, const std::shared_ptr<Device>& device, const ProgramOptions& options);

}  // namespace tenon

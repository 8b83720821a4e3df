// Where the threads of a gang have to meet between the steps of a plan.
#pragma once

#include "runtime/plan/planner.h"

namespace tenon::plugin {

// Sets Step::barrier. A result and the input that it aliases are the same memory under two bases only when the
// planner placed neither there, so bases never overlap.
void add_barriers(const GraphView& graph, Plan& plan);

}  // namespace tenon::plugin

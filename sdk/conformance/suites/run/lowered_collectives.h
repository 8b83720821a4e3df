// Collectives that a backend leaves to their decomposition, as primitives.
#pragma once

#include "conformance/host/subject.h"

namespace tenon::conformance {

// The graph with what is left of all_reduce and reduce_scatter put in their places, as the core does it.
plugin::FlatGraph lowered_collectives(Subject& subject, tenon_device* device, plugin::FlatGraph graph);

}  // namespace tenon::conformance

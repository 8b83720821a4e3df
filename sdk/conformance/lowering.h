// Puts primitives in the place of composite nodes, as the core does when a backend answers DECOMPOSE.
#pragma once

#include <vector>

#include "conformance/corpus.h"
#include "conformance/subject.h"

namespace tenon::conformance {

// `whole` with every node for which decompose[node] is true replaced by its decomposition.
plugin::FlatGraph inline_decompositions(const tenon_graph& whole, const std::vector<Decomposition>& decompositions,
                                        const std::vector<bool>& decompose);

// `c.whole` as the backend of `subject` takes it: composites that it leaves to their decomposition are inlined.
// Throws Unsupported, with op, node and reason, when it refuses a node.
plugin::FlatGraph lowered_for(Subject& subject, tenon_device* device, const Case& c);

}  // namespace tenon::conformance

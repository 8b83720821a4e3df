// Puts primitives in the place of composite nodes, as the core does when a backend answers DECOMPOSE.
#pragma once

#include <vector>

#include "conformance/corpus/corpus.h"
#include "conformance/host/subject.h"

namespace tenon::conformance {

// `whole` with every node for which decompose[node] is true replaced by its decomposition. A node of a
// decomposition is named "outer/inner" and keeps the outer node's origin.
plugin::FlatGraph inline_decompositions(const tenon_graph& whole, const std::vector<Decomposition>& decompositions,
                                        const std::vector<bool>& decompose);

// The graph with every dot and convolution asking for `precision` or what it asks for already, if that is more.
plugin::FlatGraph with_precision(const tenon_graph& graph, int32_t precision);

// `c.whole` as the backend of `subject` takes it: composites that it leaves to their decomposition are inlined.
// Throws Unsupported, with op, node and reason, when it refuses a node. taken: how many composite nodes stay whole.
plugin::FlatGraph lowered_for(Subject& subject, tenon_device* device, const Case& c, size_t* taken = nullptr);

// Throws Unsupported, with op, node and reason, unless the backend takes every node.
void require_taken(Subject& subject, tenon_device* device, const tenon_graph& graph);

// Whether the backend leaves a node of the graph to its decomposition.
bool decomposes(Subject& subject, tenon_device* device, const tenon_graph& graph);

}  // namespace tenon::conformance

// What a graph's results must be, and how far a backend may be from them.
#pragma once

#include <vector>

#include "conformance/corpus.h"
#include "conformance/reference/reference.h"

namespace tenon::conformance {

struct Expected {
  std::vector<reference::Tensor> values;      // of each result
  std::vector<reference::Tensor> tolerances;  // absolute, of each element
};

// Of a graph of primitives. A graph of one node has the bound of its op (reference/error_bound.h). Of a larger
// one the reference is evaluated again with every node's results, and the inputs, moved within their bounds;
// the tolerance is a small multiple of how far any result went, and the last rounding. `move_inputs` is false
// where results select elements.
Expected expect_of(const tenon_graph& lowered, const std::vector<reference::Tensor>& inputs, bool move_inputs);
// Of a case: its lowered graph on its inputs, with its order of summation allowed.
Expected expect_of(const Case& c, const std::vector<reference::Tensor>& inputs);

// The case's inputs, made by its fills; `seed` 1 is the corpus's own, others give other numbers.
std::vector<reference::Tensor> inputs_of(const Case& c, uint64_t seed);

// Throws Failure at the first element out of tolerance: "result 1 of 2: element [3,4] is .., expected .. within ..".
void expect_close(const std::vector<reference::Tensor>& found, const Expected& expected);

}  // namespace tenon::conformance

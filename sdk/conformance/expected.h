// What a graph's results must be, and how far a backend may be from them.
#pragma once

#include <vector>

#include "conformance/corpus/corpus.h"
#include "conformance/reference/reference.h"

namespace tenon::conformance {

struct Expected {
  std::vector<reference::Tensor> values;      // of each result
  std::vector<reference::Tensor> tolerances;  // absolute, of each element
  bool zero_signs = false;                    // a zero has to have its sign: of primitives that keep it
};

// What a graph of primitives gives. A graph of one node has the bound of its op (reference/error_bound.h); one whose nodes
// are all exact has none. For any other the reference is evaluated again with every node's results, and the inputs,
// moved within their bounds; the tolerance is a small multiple of how far any result went, and the last rounding.
// `move_inputs` is false where results select elements.
Expected expect_of(const tenon_graph& lowered, const std::vector<reference::Tensor>& inputs, bool move_inputs);
// What a case's lowered graph gives on its inputs, with its order of summation allowed. Dots and convolutions have at
// least `precision`, as the graph that the backend gets must too (with_precision); the corpus asks for what it needs.
Expected expect_of(const Case& c, const std::vector<reference::Tensor>& inputs,
                   int32_t precision = TENON_PRECISION_DEFAULT);
// What the case's steps give, one after the other: the results that alias an input are that input in the next step, and the
// tolerance of a step holds what all before it may have added.
std::vector<Expected> expect_steps(const Case& c, uint64_t seed, int32_t precision = TENON_PRECISION_DEFAULT);

// The case's inputs, made by its fills; `seed` 1 is the corpus's own, others give other numbers.
std::vector<reference::Tensor> inputs_of(const Case& c, uint64_t seed, uint64_t step = 0);

// Throws Failure at the first element out of tolerance: "result 1 of 2 at [3,4]: found .., expected .. within ..".
void expect_close(const std::vector<reference::Tensor>& found, const Expected& expected);

}  // namespace tenon::conformance

// Gradients of an op as cases: of a loss made of its results, by its float inputs.
#pragma once

#include "corpus/case.h"

namespace tenon::corpus {

// Loss: the sum over the float results of w r, w inputs between 0.5 and 1.5 that come last; of w r (1 + r / 2) where
// the gradient would not depend on every input otherwise. Inputs without a gradient come before the weights.
Case gradient_case(const Definition& definition);
inline void add_gradient(Cases& cases, const Definition& definition) { cases.push_back(gradient_case(definition)); }

}  // namespace tenon::corpus

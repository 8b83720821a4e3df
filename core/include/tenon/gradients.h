// Gradients of what a model computes.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// The gradients of the scalar `loss` (a float of rank 0) by each of `by`, variables or any tensors, in order; an empty
// tensor, whose use is an error that says so, where the loss does not depend on it. Each has the type of what it is by.
// They are tensors like others: a loss may be made of them and differentiated again, where the ops allow it. The
// gradient by a variable that was assigned in between is the sum over all values that it was read as. Nothing flows
// through stop_gradient, floor and round. Throws Error.
Tensors gradients(Tensor loss, const Tensors& by);

}  // namespace tenon

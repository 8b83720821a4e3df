// Normal numbers of uniform ones.
#pragma once

#include "tenon/ops.h"

namespace tenon {

// Box and Muller 1958: sqrt(-2 ln (1 - u)) cos(2 pi v), of u and v in [0, 1): mean 0, deviation 1.
Tensor normal_of(Tensor u, Tensor v);

}  // namespace tenon

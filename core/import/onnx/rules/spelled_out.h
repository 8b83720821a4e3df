// What exporters write as several nodes and one op computes.
#pragma once

#include "import/onnx/call.h"

namespace tenon::onnx {

// What a b is where that is x sigmoid(x), x hard_sigmoid(x) or 0.5 x (1 + erf(x / sqrt 2)): one op, which devices compute, and
// differentiate, in one pass. None where it is another product. The parts are left to whoever else reads them.
Tensor spelled_out_activation(Call& c, Tensor a, Tensor b);

// What a + b is where one of them is a product of a matrix, and the other one number for each of its columns. None where it is
// another sum.
Tensor biased_product(Call& c, Tensor a, Tensor b);

}  // namespace tenon::onnx

// Scales and zero points of quantized tensors.
#pragma once

#include "import/onnx/call.h"

namespace tenon::onnx {

// One number, one along an axis, or one a block of it, made fit for a tensor of that shape.
Tensor spread(Call& c, Tensor numbers, const Shape& shape, int64_t axis, int64_t block);
// y, floats, as whole numbers with the zero point, which may be none, kept to what the type has.
Tensor quantized(Tensor y, Tensor zero, Element to);

}  // namespace tenon::onnx

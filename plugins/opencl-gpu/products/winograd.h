// Convolutions of 3 x 3 taps by fewer multiplications, on CPU devices.
#pragma once

#include "products/products.h"
#include "tenon/plugin/geometry.h"

namespace opencl_gpu {

// Whether Winograd's F(4 x 4, 3 x 3) computes conv or, if `input`, conv_grad_input, and sooner than plain sums. Its
// error is some times theirs: not for precision HIGHEST.
bool winograd_suits(const Driver& driver, const tenon::plugin::ConvShape& s, const ProductKind& kind, bool input);

// Operands 0 and 1: x or dy, and w. alpha: of kind's activation.
Kernel winograd_kernel(Driver& driver, const tenon::plugin::ConvShape& s, const ProductKind& kind, bool input,
                       double alpha);

// The same of a convolution in f32, its bias (operand 2) and ReLU, and a 2 x 2 max-pool of the even size that shape.out
// is; result 1: the winners (tenon/plugin/pool_patterns.h).
Kernel winograd_pooled_kernel(Driver& driver, const tenon::plugin::ConvShape& s, bool bias, bool relu);

// The same of conv_grad_filter; operands x, dy.
bool winograd_filter_suits(const Driver& driver, const tenon::plugin::ConvShape& s, const ProductKind& kind);
Kernel winograd_filter_kernel(Driver& driver, const tenon::plugin::ConvShape& s, const ProductKind& kind);

}  // namespace opencl_gpu

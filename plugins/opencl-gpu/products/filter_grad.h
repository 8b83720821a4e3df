// conv_grad_filter on CPU devices.
#pragma once

#include "products/products.h"
#include "tenon/plugin/geometry.h"

namespace opencl_gpu {

// Whether kernels/product/product_filter.cl computes it: channels in whole vectors.
bool filter_grad_suits(const Driver& driver, const tenon::plugin::ConvShape& s, const ProductKind& kind);

Kernel filter_grad_kernel(const NodeView& node, const Env& env, const tenon::plugin::ConvShape& s,
                          const ProductKind& kind);

}  // namespace opencl_gpu

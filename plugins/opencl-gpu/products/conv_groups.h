// Convolutions in groups of few channels, depthwise ones among them, without a product for each group.
#pragma once

#include "products/products.h"

namespace opencl_gpu {

// Whether kernels/product/conv_groups.cl computes a product of windows, one of each group.
bool conv_groups_suits(const Driver& driver, const Product& s, const ProductKind& kind);

Kernel conv_groups_kernel(Driver& driver, const Product& s, const ProductKind& kind);

}  // namespace opencl_gpu

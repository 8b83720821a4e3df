// What the kernels of products share.
#pragma once

#include "products.h"

namespace opencl_gpu {

// kernels/FILE.cl with what it stands on, and the options that ask for a kind.
std::string product_text(const char* file);
std::string product_options(const ProductKind& kind);

// The parameters bias and residual; what is not there is any other memory, which is not read.
void add_epilogue(Launch& launch, const ProductKind& kind);

// k in chunks whose sums lie dense in scratch, [chunk][p][m][n], not rounded: the product that makes them, and what adds them
// up in order and ends as `kind` says.
Product part_of(const Product& s, int64_t chunks, ProductKind* kind);
Launch sum_of_parts(Driver& driver, const Product& s, const ProductKind& kind, int64_t chunks, uint64_t parts_at);

Kernel cpu_product_kernel(Driver& driver, Product s, ProductKind kind, int a_operand);

}  // namespace opencl_gpu

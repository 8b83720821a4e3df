// What the kernels of products share.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "products/products.h"

namespace opencl_gpu {

// How many pieces of a unit cover n; and n up to a multiple of it.
inline int64_t pieces(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }
inline int64_t up(int64_t n, int64_t unit) { return pieces(n, unit) * unit; }

// Floats of a vector of kernels/product/product_tile.cl.
inline int64_t lanes_of(const Driver& driver) { return std::clamp<uint32_t>(driver.float_width(), 4, 16); }

// An option that defines `name`, behind others.
inline std::string define(const char* name, int64_t value) {
  return std::string(" -D ") + name + "=" + std::to_string(value);
}

// Options that name the operands' dtype and what a is; and those of kernels that end as `kind` says.
std::string product_options(const ProductKind& kind);
std::string end_options(const ProductKind& kind);

// Whether a kernel that keeps sums may store them as the result.
bool ends_at_once(const ProductKind& kind);

// What kernels by tiles in a CPU device's registers stand on.
std::string tile_source();

// kernels/FILE.cl with what it stands on, for kernels that end as a kind says.
std::string ending_text(const char* file);

// The parameters bias and residual; what is not there is any other memory, which is not read.
void add_epilogue(Launch& launch, const ProductKind& kind);

// Where a kernel finds b, and leaves c: in an operand and a result, or in scratch from here on.
struct Places {
  std::optional<uint64_t> b, c;
};
// The parameters JOINT_MEMORY of kernels/product/product.cl, behind all others: none but of a joint product.
void add_members(Launch& launch, const ProductKind& kind, const Places& places);

// As `kind` says, at once.
Product ended(Product s, const ProductKind& kind);
// The sums of chunks of k, dense, [chunk][p][m][n]; and the kernel that adds them up in order and ends as `kind` says.
Product in_parts(Product s, int64_t chunks);
Launch sum_of_parts(Driver& driver, const Product& s, const ProductKind& kind, int64_t chunks, uint64_t parts_at);

Kernel cpu_product_kernel(const NodeView& node, const Env& env, const Product& s, const ProductKind& kind);
Kernel gpu_product_kernel(const NodeView& node, const Env& env, const Product& s, const ProductKind& kind);

}  // namespace opencl_gpu

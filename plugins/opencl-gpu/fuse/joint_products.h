// Before planning: products of one matrix by several of one shape become one node, and one kernel: query, key and value of
// attention, and the gradients of their weights. A kernel of three fills a device where each alone is too small.
//
//   opencl-gpu.products(a, {b, [bias]}..) -> {c}..
//
// Attributes are those of the products, with `members`, how many there are, and `sizes`, the m, n and k of each.
#pragma once

#include "tenon/plugin/matcher.h"

namespace opencl_gpu {

constexpr char kProducts[] = "opencl-gpu.products";
constexpr int kMostProducts = 3;

// A pattern (tenon/plugin/matcher.h).
void join_products(tenon::plugin::Matching& m);

}  // namespace opencl_gpu

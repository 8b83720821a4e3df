// How far a backend may be from the reference: rule 4 of the op set, as numbers.
//
//   compute = f64 for f64, else f32                  (the arithmetic behind bf16 and f16 is f32)
//   elementwise   ulps(op) of compute                sqrt exp expm1 log 3, div 2.5, pow erf 16, ..
//   sum of n      n eps sum|x|                       reduce, scatter add; eps = 2^-23 or 2^-52
//   product of n  n eps |y|
//   dot, conv     (K eps + licence) sum|a||b|        licence of f32 operands by `precision`: 4 * 2^-8, 2^-16, 2^-23
//   all else      0: movement, comparison, max, min, floor, round, cast, random, integers
// To what is not exact come the two roundings of result and reference to the dtype, and, near zero, the
// smallest normal number, since subnormals may flush.
#pragma once

#include <string>
#include <vector>

#include "conformance/reference/reference.h"

namespace tenon::reference {

// The absolute tolerance of each element of result `result` of a node, as f64 of that result's dims; times
// `factor`, which leaves exact ops at 0. `in` are the operands that the device got, `out` the results of
// evaluate_node, rounded to their dtypes. Where the result is not finite the tolerance is 0.
// REQUIRED: evaluate_node succeeded on the same node and operands.
Tensor bound(const plugin::NodeView& node, const std::vector<const Tensor*>& in, const std::vector<Tensor>& out,
             int result = 0, double factor = 1);

// The first element of `got` that is farther than its tolerance from `expected`, in words; empty if there is
// none. NaN matches only NaN, an infinity only itself, zeros of either sign each other unless `zero_signs`.
std::string mismatch(const Tensor& got, const Tensor& expected, const Tensor& tolerance, bool zero_signs = false);

// Whether the signs of its zeros are given: neg turns them, abs clears them, what moves, chooses or casts floats keeps
// them. All else follows IEEE 754, but that max and min of two zeros may be either, and is not held to it: a sum has
// no order.
bool keeps_zero_signs(const plugin::NodeView& node);

}  // namespace tenon::reference

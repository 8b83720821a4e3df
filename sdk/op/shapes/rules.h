// The rules of shapes, one an op, by its name, and what several of them share.
#pragma once

#include "tenon/abi/op.h"
#include "tenon/op/infer.h"
#include "tenon/op/names.h"

namespace tenon::op::shapes {

#define TENON_SHAPE_RULE(op, name) void op(Infer& c);
TENON_FOR_EACH_OP(TENON_SHAPE_RULE)
#undef TENON_SHAPE_RULE

constexpr int64_t kMostReplicas = 65536;

// What sums and nonlinear functions of a dtype are computed in.
inline int32_t computed_in(int32_t dtype) { return dtype == TENON_F64 || dtype_size(dtype) == 0 ? dtype : TENON_F32; }

// `dims` without the axes, which are sorted.
Shape without(const Shape& dims, const Ints& axes);

// Attribute `act`, whose `alpha` is a slope where it has one.
int32_t activation_number(const Infer& c);

// Attribute `out` of a product: the operands' dtype, or f32.
int32_t product_dtype(const Infer& c);

// Checks what follows a sum y: `bias` for each element of its last axis, `residual` for each element, both optional, and `act`.
void with_epilogue(Infer& c, const Type& y, int bias, int residual);

// A seed and a step, from operand `first` on, and `stream`.
void expect_draws(const Infer& c, int first);
void expect_first(const Infer& c);

}  // namespace tenon::op::shapes

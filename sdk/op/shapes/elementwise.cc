// Rules of sources and of ops that go element by element.
#include <cmath>

#include "op/shapes/rules.h"
#include "tenon/op/enumerations.h"

namespace tenon::op::shapes {
namespace {

constexpr int64_t kMostDraws = int64_t{1} << 34;

void same(Infer& c) { c.result(c.in(0)); }

// Two operands of one dtype and shape, or one of them of rank 0.
void binary(Infer& c, int32_t dtype) {
  c.expect_same_dtype(0, 1);
  const Shape &a = c.shape(0), &b = c.shape(1);
  c.expect(a == b || a.rank() == 0 || b.rank() == 0, c.operand(1), " has shape ", b.str(), ", expected ", a.str(),
           " as operand 0, or a scalar");
  c.result(dtype, a.rank() == 0 ? b : a);
}
void binary(Infer& c) { binary(c, c.dtype(0)); }

}  // namespace

int32_t activation_number(const Infer& c) {
  const int32_t act = c.dtype("act");
  // The gradient tells the side of 0 from the result's sign.
  const bool slope = act == TENON_ACT_LEAKY_RELU || act == TENON_ACT_ELU;
  c.expect(!slope || (c.f64("alpha") >= 0 && std::isfinite(c.f64("alpha"))), "attribute 'alpha' of ",
           enumeration("act")->text(act), " is ", c.f64("alpha"), ", expected 0 or more");
  return act;
}

void expect_draws(const Infer& c, int first) {
  for (int i = first; i < first + 2; ++i) c.expect_type(i, {TENON_I64, {}});
  c.expect_number("stream", 0, UINT32_MAX);
  expect_first(c);
}

// The numbers of all replicas are i32, and a device has no more than 65,536 of them.
void expect_first(const Infer& c) { c.expect_number("first", 0, INT32_MAX - 65536); }

void constant(Infer& c) {
  const Type type{c.dtype("dtype"), Shape(c.list("shape"))};
  const int64_t element = dtype_size(type.dtype), all = type.shape.elements() * element;
  const auto bytes = static_cast<int64_t>(c.bytes("value"));
  c.expect(type.dtype != 0, "attribute 'dtype' is no dtype");
  c.expect(bytes == all || bytes == element, "value has ", bytes, " bytes, expected ", all, " for ", type.str(), " or ",
           element, " for one element");
  c.result(type);
}

void iota(Infer& c) {
  const Shape shape(c.list("shape"));
  const int32_t dtype = c.dtype("dtype");
  const bool counts = is_float(dtype) || is_integer(dtype) || dtype_size(dtype) == 0;  // unknown: a kernel's to refuse
  c.expect(counts, "dtype is ", dtype_text(dtype), ", expected a float or integer");
  c.axis({dtype, shape});
  c.result(dtype, shape);
}

void random(Infer& c) {
  expect_draws(c, op::random::seed);
  const Shape shape(c.list("shape"));
  c.expect(shape.elements() <= kMostDraws, "shape ", shape.str(), " has more than 2^34 elements");
  c.result(TENON_F32, shape);
}

void replica_id(Infer& c) {
  expect_first(c);
  c.result(TENON_I32, {});
}

void dropout(Infer& c) {
  using from = op::dropout;
  expect_draws(c, from::seed);
  c.expect_same_type(from::x, from::residual);
  c.expect(c.f64("rate") >= 0 && c.f64("rate") <= 1, "rate is ", c.f64("rate"), ", expected 0 to 1");
  c.expect(c.shape(from::x).elements() <= kMostDraws, c.in(from::x).str(), " has more than 2^34 elements");
  c.result(c.in(from::x));
}

void neg(Infer& c) { same(c); }
void abs(Infer& c) { same(c); }
void floor(Infer& c) { same(c); }
void round(Infer& c) { same(c); }
void exp(Infer& c) { same(c); }
void expm1(Infer& c) { same(c); }
void log(Infer& c) { same(c); }
void log1p(Infer& c) { same(c); }
void sqrt(Infer& c) { same(c); }
void sin(Infer& c) { same(c); }
void cos(Infer& c) { same(c); }
void tanh(Infer& c) { same(c); }
void erf(Infer& c) { same(c); }
void erfc(Infer& c) { same(c); }
void add(Infer& c) { binary(c); }
void sub(Infer& c) { binary(c); }
void mul(Infer& c) { binary(c); }
void div(Infer& c) { binary(c); }
void max(Infer& c) { binary(c); }
void min(Infer& c) { binary(c); }
void pow(Infer& c) { binary(c); }
void atan2(Infer& c) { binary(c); }
void compare(Infer& c) { binary(c, TENON_BOOL); }

void select(Infer& c) {
  using from = op::select;
  c.expect_same_dtype(from::a, from::b);
  Shape shape = c.shape(from::c);
  for (const int i : {from::a, from::b}) {
    if (c.shape(i).rank() == 0) continue;
    if (shape.rank() == 0) shape = c.shape(i);
    c.expect_shape(i, shape);
  }
  c.result(c.dtype(from::a), shape);
}

void cast(Infer& c) {
  c.expect(c.dtype("to") != 0, "attribute 'to' is no dtype");
  c.result(c.dtype("to"), c.shape(0));
}

void activation(Infer& c) { activation_number(c), same(c); }

void activation_grad(Infer& c) {
  activation_number(c);
  c.expect_same_type(op::activation_grad::g, op::activation_grad::t);
  c.result(c.in(0));
}

}  // namespace tenon::op::shapes

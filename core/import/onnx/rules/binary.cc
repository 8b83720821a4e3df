// Functions of several tensors, element by element, with NumPy's rule.
#include <algorithm>
#include <limits>

#include "import/onnx/onnx_rules.h"
#include "import/onnx/rules/spelled_out.h"

namespace tenon::onnx {
namespace binary_ops {
namespace {

// Opset 6 and before: the second operand begins at an axis of the first.
Aligned operands(Call& c) {
  if (c.opset >= 7 || !c.flag("broadcast")) return align(c, {0, 1});
  const Tensor a = c.in(0), b = c.in(1);
  const int64_t from = c.axis(c.integer("axis", a.rank() - b.rank()), a.rank() + 1);
  std::vector<int64_t> dims = b.shape().vec();
  while (static_cast<int64_t>(dims.size()) + from < a.rank()) dims.push_back(1);
  return {{a, reshape(b, Shape(dims))}, false};
}

void give(Call& c, const Aligned& a, Tensor y, Element element) {
  y = cut(y, element);
  a.last ? c.give_last(y, element) : c.give(y, element);
}

// Whether one of the operands is empty; then the result is.
bool of_nothing(Call& c, Element element) {
  bool none = false;
  for (size_t i = 0; i < c.inputs(); ++i) none |= c.has(i) && c.value(i).is_empty();
  if (!none) return false;
  std::vector<int64_t> dims;
  for (size_t i = 0; i < c.inputs(); ++i) {
    const std::vector<int64_t> own = c.value(i).shape().vec();
    if (own.size() > dims.size()) dims.insert(dims.begin(), own.size() - dims.size(), 1);
    for (size_t a = 1; a <= own.size(); ++a)
      if (int64_t& dim = dims[dims.size() - a]; dim == 1) dim = own[own.size() - a];
  }
  c.give_empty(element, Shape(dims));
  return true;
}

template <Tensor (*F)(Tensor, Tensor)>
void plain(Call& c) {
  if (of_nothing(c, c.element())) return;
  const Aligned a = operands(c);
  give(c, a, broadcasted(F, a.x[0], a.x[1]), c.element());
}

void sum_rule(Call& c) {
  if (of_nothing(c, c.element())) return;
  const Aligned a = operands(c);
  if (a.x.size() == 2 && !a.last && is_float(a.x[0].dtype()))
    if (const Tensor y = biased_product(c, a.x[0], a.x[1])) return give(c, a, y, c.element());
  give(c, a, broadcasted(add, a.x[0], a.x[1]), c.element());
}

void product_rule(Call& c) {
  if (of_nothing(c, c.element())) return;
  const Aligned a = operands(c);
  if (a.x.size() == 2)
    if (const Tensor y = spelled_out_activation(c, a.x[0], a.x[1])) return give(c, a, y, c.element());
  give(c, a, broadcasted(mul, a.x[0], a.x[1]), c.element());
}

// Unsigned numbers of 64 bits lie in i64: the sign bit is turned where their order matters.
Tensor in_order(Tensor x, Element element) {
  if (element != Element::kU64) return x;
  return x + full(*x.graph(), DType::kI64, {}, -0x1p63);
}

template <CompareKind K>
void compared(Call& c) {
  if (of_nothing(c, Element::kBool)) return;
  const Aligned a = operands(c);
  const Element element = c.element();
  const Tensor y = broadcasted([](Tensor v, Tensor w) { return compare(v, w, K); }, in_order(a.x[0], element),
                               in_order(a.x[1], element));
  a.last ? c.give_last(y, Element::kBool) : c.give(y, Element::kBool);
}

Tensor exclusive_or(Tensor a, Tensor b) { return compare(a, b, CompareKind::kNe); }

template <Tensor (*F)(Tensor, Tensor)>
void folded(Call& c) {
  std::vector<size_t> which;
  for (size_t i = 0; i < c.inputs(); ++i) which.push_back(i);
  const Aligned a = align(c, which);
  Tensor y = a.x[0];
  for (size_t i = 1; i < a.x.size(); ++i) y = broadcasted(F, y, a.x[i]);
  give(c, a, y, c.element());
}

template <bool Largest>
void extreme(Call& c) {
  if (c.element() != Element::kU64) return folded < Largest ? maximum : minimum > (c);
  std::vector<size_t> which;
  for (size_t i = 0; i < c.inputs(); ++i) which.push_back(i);
  const Aligned a = align(c, which);
  Tensor y = in_order(a.x[0], Element::kU64);
  for (size_t i = 1; i < a.x.size(); ++i)
    y = broadcasted(Largest ? maximum : minimum, y, in_order(a.x[i], Element::kU64));
  give(c, a, in_order(y, Element::kU64), Element::kU64);
}

void mean(Call& c) {
  std::vector<size_t> which;
  for (size_t i = 0; i < c.inputs(); ++i) which.push_back(i);
  const Aligned a = align(c, which);
  Tensor y = a.x[0];
  for (size_t i = 1; i < a.x.size(); ++i) y = y + a.x[i];
  give(c, a, y / static_cast<double>(a.x.size()), c.element());
}

// Bases and exponents may be of different types; the result has the base's.
void power(Call& c) {
  const Aligned a = operands(c);
  const Tensor x = a.x[0], y = a.x[1];
  const Array* known = c.walk.find_known(y);
  if (is_float(x.dtype()) && known && known->elements() == 1 && y.rank() <= x.rank()) {
    const double e = known->item();
    if (e == 2) return give(c, a, x * x, c.element());
    if (e == 3) return give(c, a, x * x * x, c.element());
    if (e == 0.5) return give(c, a, sqrt(x), c.element());
    if (e == 1) return give(c, a, x, c.element());
  }
  // Integers in f32, which a TPU has, where their powers fit; else in f64.
  const DType real = is_float(x.dtype()) ? x.dtype() : is_float(y.dtype()) ? y.dtype() : DType::kF64;
  const Tensor z = broadcasted(pow, cast(x, real), cast(y, real));
  give(c, a, cast(is_float(x.dtype()) ? z : round(z), x.dtype()), c.element());
}

// The remainder has the divisor's sign, with fmod the dividend's.
void modulo(Call& c) {
  const Aligned a = operands(c);
  const Shape shape = broadcast_shapes(a.x[0].shape(), a.x[1].shape());
  const Tensor x = broadcast_to(a.x[0], shape), y = broadcast_to(a.x[1], shape);
  Tensor rest;
  if (is_float(x.dtype())) {
    const Tensor q = div(x, y);
    const Tensor whole = select(compare(q, scalar_like(q, 0), CompareKind::kLt), neg(floor(neg(q))), floor(q));
    // 0 times infinity is none of it.
    rest = x - select(compare(whole, scalar_like(whole, 0), CompareKind::kEq), whole, whole * y);
  } else {
    rest = x - div(x, y) * y;
  }
  if (!c.flag("fmod")) {
    const Tensor zero = scalar_like(x, 0);
    const Tensor turned =
        compare(compare(rest, zero, CompareKind::kLt), compare(y, zero, CompareKind::kLt), CompareKind::kNe);
    rest = select(minimum(turned, compare(rest, zero, CompareKind::kNe)), rest + y, rest);
  }
  give(c, a, rest, c.element());
}

int bits_of(Element element) { return static_cast<int>(element_bits(element)); }

// 2^n of each, as i64; 0 beyond the width.
Tensor power_of_two(Call& c, Tensor n, int bits) {
  Ints powers;
  for (int i = 0; i < bits; ++i) powers.push_back(static_cast<int64_t>(uint64_t{1} << i));
  const Tensor at = cast(n, DType::kI64);
  const Tensor within =
      minimum(compare(at, scalar_like(at, 0), CompareKind::kGe), compare(at, scalar_like(at, bits), CompareKind::kLt));
  const Tensor power = gather(c.ints_constant(powers, Shape({bits})), clamp(at, 0, bits - 1), 0);
  return select(within, power, scalar_like(power, 0));
}

// Towards the lower number, as two's complement is shifted.
Tensor floor_divided(Tensor x, Tensor by) {
  const Tensor below = compare(x, scalar_like(x, 0), CompareKind::kLt);
  return select(below, neg(div(neg(x) - 1.0, by)) - 1.0, div(x, by));
}

void bit_shift(Call& c) {
  const Aligned a = operands(c);
  const Shape shape = broadcast_shapes(a.x[0].shape(), a.x[1].shape());
  const Tensor x = cast(broadcast_to(a.x[0], shape), DType::kI64), n = broadcast_to(a.x[1], shape);
  const Element element = c.element();
  const int bits = bits_of(element);
  const Tensor factor = power_of_two(c, n, bits);
  if (c.text("direction", "") == "LEFT") return give(c, a, cast(mul(x, factor), a.x[0].dtype()), element);
  if (element != Element::kU64) {
    const Tensor beyond = compare(factor, scalar_like(factor, 0), CompareKind::kEq);
    const Tensor least = c.ints_constant({INT64_MIN}, {}),
                 safe =
                     select(minimum(beyond, compare(factor, least, CompareKind::kNe)), scalar_like(factor, 1), factor);
    const Tensor y = floor_divided(x, safe);
    const Tensor sign = select(compare(x, scalar_like(x, 0), CompareKind::kLt), scalar_like(x, -1), scalar_like(x, 0));
    return give(c, a, cast(select(beyond, sign, y), a.x[0].dtype()), element);
  }
  // The highest one of 64 bits goes apart, which i64 takes for a sign.
  Tensor y = x;
  const Tensor big = full(c.graph(), DType::kI64, shape, -0x1p63);
  for (int i = 0; i < 6; ++i) {
    const int64_t step = int64_t{1} << i;
    const Tensor low = select(compare(y, scalar_like(y, 0), CompareKind::kLt), sub(y, big), y);
    const Tensor high = c.ints_constant({int64_t{1} << (63 - step)}, {});
    const Tensor shifted = select(compare(y, scalar_like(y, 0), CompareKind::kLt),
                                  div(low, c.ints_constant({int64_t{1} << step}, {})) + high,
                                  div(low, c.ints_constant({int64_t{1} << step}, {})));
    const Tensor bit = div(cast(n, DType::kI64), c.ints_constant({step}, {}));
    const Tensor odd = compare(bit - div(bit, scalar_like(bit, 2)) * 2.0, scalar_like(bit, 1), CompareKind::kEq);
    y = select(odd, shifted, y);
  }
  give(c, a, y, element);
}

// x's bits along a new last axis, as 0 and 1 of i64.
Tensor bits_along(Call& c, Tensor x, int bits) {
  std::vector<int64_t> dims = x.shape().vec();
  dims.push_back(bits);
  const Shape shape(dims);
  Ints powers;
  for (int i = 0; i < bits; ++i) powers.push_back(static_cast<int64_t>(uint64_t{1} << std::min(i, 62)));
  const Tensor wide = broadcast(x, shape, iota_list(x.rank()));
  const Tensor factor = broadcast_to(c.ints_constant(powers, Shape({bits})), shape);
  // Floor division: what is negative has its bits in two's complement.
  Tensor q = div(wide, factor);
  const Tensor rest = wide - q * factor;
  q = select(compare(rest, scalar_like(rest, 0), CompareKind::kLt), q - 1.0, q);
  if (bits == 64) {
    const Tensor sign =
        broadcast(cast(compare(x, scalar_like(x, 0), CompareKind::kLt), DType::kI64), shape, iota_list(x.rank()));
    const Tensor last =
        compare(iota(c.graph(), DType::kI64, shape, x.rank()), c.ints_constant({63}, {}), CompareKind::kEq);
    q = select(last, sign, q);
  }
  Tensor bit = q - div(q, scalar_like(q, 2)) * 2.0;
  return abs(bit);
}

Tensor from_bits(Call& c, Tensor bits, int count, Element element) {
  Ints powers;
  for (int i = 0; i < count; ++i) powers.push_back(static_cast<int64_t>(uint64_t{1} << i));
  const bool is_signed = element == Element::kI8 || element == Element::kI16 || element == Element::kI32;
  if (is_signed) powers.back() = -powers.back();
  return reduce_sum(bits * broadcast_to(c.ints_constant(powers, Shape({count})), bits.shape()), {bits.rank() - 1});
}

template <int Kind>  // 0 and, 1 or, 2 xor
void bitwise(Call& c) {
  const Aligned a = operands(c);
  const Shape shape = broadcast_shapes(a.x[0].shape(), a.x[1].shape());
  const Element element = c.element();
  const int bits = bits_of(element);
  const Tensor x = bits_along(c, cast(broadcast_to(a.x[0], shape), DType::kI64), bits);
  const Tensor y = bits_along(c, cast(broadcast_to(a.x[1], shape), DType::kI64), bits);
  const Tensor z = Kind == 0 ? minimum(x, y) : Kind == 1 ? maximum(x, y) : abs(x - y);
  give(c, a, cast(from_bits(c, z, bits, element), a.x[0].dtype()), element);
}

void bitwise_not(Call& c) {
  const Tensor x = c.in(0);
  c.give_number(neg(x) - 1.0, c.element());
}

void where(Call& c) {
  if (of_nothing(c, c.element(1))) return;
  const Aligned a = align(c, {0, 1, 2});
  const Tensor y = choose(a.x[0], a.x[1], a.x[2]);
  a.last ? c.give_last(y, c.element(1)) : c.give(y, c.element(1));
}

void clip(Call& c) {
  const auto bound = [&](size_t i, const char* name) -> std::optional<Tensor> {
    if (c.has(i)) return c.in(i).rank() == 0 ? c.in(i) : reshape(c.in(i), {});
    if (c.has_attr(name)) return c.scalar(c.value(0).file().dtype(), c.real(name, 0));
    return std::nullopt;
  };
  const std::optional<Tensor> low = bound(1, "min"), high = bound(2, "max");
  const Array *lowest = low ? c.walk.find_known(*low) : nullptr, *highest = high ? c.walk.find_known(*high) : nullptr;
  const bool six = lowest && highest && lowest->item() == 0 && highest->item() == 6;
  c.map([&](Tensor x) {
    if (six && is_float(x.dtype())) return activation(x, Activation::kRelu6);
    Tensor y = low ? maximum(x, *low) : x;
    return high ? minimum(y, *high) : y;
  });
}

Tensor both(Tensor a, Tensor b) { return minimum(a, b); }
Tensor either(Tensor a, Tensor b) { return maximum(a, b); }

constexpr Rule kRules[] = {
    {"Add", sum_rule},
    {"And", plain<both>},
    {"BitShift", bit_shift},
    {"BitwiseAnd", bitwise<0>},
    {"BitwiseNot", bitwise_not},
    {"BitwiseOr", bitwise<1>},
    {"BitwiseXor", bitwise<2>},
    {"Clip", clip},
    {"Div", plain<div>},
    {"Equal", compared<CompareKind::kEq>},
    {"Greater", compared<CompareKind::kGt>},
    {"GreaterOrEqual", compared<CompareKind::kGe>},
    {"Less", compared<CompareKind::kLt>},
    {"LessOrEqual", compared<CompareKind::kLe>},
    {"Max", extreme<true>},
    {"Mean", mean},
    {"Min", extreme<false>},
    {"Mod", modulo},
    {"Mul", product_rule},
    {"Or", plain<either>},
    {"Pow", power},
    {"Sub", plain<sub>},
    {"Sum", folded<add>},
    {"Where", where},
    {"Xor", plain<exclusive_or>},
};

}  // namespace
}  // namespace binary_ops

Rules binary_rules() { return binary_ops::kRules; }

}  // namespace tenon::onnx

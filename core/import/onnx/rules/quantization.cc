// Numbers as integers with a scale and a zero point.
#include "import/onnx/onnx_rules.h"
#include "import/onnx/quantized.h"
#include "import/onnx/rounding.h"

namespace tenon::onnx {

Tensor spread(Call& c, Tensor numbers, const Shape& shape, int64_t axis, int64_t block) {
  if (numbers.rank() == 0) return numbers;
  if (numbers.elements() == 1 && (numbers.rank() == 1 || block == 0)) return reshape(numbers, {});
  if (numbers.rank() == 1) {
    const int64_t at = c.axis(axis, shape.rank());
    return broadcast(numbers, shape, {at});
  }
  const auto at = static_cast<int>(c.axis(axis, shape.rank()));
  if (block <= 0) block = (shape[at] + numbers.dim(at) - 1) / numbers.dim(at);
  std::vector<int64_t> dims = numbers.shape().vec();
  Ints kept;
  dims.insert(dims.begin() + at + 1, block);
  for (int a = 0; a < static_cast<int>(dims.size()); ++a)
    if (a != at + 1) kept.push_back(a);
  Tensor y = broadcast(numbers, Shape(dims), kept);
  std::vector<int64_t> joined = numbers.shape().vec();
  joined[static_cast<size_t>(at)] = product(joined[static_cast<size_t>(at)], block);
  y = reshape(y, Shape(joined));
  return part(y, at, 0, shape[at]);
}

Tensor quantized(Tensor y, Tensor zero, Element to) {
  const Limits limits = limits_of(to);
  Tensor whole = cast(round(y), DType::kI32);
  if (zero) whole = broadcasted(add, whole, cast(zero, DType::kI32));
  return cast(minimum(maximum(whole, full(*y.graph(), DType::kI32, {}, limits.low)),
                      full(*y.graph(), DType::kI32, {}, limits.high)),
              stored_as(to));
}

namespace quantization_ops {
namespace {

void quantize_linear(Call& c) {
  const Tensor x = c.in(0);
  const int64_t axis = c.integer("axis", 1), block = c.between("block_size", 0, 0, kMostSize);
  Element to = c.has(2) ? c.element(2) : static_cast<Element>(c.integer("output_dtype", 0));
  if (to == Element::kNone) to = Element::kU8;
  const DType wide = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const Tensor scale = spread(c, cast(c.in(1), wide), x.shape(), axis, block);
  const Tensor y = broadcasted(div, cast(x, wide), scale);
  if (is_small_float(to)) return c.give(rounded_to(y, to, c.flag("saturate", true)), to);
  const Tensor zero = c.has(2) ? spread(c, c.in(2), x.shape(), axis, block) : Tensor();
  c.give(quantized(y, zero, to), to);
}

void dequantize_linear(Call& c) {
  const Tensor x = c.in(0);
  const int64_t axis = c.integer("axis", 1), block = c.between("block_size", 0, 0, kMostSize);
  const auto asked = static_cast<Element>(c.integer("output_dtype", 0));
  const Element to = asked == Element::kNone ? c.element(1) : asked;
  const Tensor scale = spread(c, cast(c.in(1), DType::kF32), x.shape(), axis, block);
  Tensor whole = x;
  if (c.has(2)) whole = broadcasted(sub, x, spread(c, c.in(2), x.shape(), axis, block));
  c.give(cast(broadcasted(mul, cast(whole, DType::kF32), scale), stored_as(to)), to);
}

void dynamic_quantize_linear(Call& c) {
  const Tensor x = c.in(0), zero = scalar_like(x, 0);
  const Tensor low = minimum(reduce_min(x), zero), high = maximum(reduce_max(x), zero);
  const Tensor scale = (high - low) / 255.0;
  const Tensor safe = select(compare(scale, zero, CompareKind::kEq), scalar_like(scale, 1), scale);
  const Tensor point = cast(round(clamp(neg(low) / safe, 0, 255)), DType::kI32);
  c.give(quantized(div(x, safe), point, Element::kU8), Element::kU8);
  c.give(scale, Element::kF32);
  c.give(point, Element::kU8);
}

constexpr Rule kRules[] = {
    {"DequantizeLinear", dequantize_linear},
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"QuantizeLinear", quantize_linear},
};

}  // namespace
}  // namespace quantization_ops

Rules quantization_rules() { return quantization_ops::kRules; }

}  // namespace tenon::onnx

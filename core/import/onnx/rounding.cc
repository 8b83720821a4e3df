#include "import/onnx/rounding.h"

#include <cmath>
#include <limits>

namespace tenon::onnx {
namespace {

Tensor floats(Graph& graph, const std::vector<float>& values) {
  return constant(graph, {DType::kF32, Shape({static_cast<int64_t>(values.size())})},
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

}  // namespace

Tensor converted(Tensor x, Element from, Element to) {
  const DType stored = stored_as(to);
  if (from == Element::kU64 && is_float(stored)) {
    const Tensor y = cast(x, DType::kF64);
    return cast(select(compare(x, scalar_like(x, 0), CompareKind::kLt), y + 0x1p64, y), stored);
  }
  // Above i64's numbers are those of u64 that it takes for negative ones.
  if (to == Element::kU64 && is_float(x.dtype())) {
    const Tensor big = compare(x, scalar_like(x, 0x1p63), CompareKind::kGe);
    const Tensor high = cast(cast(x, DType::kF64) - 0x1p64, DType::kI64);
    return select(big, high, cast(x, DType::kI64));
  }
  if (to == from) return x;
  // Through i64, whose low bits are those of numbers that i32 would stop at.
  const bool narrow = !is_float(stored) && stored != DType::kBool && element_bits(to) < 32;
  const Tensor y = narrow && is_float(x.dtype()) ? cast(cast(x, DType::kI64), stored) : cast(x, stored);
  return cut(y, to);
}

Tensor rounded_to(Tensor x, Element element, bool saturate, const std::string& powers) {
  Graph& graph = *x.graph();
  const bool has_powers = element == Element::kF8E8M0;
  std::vector<float> steps, middles;
  for (const float v : small_float_steps(element))
    if (v >= 0) steps.push_back(v);
  for (size_t i = 0; i + 1 < steps.size(); ++i) {
    const float middle = has_powers && powers == "up"     ? steps[i]
                         : has_powers && powers == "down" ? steps[i + 1]
                                                          : steps[i] + (steps[i + 1] - steps[i]) / 2;
    const bool stays = has_powers ? powers == "up" : i % 2 == 0;  // the even one is below
    middles.push_back(stays ? middle : std::nextafter(middle, 0.0f));
  }
  std::vector<int64_t> dims = x.shape().vec();
  dims.push_back(static_cast<int64_t>(middles.size()));
  const Shape shape(dims);
  const Tensor size = abs(x);
  const Tensor above = compare(broadcast(size, shape, iota_list(x.rank())), broadcast_to(floats(graph, middles), shape),
                               CompareKind::kGt);
  const Tensor index = reduce_sum(cast(above, DType::kI32), {x.rank()});
  Tensor y = gather(floats(graph, steps), index, 0);
  const float largest = steps.back(), step = largest - steps[steps.size() - 2];
  if (!saturate && element != Element::kF4E2M1) {
    const bool infinite = element == Element::kF8E5M2;
    const Tensor beyond =
        compare(size, scalar_like(size, infinite ? std::nextafter(largest + step / 2, 0.0f) : largest + step / 2),
                CompareKind::kGt);
    y = select(beyond, scalar_like(y, infinite ? INFINITY : NAN), y);
  }
  y = select(compare(x, x, CompareKind::kNe), scalar_like(y, element == Element::kF4E2M1 ? 0 : NAN), y);
  return select(compare(x, scalar_like(x, 0), CompareKind::kLt), neg(y), y);
}

Limits limits_of(Element element) {
  const double size = std::ldexp(1.0, static_cast<int>(element_bits(element)));
  switch (element) {
    case Element::kU8:
    case Element::kU16:
    case Element::kU4:
    case Element::kU2:
    case Element::kU32:
      return {0, size - 1};
    case Element::kI64:
      return {-0x1p63, 0x1p63 - 1024};
    default:
      return {-size / 2, size / 2 - 1};
  }
}

}  // namespace tenon::onnx

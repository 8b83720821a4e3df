// Casts between element types, and constants.
#include <algorithm>
#include <cmath>

#include "import/onnx/onnx_rules.h"
#include "import/onnx/rounding.h"

namespace tenon::onnx {
namespace conversion_ops {
namespace {

Element wanted(Call& c, const char* name) {
  const auto to = static_cast<Element>(c.integer(name, 0));
  if (stored_as(to) == DType::kNone) c.refuse("a cast to ", element_name(to), ", which Tenon has not");
  return to;
}

void convert_to(Call& c, Element to) {
  const Element from = c.element();
  const bool saturate = c.flag("saturate", true);
  const std::string powers = c.text("round_mode", "up");
  const Value x = c.value(0);
  if (x.is_empty()) return c.give_empty(to, x.shape());
  const auto f = [&](Tensor t) {
    return is_small_float(to) ? rounded_to(cast(t, DType::kF32), to, saturate, powers) : converted(t, from, to);
  };
  x.is_last() ? c.give_last(f(x.last()), to) : c.give(f(x.file()), to);
}

void cast_rule(Call& c) { convert_to(c, wanted(c, "to")); }
void cast_like(Call& c) { convert_to(c, c.element(1)); }

template <class T>
Tensor list_of(Call& c, const std::vector<T>& values, DType dtype, bool one) {
  const Shape shape = one ? Shape() : Shape({static_cast<int64_t>(values.size())});
  return constant(c.graph(), {dtype, shape}, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

void constant_rule(Call& c) {
  if (const TensorData* data = c.tensor("value")) {
    const Array array = to_array(*data).take();
    if (array.elements() == 0) return c.give_empty(data->element, array.shape());
    const std::string_view bytes(reinterpret_cast<const char*>(array.bytes().data()), array.bytes().size());
    return c.give(constant(c.graph(), array.type(), bytes), data->element);
  }
  for (const char* name : {"value_float", "value_floats"}) {
    if (!c.has_attr(name)) continue;
    const bool one = std::string_view(name) == "value_float";
    const std::vector<double> reals = one ? std::vector<double>{c.real(name, 0)} : c.reals(name);
    if (reals.empty()) return c.give_empty(Element::kF32, Shape({0}));
    return c.give(list_of(c, std::vector<float>(reals.begin(), reals.end()), DType::kF32, one), Element::kF32);
  }
  for (const char* name : {"value_int", "value_ints"}) {
    if (!c.has_attr(name)) continue;
    const bool one = std::string_view(name) == "value_int";
    const Ints integers = one ? Ints{c.integer(name, 0)} : c.ints(name);
    return c.give_ints(integers, one ? Shape() : Shape({static_cast<int64_t>(integers.size())}));
  }
  c.refuse("a constant that is no dense tensor of numbers");
}

void constant_of_shape(Call& c) {
  const Ints dims = c.known_ints(0);
  const TensorData* data = c.tensor("value");
  if (Shape(dims).elements() == 0) return c.give_empty(data ? data->element : Element::kF32, Shape(dims));
  if (!data) return c.give(full(c.graph(), DType::kF32, Shape(dims), 0), Element::kF32);
  const Array array = to_array(*data).take();
  if (array.elements() != 1) c.refuse("a value of ", array.elements(), " elements, expected 1");
  c.give(constant(c.graph(), {array.dtype(), Shape(dims)},
                  {reinterpret_cast<const char*>(array.bytes().data()), array.bytes().size()}),
         data->element);
}

void range(Call& c) {
  const DType dtype = c.in(0).dtype();
  const double start = c.known_real(0), limit = c.known_real(1), delta = c.known_real(2);
  if (delta == 0) c.refuse("a step of 0");
  const double count = std::max(0.0, std::ceil((limit - start) / delta));
  if (!(count < 1e9)) c.refuse("a range of ", count, " numbers");
  if (count == 0) return c.give_empty(c.element(), Shape({0}));
  const Tensor steps = iota(c.graph(), is_float(dtype) && dtype != DType::kF64 ? DType::kF32 : dtype,
                            Shape({static_cast<int64_t>(count)}), 0);
  c.give(cast(steps * delta + start, dtype), c.element());
}

void eye_like(Call& c) {
  const Shape shape = c.value(0).shape();
  if (shape.rank() != 2) c.refuse("a tensor of ", shape.rank(), " dimensions, expected 2");
  const Element to = c.has_attr("dtype") ? wanted(c, "dtype") : c.element();
  const Tensor rows = iota(c.graph(), DType::kI64, shape, 0), columns = iota(c.graph(), DType::kI64, shape, 1);
  const Tensor on = compare(rows + static_cast<double>(c.integer("k", 0)), columns, CompareKind::kEq);
  c.give(cast(on, stored_as(to)), to);
}

constexpr Rule kRules[] = {
    {"Cast", cast_rule},   {"CastLike", cast_like}, {"Constant", constant_rule}, {"ConstantOfShape", constant_of_shape},
    {"EyeLike", eye_like}, {"Range", range},
};

}  // namespace
}  // namespace conversion_ops

Rules conversion_rules() { return conversion_ops::kRules; }

}  // namespace tenon::onnx

#include "import/onnx/call.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/each_number.h"
#include "tenon/variables.h"

namespace tenon::onnx {

bool Call::trains() const { return walk.graph().mode == Mode::kTrain; }

Value Call::value(size_t i) const {
  if (!has(i)) fail("operand ", i, " is absent");
  return walk.find(node.inputs[i]);
}

int64_t Call::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank) fail("axis ", axis, " of a tensor of ", rank, " dimensions");
  return axis < 0 ? axis + rank : axis;
}

const AttrData* Call::attr(std::string_view name) const {
  const AttrData* found = node.attr(name);
  // In a function's body, an attribute of the call: its own, or that which the function says.
  for (size_t depth = walk.calls_.size(); found && !found->refers_to.empty() && depth > 0; --depth) {
    const auto& [caller, function] = walk.calls_[depth - 1];
    const std::string& wanted = found->refers_to;
    const AttrData* given = caller->attr(wanted);
    for (size_t i = 0; !given && i < function->defaults.size(); ++i)
      if (function->defaults[i].name == wanted) given = &function->defaults[i];
    found = given;
  }
  return found;
}

int64_t Call::integer(std::string_view name, int64_t missing) const {
  const AttrData* found = attr(name);
  if (!found) return missing;
  if (found->kind != AttrData::Kind::kInteger) fail("attribute '", name, "' is no integer");
  return found->integers[0];
}

double Call::real(std::string_view name, double missing) const {
  const AttrData* found = attr(name);
  if (!found) return missing;
  if (found->kind != AttrData::Kind::kReal) fail("attribute '", name, "' is no float");
  return found->reals[0];
}

std::string Call::text(std::string_view name, const char* missing) const {
  const AttrData* found = attr(name);
  if (!found) return missing;
  if (found->kind != AttrData::Kind::kText) fail("attribute '", name, "' is no string");
  return found->texts[0];
}

Ints Call::ints(std::string_view name, Ints missing) const {
  const AttrData* found = attr(name);
  if (!found) return missing;
  if (found->kind != AttrData::Kind::kIntegers) fail("attribute '", name, "' is no list of integers");
  return found->integers;
}

std::vector<double> Call::reals(std::string_view name) const {
  const AttrData* found = attr(name);
  if (!found) return {};
  if (found->kind == AttrData::Kind::kIntegers && found->integers.empty()) return {};
  if (found->kind != AttrData::Kind::kReals) fail("attribute '", name, "' is no list of floats");
  return found->reals;
}

std::vector<std::string> Call::texts(std::string_view name) const {
  const AttrData* found = attr(name);
  return found ? found->texts : std::vector<std::string>();
}

const TensorData* Call::tensor(std::string_view name) const {
  const AttrData* found = attr(name);
  return found ? found->tensor.get() : nullptr;
}

const GraphData& Call::graph_attr(std::string_view name) const {
  const AttrData* found = attr(name);
  if (!found || !found->graph) fail("attribute '", name, "' is no graph");
  return *found->graph;
}

Array Call::known(size_t i) const {
  const Value x = value(i);
  return x.is_empty() ? Array({stored_as(x.element()), x.shape()}) : walk.known(x.file());
}

Ints Call::known_ints(size_t i) const {
  const Array array = known(i);
  if (is_float(array.dtype())) fail("operand ", i, " is ", array.type().str(), ", expected integers");
  Ints out;
  each_number(array.dtype(), array.bytes(), [&](auto v) { out.push_back(static_cast<int64_t>(v)); });
  return out;
}

double Call::known_real(size_t i) const {
  const Array array = known(i);
  if (array.elements() != 1) fail("operand ", i, " is ", array.type().str(), ", expected one number");
  return array.item();
}

int64_t Call::known_integer(size_t i) const {
  const double value = known_real(i);
  if (!(std::fabs(value) < 0x1p53)) fail("operand ", i, " is ", value, ", expected a number below 2^53");
  return static_cast<int64_t>(value);
}

int64_t Call::between(std::string_view name, int64_t missing, int64_t low, int64_t high) const {
  const int64_t value = integer(name, missing);
  if (value < low || value > high) fail(name, " is ", value, ", expected ", low, " to ", high);
  return value;
}

Ints Call::list(std::string_view name, size_t n, int64_t missing, int64_t low, int64_t high) const {
  Ints out = ints(name, Ints(n, missing));
  if (out.size() != n) fail(name, " has ", out.size(), " numbers, expected ", n);
  for (const int64_t value : out)
    if (value < low || value > high) fail(name, " has ", value, ", expected ", low, " to ", high);
  return out;
}

std::optional<Ints> Call::axes(size_t i, std::string_view name) const {
  if (has(i)) return known_ints(i);
  if (has_attr(name)) return ints(name);
  return std::nullopt;
}

void Call::give(Value value) {
  const size_t at = next_++;
  if (wants(at)) walk.set(node.outputs[at], std::move(value));
}

void Call::give_number(Tensor file, Element element) { give(cut(file, element), element); }

Tensor Call::ints_constant(const Ints& values, const Shape& shape) {
  return constant(graph(), {DType::kI64, shape},
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int64_t)});
}

void Call::give_ints(const Ints& values, const Shape& shape) {
  values.empty() ? give_empty(Element::kI64, shape) : give(ints_constant(values, shape), Element::kI64);
}

Tensor cut(Tensor x, Element element) {
  const auto low_bits = [&](int bits, bool is_signed) {
    // As floor division does: x - floor(x / 2^bits) 2^bits.
    const double size = static_cast<double>(int64_t{1} << bits);
    const Tensor rest = x - (x / size) * size;
    const Tensor low = select(compare(rest, scalar_like(x, 0), CompareKind::kLt), rest + size, rest);
    if (!is_signed) return low;
    return select(compare(low, scalar_like(x, size / 2), CompareKind::kGe), low - size, low);
  };
  switch (element) {
    case Element::kU2:
      return low_bits(2, false);
    case Element::kI2:
      return low_bits(2, true);
    case Element::kU4:
      return low_bits(4, false);
    case Element::kI4:
      return low_bits(4, true);
    case Element::kU8:
      return low_bits(8, false);
    case Element::kI8:
      return low_bits(8, true);
    case Element::kU16:
      return low_bits(16, false);
    case Element::kI16:
      return low_bits(16, true);
    case Element::kU32:
      return low_bits(32, false);
    default:
      return x;
  }
}

int64_t product(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out) || out >= int64_t{1} << 60)
    fail(a, " times ", b, " elements, which no memory holds");
  return out;
}

void expect_table(double numbers) {
  constexpr double kMost = 1 << 26;
  if (!(numbers <= kMost)) fail("a table of ", numbers, " numbers, expected up to ", kMost);
}

Aligned align(const Call& c, const std::vector<size_t>& operands) {
  std::vector<Value> values;
  int rank = 0;
  for (const size_t i : operands) {
    values.push_back(c.value(i));
    rank = std::max(rank, values.back().rank());
  }
  Aligned out;
  for (const Value& v : values) out.last |= rank >= 3 && v.rank() == rank && v.is_last();
  for (const Value& v : values) {
    if (!out.last || v.rank() == 0) {
      out.x.push_back(v.file());
      continue;
    }
    if (v.rank() == rank) {
      out.x.push_back(v.last());
      continue;
    }
    std::vector<int64_t> dims(static_cast<size_t>(rank - v.rank()), 1);
    const Shape shape = v.shape();
    dims.insert(dims.end(), shape.begin(), shape.end());
    out.x.push_back(Value(v.element(), reshape(v.file(), Shape(dims))).last());
  }
  return out;
}

Tensor broadcasted(Binary op, Tensor a, Tensor b) {
  if (a.shape() == b.shape() || a.rank() == 0 || b.rank() == 0) return op(a, b);
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  return op(broadcast_to(a, shape), broadcast_to(b, shape));
}

Tensor choose(Tensor condition, Tensor a, Tensor b) {
  const Shape shape = broadcast_shapes(broadcast_shapes(condition.shape(), a.shape()), b.shape());
  const auto fit = [&](Tensor x) { return x.rank() == 0 ? x : broadcast_to(x, shape); };
  if (condition.rank() == 0 && a.rank() == 0 && b.rank() == 0) return select(condition, a, b);
  const Tensor y = select(fit(condition), fit(a), fit(b));
  return y.shape() == shape ? y : broadcast_to(y, shape);
}

Ints iota_list(int64_t n) {
  Ints out(static_cast<size_t>(n));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

Tensor axis_to_end(Tensor x, int64_t axis) {
  if (axis == x.rank() - 1) return x;
  Ints perm = iota_list(x.rank());
  perm.erase(perm.begin() + axis);
  perm.push_back(axis);
  return transpose(x, perm);
}

Tensor axis_from_end(Tensor x, int64_t axis) {
  if (axis == x.rank() - 1) return x;
  Ints perm = iota_list(x.rank() - 1);
  perm.insert(perm.begin() + axis, x.rank() - 1);
  return transpose(x, perm);
}

Tensor part(Tensor x, int64_t axis, int64_t from, int64_t to, int64_t step) {
  Ints start(static_cast<size_t>(x.rank()), 0), limit = x.shape().vec(), stride(static_cast<size_t>(x.rank()), 1);
  start[static_cast<size_t>(axis)] = from;
  limit[static_cast<size_t>(axis)] = to;
  stride[static_cast<size_t>(axis)] = step;
  return slice(x, start, limit, stride);
}

Tensor reshaped(Tensor x, const Ints& dims) { return x.shape() == Shape(dims) ? x : reshape(x, Shape(dims)); }

}  // namespace tenon::onnx

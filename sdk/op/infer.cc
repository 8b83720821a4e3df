#include "tenon/op/infer.h"

#include <algorithm>
#include <cmath>

namespace tenon::op {
namespace {

constexpr int64_t kMostElements = (int64_t{1} << 60) - 1;  // bytes are a number then too

struct DtypeFacts {
  std::string_view name;
  int64_t bytes;
};
constexpr DtypeFacts kDtypes[] = {{"unknown", 0}, {"f32", 4}, {"bf16", 2}, {"f16", 2}, {"f64", 8},
                                  {"i32", 4},     {"i64", 8}, {"u8", 1},   {"bool", 1}};

const DtypeFacts& facts(int32_t dtype) {
  return kDtypes[dtype > 0 && static_cast<size_t>(dtype) < std::size(kDtypes) ? dtype : 0];
}

bool same_or_unknown(int32_t a, int32_t b) { return a == b || dtype_size(a) == 0 || dtype_size(b) == 0; }

int64_t checked_size(int64_t size) {
  if (size < 0 || size > kMostElements)
    fail("shape has dimension ", size, size < 0 ? ", expected 0 or more" : ", expected less than 2^60");
  return size;
}

std::string bounds(int64_t low, int64_t high) {
  return high == INT64_MAX ? cat(low, " or more") : cat(low, " to ", high);
}

}  // namespace

std::string_view dtype_text(int32_t dtype) { return facts(dtype).name; }
int64_t dtype_size(int32_t dtype) { return facts(dtype).bytes; }
bool is_float(int32_t dtype) { return dtype >= TENON_F32 && dtype <= TENON_F64; }
bool is_integer(int32_t dtype) { return dtype == TENON_I32 || dtype == TENON_I64; }

std::string text_of(const Ints& numbers) {
  std::string out = "[";
  for (size_t i = 0; i < numbers.size(); ++i) out += cat(i ? "," : "", numbers[i]);
  return out + "]";
}

Shape::Shape(const int64_t* begin, const int64_t* end) {
  if (end - begin > TENON_MAX_RANK) fail("shape has ", end - begin, " dimensions, expected at most ", TENON_MAX_RANK);
  for (const int64_t* d = begin; d < end; ++d) dims_[static_cast<size_t>(rank_++)] = checked_size(*d);
}

size_t Shape::place(int axis) const {
  const int at = axis < 0 ? axis + rank_ : axis;
  if (at < 0 || at >= rank_) fail("axis ", axis, " is out of range for shape ", str());
  return static_cast<size_t>(at);
}

void Shape::set(int axis, int64_t size) { dims_[place(axis)] = checked_size(size); }

int64_t Shape::elements() const {
  int64_t n = 1;
  for (const int64_t d : *this)
    if (__builtin_mul_overflow(n, d, &n) || n > kMostElements) fail("shape ", str(), " has 2^60 elements or more");
  return n;
}

bool agree(const Type& a, const Type& b) { return same_or_unknown(a.dtype, b.dtype) && a.shape == b.shape; }

std::string Infer::operand(int i) const {
  const auto& known = signature_;
  const size_t last = known.size() - 1, at = std::min(static_cast<size_t>(i), last);
  const bool named = at == static_cast<size_t>(i) || known[last].variadic;
  return named ? cat("operand ", i, " '", known[at].name, "'") : cat("operand ", i);
}

void Infer::expect_type(int i, const Type& type) const {
  if (has(i) && !agree(in(i), type)) fail(operand(i), " is ", in(i).str(), ", expected ", type.str());
}

void Infer::expect_same_dtype(int i, int j) const {
  if (has(i) && has(j) && !same_or_unknown(dtype(i), dtype(j)))
    fail(operand(j), " is ", in(j).str(), ", expected ", dtype_text(dtype(i)), " as ", operand(i));
}

void Infer::expect_same_type(int i, int j) const {
  if (has(i) && has(j) && !agree(in(j), in(i)))
    fail(operand(j), " is ", in(j).str(), ", expected ", in(i).str(), " as ", operand(i));
}

void Infer::expect_shape(int i, const Shape& expected) const {
  if (has(i) && shape(i) != expected) fail(operand(i), " has shape ", shape(i).str(), ", expected ", expected.str());
}

void Infer::expect_rank(int i, int low, int high) const {
  if (shape(i).rank() < low || shape(i).rank() > high)
    fail(operand(i), " is ", in(i).str(), ", expected rank ", low == high ? cat(low) : cat(low, " to ", high));
}

int64_t Infer::expect_number(std::string_view name, int64_t low, int64_t high) const {
  const int64_t value = number(name);
  expect(value >= low && value <= high, name, " is ", value, ", expected ", bounds(low, high));
  return value;
}

void Infer::expect_finite(std::string_view name) const {
  expect(std::isfinite(f64(name)), name, " is ", f64(name), ", expected a finite number");
}

void Infer::expect_at_least(std::string_view name, double low) const {
  expect(f64(name) >= low && std::isfinite(f64(name)), name, " is ", f64(name), ", expected ", low, " or more");
}

int Infer::axis(const Type& of) const {
  const int64_t axis = number("axis");
  expect(axis >= 0 && axis < of.shape.rank(), "axis ", axis, " is out of range for ", of.str());
  return static_cast<int>(axis);
}

Ints Infer::axes(std::string_view name, int rank) const {
  Ints out = list(name);
  for (const int64_t a : out) expect(a >= 0 && a < rank, "axis ", a, " is out of range for rank ", rank);
  std::sort(out.begin(), out.end());
  expect(std::adjacent_find(out.begin(), out.end()) == out.end(), "axes repeat: ", text_of(out));
  return out;
}

Ints Infer::numbers(std::string_view name, int size, int64_t missing) const {
  const Ints found = list(name);
  if (found.empty()) return Ints(static_cast<size_t>(size), missing);
  expect(found.size() == static_cast<size_t>(size), "attribute '", name, "' has ", found.size(), " numbers, expected ",
         size);
  return found;
}

}  // namespace tenon::op

#include "tenon/types.h"

#include "base/strings.h"

namespace tenon {
namespace {

struct DTypeInfo {
  std::string_view name;
  int64_t bytes;
};

constexpr DTypeInfo kDTypes[] = {{"none", 0}, {"f32", 4}, {"bf16", 2}, {"f16", 2}, {"f64", 8},
                                 {"i32", 4},  {"i64", 8}, {"u8", 1},   {"bool", 1}};

const DTypeInfo& info(DType dtype) {
  const auto i = static_cast<size_t>(dtype);
  return kDTypes[i < std::size(kDTypes) ? i : 0];
}

}  // namespace

std::string_view dtype_name(DType dtype) { return info(dtype).name; }
int64_t dtype_bytes(DType dtype) { return info(dtype).bytes; }

std::string_view mode_name(Mode mode) {
  return mode == Mode::kTrain ? "train" : mode == Mode::kEval ? "eval" : "predict";
}

DType dtype_from_name(std::string_view name) {
  for (size_t i = 1; i < std::size(kDTypes); ++i)
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  return DType::kNone;
}

namespace {

constexpr int64_t kMostElements = (int64_t{1} << 60) - 1;  // bytes are a number then too

int64_t checked_dimension(int64_t size) {
  if (size < 0) fail("shape has dimension ", size, ", expected 0 or more");
  if (size > kMostElements) fail("shape has dimension ", size, ", expected less than 2^60");
  return size;
}

}  // namespace

Shape::Shape(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank) fail("shape has ", dims.size(), " dimensions, expected at most ", kMaxRank);
  for (int64_t d : dims) dims_[rank_++] = checked_dimension(d);
}

void Shape::set(int axis, int64_t size) { dims_[check_axis(axis)] = checked_dimension(size); }

int Shape::check_axis(int axis) const {
  const int a = axis < 0 ? axis + rank_ : axis;
  if (a < 0 || a >= rank_) fail("axis ", axis, " is out of range for shape ", str());
  return a;
}

int64_t Shape::elements() const {
  int64_t n = 1;
  for (int64_t d : *this)
    if (__builtin_mul_overflow(n, d, &n) || n > kMostElements) fail("shape ", str(), " has 2^60 elements or more");
  return n;
}

std::string Shape::str() const { return cat("[", join(dims(), ","), "]"); }

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
}

std::string Type::str() const { return cat(dtype_name(dtype), shape.str()); }

}  // namespace tenon

// Element types and shapes of tensors.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

// The numbers are those of the C ABI and never change.
enum class DType : int32_t {
  kNone = 0,
  kF32 = 1,
  kBF16 = 2,
  kF16 = 3,
  kF64 = 4,
  kI32 = 5,
  kI64 = 6,
  kU8 = 7,
  kBool = 8,  // one byte, 0 or 1
};

std::string_view dtype_name(DType dtype);      // "f32", "bf16", ..., "bool"
DType dtype_from_name(std::string_view name);  // kNone when there is none of that name
int64_t dtype_bytes(DType dtype);              // of one element

constexpr bool is_float(DType t) {
  return t == DType::kF32 || t == DType::kBF16 || t == DType::kF16 || t == DType::kF64;
}
constexpr bool is_integer(DType t) { return t == DType::kI32 || t == DType::kI64; }

// What a graph is built for. Training draws dropout and uses batch moments; evaluation and prediction do not.
enum class Mode : uint8_t { kTrain, kEval, kPredict };
std::string_view mode_name(Mode mode);  // "train", "eval", "predict"

// How a result of several steps of one call is kept: the last step's, each step's, or a bool that ends the call once
// true.
enum class ResultMode : uint8_t { kLast, kEach, kUntil };

constexpr int kMaxRank = 8;

// Dimensions of a tensor, outermost first; rank 0 is a scalar. A value type without allocation. Each is less than 2^60,
// so that the sum of two is a number.
class Shape {
 public:
  Shape() = default;
  // Throws Error when there are more than kMaxRank dimensions, or one is negative or not less than 2^60.
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);
  explicit Shape(const std::vector<int64_t>& dims) : Shape(std::span<const int64_t>(dims)) {}

  int rank() const { return rank_; }
  // Negative axes count from the end. Throws Error when out of range.
  int64_t operator[](int axis) const { return dims_[check_axis(axis)]; }
  // Throws Error when the axis is out of range, or the size.
  void set(int axis, int64_t size);
  int64_t elements() const;  // the product of the dimensions; 1 for a scalar. Throws on overflow.
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  std::vector<int64_t> vec() const { return {dims_.begin(), dims_.begin() + rank_}; }
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }

  // -rank..rank-1 to 0..rank-1. Throws Error when out of range.
  int axis(int axis) const { return check_axis(axis); }

  std::string str() const;  // "[64,28,28,1]"
  bool operator==(const Shape& other) const;

 private:
  int check_axis(int axis) const;

  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// What is known of a tensor before it has a value.
struct Type {
  DType dtype = DType::kF32;
  Shape shape;

  int64_t bytes() const { return shape.elements() * dtype_bytes(dtype); }
  std::string str() const;  // "f32[64,28,28,1]"
  bool operator==(const Type&) const = default;
};

}  // namespace tenon

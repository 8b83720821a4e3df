// What an op makes of its operands: the rules of dtypes and shapes, and what attributes may say, one for all who build
// or read graphs. C++17; part of the static library tenon_sdk_op.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenon/abi/types.h"
#include "tenon/op/row.h"
#include "tenon/op/signature.h"

namespace tenon::op {

using Ints = std::vector<int64_t>;

// What is wrong with a node, one line without its name: "operand 1 'w' is f32[3,4], expected rank 4".
struct Wrong {
  std::string text;
};

namespace detail {

inline void append(std::string& out, std::string_view text) { out += text; }
template <class T>
std::enable_if_t<std::is_arithmetic_v<T>> append(std::string& out, T value) {
  char digits[40];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace detail

// Strings and numbers after each other.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Wrong{cat(parts...)};
}

std::string text_of(const Ints& numbers);    // "[1,2]"
std::string_view dtype_text(int32_t dtype);  // "f32"; "dtype 77" is "unknown"
bool is_float(int32_t dtype);
bool is_integer(int32_t dtype);     // i32, i64
int64_t dtype_size(int32_t dtype);  // bytes of an element; 0 for a dtype that no version defines

// Dimensions, each from 0 and less than 2^60. A value type without allocation. Throws Wrong.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(dims.begin(), dims.end()) {}
  explicit Shape(const Ints& dims) : Shape(dims.data(), dims.data() + dims.size()) {}
  Shape(const int64_t* begin, const int64_t* end);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[place(axis)]; }  // negative: from the end
  void set(int axis, int64_t size);
  int64_t elements() const;  // less than 2^60
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  Ints vec() const { return {begin(), end()}; }
  std::string str() const { return text_of(vec()); }
  friend bool operator==(const Shape& a, const Shape& b) { return a.vec() == b.vec(); }
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

 private:
  size_t place(int axis) const;

  std::array<int64_t, TENON_MAX_RANK> dims_{};
  int rank_ = 0;
};

struct Type {
  int32_t dtype = 0;  // tenon_dtype; 0: an absent operand
  Shape shape;

  std::string str() const { return cat(dtype_text(dtype), shape.str()); }
};

// Whether a value of type `a` may stand where `b` is expected. A dtype that no version defines is a kernel's to refuse.
bool agree(const Type& a, const Type& b);

// The attributes of a node by name, with the signature's values for those that are absent.
class Attributes {
 public:
  virtual ~Attributes() = default;
  virtual int64_t number(std::string_view name) const = 0;  // i64, bool, dtype and enum
  virtual double f64(std::string_view name) const = 0;
  virtual Ints list(std::string_view name) const = 0;
  virtual uint64_t bytes(std::string_view name) const = 0;  // how many
};

// A node whose results a rule infers.
class Infer {
 public:
  // REQUIRED: all live as long as this; operands and attributes are those of the signature, whose operands these are.
  Infer(const std::vector<Signature::Operand>& signature, const std::vector<Type>& operands, const Attributes& attributes)
      : signature_(signature), operands_(operands), attributes_(attributes) {}

  int operands() const { return static_cast<int>(operands_.size()); }
  bool has(int i) const { return i < operands() && operands_[static_cast<size_t>(i)].dtype != 0; }
  const Type& in(int i) const { return operands_[static_cast<size_t>(i)]; }
  const Shape& shape(int i) const { return in(i).shape; }
  int32_t dtype(int i) const { return in(i).dtype; }
  std::string operand(int i) const;  // "operand 1 'w'"

  int64_t number(std::string_view name) const { return attributes_.number(name); }
  bool flag(std::string_view name) const { return number(name) != 0; }
  int32_t dtype(std::string_view name) const { return static_cast<int32_t>(number(name)); }
  double f64(std::string_view name) const { return attributes_.f64(name); }
  Ints list(std::string_view name) const { return attributes_.list(name); }
  uint64_t bytes(std::string_view name) const { return attributes_.bytes(name); }

  void result(int32_t dtype, const Shape& shape) { results_.push_back({dtype, shape}); }
  void result(const Type& type) { results_.push_back(type); }
  const std::vector<Type>& results() const { return results_; }

  template <class... Parts>
  static void expect(bool condition, const Parts&... parts) {
    if (!condition) fail(parts...);
  }
  // Checks an operand; an absent one is right.
  void expect_type(int i, const Type& type) const;
  void expect_same_dtype(int i, int j) const;
  void expect_same_type(int i, int j) const;
  void expect_shape(int i, const Shape& shape) const;
  void expect_rank(int i, int low, int high) const;
  // Returns an attribute, a number from `low` to `high`.
  int64_t expect_number(std::string_view name, int64_t low, int64_t high) const;
  void expect_finite(std::string_view name) const;
  void expect_at_least(std::string_view name, double low) const;
  // Attribute `axis`, of a type.
  int axis(const Type& of) const;
  // A list of axes of a rank, without repetition, sorted.
  Ints axes(std::string_view name, int rank) const;
  // A list of `size` numbers; empty: that many times `missing`.
  Ints numbers(std::string_view name, int size, int64_t missing) const;

 private:
  const std::vector<Signature::Operand>& signature_;
  const std::vector<Type>& operands_;
  const Attributes& attributes_;
  std::vector<Type> results_;
};

using ShapeRule = void (*)(Infer&);

// The rule of an op: appends the types of its results, or throws Wrong.
ShapeRule shape_rule(const Row& row);

}  // namespace tenon::op

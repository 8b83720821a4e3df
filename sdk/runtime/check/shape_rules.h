// What the shape rules of the runtime are written with: a file a family of ops, each with its table.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tenon/plugin/graph.h"
#include "tenon/plugin/strided.h"

namespace tenon::plugin {

struct WrongShape {
  std::string text;
};

inline std::string text_of(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

// A node, asked for what its op needs.
class Asked {
 public:
  explicit Asked(const NodeView& node) : n(node) {}

  const NodeView& n;

  Dims in(int i) const { return n.in(i).dims().vec(); }
  Dims out(int i) const { return n.out(i).dims().vec(); }
  int32_t dtype(int i) const { return n.in(i).dtype(); }
  bool has(int i) const { return n.has(i); }
  Dims list(const char* name) const { return n.list(name).vec(); }

  static void expect(bool condition, const char* problem) {
    if (!condition) fail(problem);
  }
  // Others are a kernel's to refuse.
  bool has_dtype(int i, int32_t expected) const { return dtype(i) == expected || !are_known(dtype(i), expected); }
  static bool are_known(int32_t a, int32_t b) { return dtype_bytes(a) && dtype_bytes(b); }
  [[noreturn]] static void fail(const std::string& problem) { throw WrongShape{problem}; }
  // Operand and result i have this shape, unless they are absent.
  void in_is(int i, const Dims& dims) const {
    if (has(i) && in(i) != dims) fail(what("operand", i, in(i), dims));
  }
  void out_is(int i, const Dims& dims) const {
    if (n.has_result(i) && out(i) != dims) fail(what("result", i, out(i), dims));
  }
  void same_dtype(int i, int j) const {
    if (has(i) && has(j) && dtype(i) != dtype(j) && are_known(dtype(i), dtype(j)))
      fail("operand " + std::to_string(j) + " is " + dtype_name(dtype(j)) + ", operand " + std::to_string(i) + " is " +
           dtype_name(dtype(i)));
  }
  void out_dtype(int i, int32_t dtype) const {
    if (n.has_result(i) && n.out(i).dtype() != dtype && are_known(n.out(i).dtype(), dtype))
      fail("result " + std::to_string(i) + " is " + dtype_name(n.out(i).dtype()) + ", expected " + dtype_name(dtype));
  }
  void in_same(int i, int as) const { same_dtype(as, i), in_is(i, in(as)); }
  void out_same(int i, int as) const { out_dtype(i, dtype(as)), out_is(i, in(as)); }
  void rank(int i, int least, int most) const {
    const int rank = n.in(i).rank();
    if (rank < least || rank > most)
      fail("operand " + std::to_string(i) + " has rank " + std::to_string(rank) + ", expected " +
           std::to_string(least) + " to " + std::to_string(most));
  }
  // An i64 attribute within bounds.
  int64_t number(const char* name, int64_t least, int64_t most, int64_t missing = 0) const {
    const int64_t value = n.i64(name, missing);
    if (value < least || value > most)
      fail(std::string(name) + " is " + std::to_string(value) + ", expected " + std::to_string(least) + " to " +
           std::to_string(most));
    return value;
  }
  size_t axis(const Dims& of) const {
    expect(!of.empty(), "has an axis, but its operand has none");
    return static_cast<size_t>(number("axis", 0, static_cast<int64_t>(of.size()) - 1));
  }
  // A list of `size` numbers within bounds; empty where the op has a default.
  Dims numbers(const char* name, size_t size, int64_t least, int64_t missing, bool optional = true) const {
    constexpr int64_t kMost = int64_t{1} << 40;
    Dims found = list(name);
    if (found.empty() && optional) return Dims(size, missing);
    if (!(found.size() == size))
      fail(std::string(name) + " has " + std::to_string(found.size()) + " numbers, expected " + std::to_string(size));
    for (const int64_t v : found)
      if (!(v >= least && v <= kMost))
        fail(std::string(name) + " is " + text_of(found) + ", expected " + std::to_string(least) + " or more");
    return found;
  }
  // Axes of a rank, increasing.
  Dims increasing(const char* name, size_t rank) const {
    Dims axes = list(name);
    std::sort(axes.begin(), axes.end());
    for (size_t i = 0; i < axes.size(); ++i)
      if (!(axes[i] >= 0 && axes[i] < static_cast<int64_t>(rank) && (i == 0 || axes[i] > axes[i - 1])))
        fail(std::string(name) + " is " + text_of(axes) + ", expected axes of rank " + std::to_string(rank));
    return axes;
  }

 private:
  static std::string what(const char* which, int i, const Dims& found, const Dims& expected) {
    return std::string(which) + " " + std::to_string(i) + " has shape " + text_of(found) + ", expected " +
           text_of(expected);
  }
};

inline Dims without(const Dims& dims, const Dims& axes) {
  Dims left;
  for (size_t d = 0; d < dims.size(); ++d)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end()) left.push_back(dims[d]);
  return left;
}

inline Dims leading(const Dims& dims) { return {dims.begin(), dims.end() - 1}; }

inline int32_t computes_in(int32_t dtype) {
  return dtype_bytes(dtype) == 0 ? dtype : dtype == TENON_F64 ? TENON_F64 : TENON_F32;
}

// Operands `first` and the next are a seed and a step.
inline void scalars_of_draws(const Asked& a, int first) {
  for (int i = first; i < first + 2; ++i) {
    a.in_is(i, {});
    if (a.has(i))
      if (!a.has_dtype(i, TENON_I64)) Asked::fail("operand " + std::to_string(i) + " is no i64[]");
  }
}

struct ShapeRule {
  std::string_view ops;  // separated by blanks, with one before and behind
  void (*check)(const Asked&);
};

// Of op::arithmetic_operands.
void arithmetic_rule(const Asked& a, int operands);
// Of other elements one by one, and of what moves them.
Span<ShapeRule> elementwise_rules();
// Of products, convolutions and pools.
Span<ShapeRule> contraction_rules();
// Of normalizations and losses, attention and recurrent ops.
Span<ShapeRule> network_rules();
// Of images and updates of variables.
Span<ShapeRule> update_rules();

}  // namespace tenon::plugin

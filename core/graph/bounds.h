// Dimensions that hold fewer elements at run time than they have room for (share/doc/adr/0018).
//
// A type has every dimension at its bound. Beside it a value says which parts of its dimensions are dynamic: each axis is
// a product of parts, so that a reshape which merges a batch with its steps still knows both. It also says which parts are
// those of an input that always has so many: one of 8 rows is no batch of at most 8.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tenon/types.h"

namespace tenon {

// A dynamic axis of a function's input; `size` is that of all units together, at most or always.
struct InputAxis {
  std::string input;
  int axis = 0;
  int64_t size = 0;
};

// A size that is known when the program runs: `size`, a scalar i32 input, says how many of the `bound` elements there are.
struct DynamicDim {
  std::string name;  // "batch", "time"
  int64_t bound = 0;
  int32_t size = -1;    // the value
  InputAxis from = {};  // the first that has it
};

// The size of each dynamic dimension on one unit.
using DimensionSizes = std::map<std::string, int64_t>;

constexpr int kStatic = -1;
// The part of an input's axis that has one size: Graph::fixed_axes[index].
constexpr int fixed_dim(size_t index) { return -2 - static_cast<int>(index); }

struct AxisPart {
  int64_t size = 1;
  int dim = kStatic;  // index into Graph::dynamic_dims, or a fixed_dim
  bool dynamic() const { return dim > kStatic; }
  bool fixed() const { return dim < kStatic; }
  size_t fixed_index() const { return static_cast<size_t>(-2 - dim); }
  auto operator<=>(const AxisPart&) const = default;
};
// Outermost first; their product is the axis's size. Neighbours that are not dynamic and of one number are one part.
using AxisBounds = std::vector<AxisPart>;
using Bounds = std::vector<AxisBounds>;  // one an axis

AxisBounds static_axis(int64_t size);
Bounds static_bounds(const Shape& shape);
bool is_dynamic(const AxisBounds& axis);
bool is_dynamic(const Bounds& bounds);
// Without the numbers of what has one size: all that masks and counts depend on.
AxisBounds ends_of(const AxisBounds& axis);
Bounds ends_of(const Bounds& bounds);

// The bounds of an axis that two values share: dynamic where either is. Nothing where the axis would be dynamic in two ways,
// or is dynamic in one and has an input's fixed size in the other.
std::optional<AxisBounds> meet(const AxisBounds& a, const AxisBounds& b);
// The same elements in row-major order under another shape. Nothing where that would tear a dynamic part apart.
std::optional<Bounds> regrouped(const Bounds& bounds, const Shape& shape);

// "f32[<=8,<=274,3]"
std::string bounded_text(const Type& type, const Bounds& bounds);

}  // namespace tenon

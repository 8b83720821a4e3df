// Dimensions that hold fewer elements at run time than they have room for (share/doc/adr/0018).
//
// A type has every dimension at its bound. Beside it a value says which parts of its dimensions are dynamic: each axis is
// a product of parts, so that a reshape which merges a batch with its steps still knows both.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "tenon/types.h"

namespace tenon {

// A size that is known when the program runs: `size`, a scalar i32 input, says how many of the `bound` elements there are.
struct DynamicDim {
  std::string name;  // "batch", "time"
  int64_t bound = 0;
  int32_t size = -1;  // the value
};

constexpr int kStatic = -1;

struct AxisPart {
  int64_t size = 1;
  int dim = kStatic;  // index into Graph::dynamic_dims
  auto operator<=>(const AxisPart&) const = default;
};
// Outermost first; their product is the axis's size. Static neighbours are one part.
using AxisBounds = std::vector<AxisPart>;
using Bounds = std::vector<AxisBounds>;  // one an axis

AxisBounds static_axis(int64_t size);
Bounds static_bounds(const Shape& shape);
bool is_dynamic(const AxisBounds& axis);
bool is_dynamic(const Bounds& bounds);

// Of an axis that elements have in both: dynamic where either is. Nothing where the two cannot be told apart, as one that
// is dynamic in two ways.
std::optional<AxisBounds> meet(const AxisBounds& a, const AxisBounds& b);
// The same elements in row-major order under another shape. Nothing where that would tear a dynamic part apart.
std::optional<Bounds> regrouped(const Bounds& bounds, const Shape& shape);

// "f32[<=8,<=274,3]"
std::string bounded_text(const Type& type, const Bounds& bounds);

}  // namespace tenon

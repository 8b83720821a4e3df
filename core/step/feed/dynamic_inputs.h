// Inputs of a function with dynamic dimensions: their types at the bounds, the sizes of a call, and arrays in between.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "step/trace.h"
#include "tenon/array.h"
#include "tenon/strategy.h"

namespace tenon {

// An error for bounds that are no sizes, do not divide by the units, or differ where they have one name.
Status check_dynamic(const FunctionOptions& options, int replicas);

// The signature of arrays, and the sizes that they have.
struct GivenInputs {
  std::vector<TraceInput> signature;
  DimensionSizes sizes;
  int64_t rows = 1;  // of all units together; 1 where nothing has rows
};
Result<GivenInputs> given_inputs(const Arrays& inputs, const FunctionOptions& options, int replicas);

// The same elements in an array of another size: what it has more is zero, what it has fewer is left out. `axis`, if any,
// is dealt over so many blocks, one behind the other, each of which grows or shrinks by itself.
Array resized(Array from, const Shape& to, int blocks, int axis);

}  // namespace tenon

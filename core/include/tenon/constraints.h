// What weights are kept to, with Keras's names, defaults and formulas: applied to a weight after each of its updates.
//
//   dense(x, {.units = 10, .kernel_constraint = MaxNorm({.max_value = 3})});
//   dense(x, {.units = 10, .kernel_constraint = {[](Tensor w) { return clamp(w, -1, 1); }}});      // one's own
//
// Norms are Euclidean, over `axis`: 0 for what comes into each unit of a dense kernel, {0, 1, 2} for each filter of an
// image kernel. All functions throw tenon::Error.
#pragma once

#include <functional>

#include "tenon/ops.h"

namespace tenon {

// From a weight to what it becomes, of the same type; empty: it stays as it is.
struct Constraint {
  std::function<Tensor(Tensor weight)> project = {};
};

struct MaxNormOptions {
  double max_value = 2;
  Ints axis = {0};
};
// w min(norm, max_value) / (norm + 1e-7).
Constraint MaxNorm(const MaxNormOptions& options = {});
// w, or 0 below 0.
Constraint NonNeg();
struct UnitNormOptions {
  Ints axis = {0};
};
// w / (norm + 1e-7).
Constraint UnitNorm(const UnitNormOptions& options = {});
struct MinMaxNormOptions {
  double min_value = 0, max_value = 1;
  double rate = 1;  // 0 to 1: how far norms are moved into the range at each update
  Ints axis = {0};
};
// w (rate clip(norm, min_value, max_value) + (1 - rate) norm) / (norm + 1e-7).
Constraint MinMaxNorm(const MinMaxNormOptions& options = {});

// Keeps a variable to it from its next update on.
void constrain(Tensor variable, const Constraint& constraint);

}  // namespace tenon

#include "tenon/constraints.h"

#include "base/number.h"
#include "base/strings.h"
#include "graph/graph.h"

namespace tenon {
namespace {

using OfNorm = std::function<Tensor(Tensor norm)>;

// w wanted(norm) / (norm + 1e-7).
Constraint of_norm(const Ints& axis, OfNorm wanted) {
  return {[axis, wanted = std::move(wanted)](Tensor w) {
    const Tensor norm = sqrt(reduce_sum(square(w), axis, true));
    return w * (wanted(norm) / (norm + 1e-7));
  }};
}

}  // namespace

Constraint MaxNorm(const MaxNormOptions& o) {
  expect_number("max_norm: max_value", o.max_value, 0);
  return of_norm(o.axis, [most = o.max_value](Tensor norm) { return clamp(norm, 0, most); });
}

Constraint NonNeg() {
  return {[](Tensor w) { return maximum(w, scalar_like(w, 0)); }};
}

Constraint UnitNorm(const UnitNormOptions& o) {
  return of_norm(o.axis, [](Tensor norm) { return full_like(norm, 1); });
}

Constraint MinMaxNorm(const MinMaxNormOptions& o) {
  expect_number("min_max_norm: min_value", o.min_value, 0);
  expect_number("min_max_norm: max_value", o.max_value, o.min_value);
  if (!(o.rate >= 0 && o.rate <= 1)) fail("min_max_norm: rate is ", o.rate, ", expected 0 to 1");
  return of_norm(o.axis, [o](Tensor norm) {
    const Tensor inside = clamp(norm, o.min_value, o.max_value);
    return o.rate == 1 ? inside : inside * o.rate + norm * (1 - o.rate);
  });
}

void constrain(Tensor variable, const Constraint& constraint) {
  if (!variable) fail("constrain: a tensor that was never set is given");
  Graph& graph = *variable.graph();
  graph.variables[static_cast<size_t>(variable_index("constrain", variable))].constraint = constraint.project;
}

}  // namespace tenon

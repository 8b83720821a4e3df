// Penalties on weights and activations.
#include "layer/object/layer_scope.h"
#include "op/bounded.h"

namespace tenon {
namespace {

// Rows of Euclidean norm 1, or 0 where they are 0.
Tensor normalized_rows(Tensor w) {
  const Tensor squares = reduce_sum(square(w), {1}, true);
  return w / sqrt(maximum(squares, scalar_like(squares, 1e-12)));
}

Tensor mean_cosine(Tensor w, double factor, bool columns) {
  if (w.rank() != 2) fail("OrthogonalRegularizer: the weight is ", w.type().str(), ", expected rank 2");
  const Tensor rows = normalized_rows(columns ? transpose(w, {1, 0}) : w);
  const int64_t n = rows.dim(0);
  if (n < 2) fail("OrthogonalRegularizer: ", w.type().str(), " has one of what should be orthogonal to each other");
  const Tensor each = abs(dot(rows, rows, {.tb = true})), i = iota(*w.graph(), DType::kI32, each.shape(), 0);
  const Tensor other = compare(i, iota(*w.graph(), DType::kI32, each.shape(), 1), CompareKind::kNe);
  return reduce_sum(select(other, each, scalar_like(each, 0))) * (factor / static_cast<double>(n * (n - 1)));
}

}  // namespace

Regularizer OrthogonalRegularizer(double factor, const std::string& mode) {
  expect_number("OrthogonalRegularizer: factor", factor, 0);
  if (mode != "rows" && mode != "columns")
    fail("OrthogonalRegularizer: mode is '", mode, "', expected 'rows' or 'columns'");
  return {.own = [=](Tensor w) { return mean_cosine(w, factor, mode == "columns"); }};
}

void add_penalty(std::string_view what, Tensor x, const Regularizer& r, Share share) {
  expect_number(cat("the l1 regularizer of ", what), r.l1, 0);
  expect_number(cat("the l2 regularizer of ", what), r.l2, 0);
  const Tensor wide = cast(x, DType::kF32);
  const auto add = [&](Tensor term, double factor) {
    add_loss(share == Share::kExample ? term * inverse_count(x, {0}, wide, factor) : term * factor);
  };
  if (r.l1 != 0) add(reduce_sum(abs(wide)), r.l1);
  if (r.l2 != 0) add(reduce_sum(square(wide)), r.l2);
  if (!r.own) return;
  const Tensor own = r.own(wide);
  if (!own || own.rank() != 0 || !is_float(own.dtype()))
    fail("the regularizer of ", what, " gave ", own ? own.type().str() : "nothing", ", expected a float scalar");
  add(cast(own, DType::kF32), 1);
}

}  // namespace tenon

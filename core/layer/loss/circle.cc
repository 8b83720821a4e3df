// The circle loss, in distances 1 - cosine as Keras has it.
#include "base/number.h"
#include "layer/loss/loss_parts.h"
#include "op/rules.h"

namespace tenon {
namespace {

constexpr const char* kCircle = "circle";
constexpr double kNothing = -1e9;  // log of nothing; infinity would make gradients NaN

Tensor of_all_units(Tensor x) { return x.graph()->replicas == 1 ? x : all_gather(x, 0); }

// log of the sum of exp over each row's elements that count.
Tensor log_sum(Tensor x, Tensor counts) {
  const Tensor kept = select(counts, x, full_like(x, kNothing));
  const Tensor most = stop_gradient(reduce_max(kept, {1}, true));
  return log(reduce_sum(exp(kept - most), {1})) + reshape(most, {x.dim(0)});
}

struct Embedded {
  Tensor classes, points;  // i32[B], [B,D]
};

Embedded checked(Tensor y_true, Tensor y_pred) {
  if (!y_true || !y_pred) fail(kCircle, ": labels or embeddings were never set");
  if (y_pred.rank() != 2 || !is_float(y_pred.dtype()) || y_pred.elements() < 1)
    fail(kCircle, ": embeddings are ", y_pred.type().str(), ", expected floats [batch, size]");
  const int64_t batch = y_pred.dim(0);
  const bool column = y_true.rank() == 2 && y_true.dim(1) == 1;
  const Tensor classes = as_indices(y_true);
  if (!(y_true.rank() == 1 || column) || y_true.dim(0) != batch || !is_integer(classes.dtype()))
    fail(kCircle, ": labels are ", y_true.type().str(), ", expected integers [", batch, "]");
  return {cast(reshape(classes, {batch}), DType::kI32), widened(y_pred)};
}

// Whether a pair is an example and itself: bool[B,R].
Tensor same_example(Tensor like) {
  Graph& graph = *like.graph();
  const Tensor column = iota(graph, DType::kI32, like.shape(), 1);
  Tensor row = iota(graph, DType::kI32, like.shape(), 0);
  if (graph.replicas > 1) {
    const Tensor unit = replica_id(graph);
    row = row + unit * scalar_like(unit, static_cast<double>(like.dim(0)));
  }
  return compare(row, column, CompareKind::kEq);
}

}  // namespace

Tensor circle(Tensor y_true, Tensor y_pred, const CircleOptions& o) {
  expect_number(cat(kCircle, ": gamma"), o.gamma, 0);
  expect_number(cat(kCircle, ": margin"), o.margin);
  const Embedded own = checked(y_true, y_pred);
  const Embedded all{of_all_units(own.classes), of_all_units(own.points)};
  const DotOptions by_rows{.tb = true, .precision = MathPrecision::kHighest};
  const Tensor cosine = dot(own.points, all.points, by_rows);
  const auto positive = [](Tensor x) { return maximum(x, scalar_like(x, 0)); };
  const Tensor distance = positive(1.0 - cosine);
  const Shape& pairs = distance.shape();
  const Tensor a = broadcast(own.classes, pairs, {0}), b = broadcast(all.classes, pairs, {1});
  Tensor same = compare(a, b, CompareKind::kEq);
  if (o.remove_diagonal) same = select(same_example(distance), full(*distance.graph(), DType::kBool, pairs, 0), same);
  const Tensor near = positive(distance + o.margin) * (distance - o.margin) * o.gamma;
  const Tensor far = positive((1 + o.margin) - distance) * ((1 - o.margin) - distance) * o.gamma;
  const Tensor other = compare(a, b, CompareKind::kNe);
  const Tensor each = activation(log_sum(near, same) + log_sum(far, other), Activation::kSoftplus);
  const Tensor counted = cast(compare(each, scalar_like(each, 0), CompareKind::kGt), DType::kF32);
  return losses::reduced(kCircle, each, losses::common(o), counted);
}

}  // namespace tenon

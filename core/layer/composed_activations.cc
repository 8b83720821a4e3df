// Activations that are made of ops: none of them is fused into another.
#include "layer/composed_activations.h"

#include <array>

#include "base/strings.h"
#include "layer/object/masks.h"
#include "tenon/activations.h"
#include "tenon/layer_classes.h"

namespace tenon {
namespace {

Tensor above(Tensor x, double limit) { return compare(x, scalar_like(x, limit), CompareKind::kGt); }

Tensor zero_like(Tensor x) { return scalar_like(x, 0); }

// Moves the axis to the end, and back: the sort op takes the last one.
Tensor with_last(Tensor x, int64_t axis) {
  Ints perm(static_cast<size_t>(x.rank()));
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  return transpose(x, perm);
}

int64_t checked_axis(const char* name, Tensor x, int64_t axis) {
  const int64_t rank = x.rank(), at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) fail(name, ": axis is ", axis, ", expected one of the ", rank, " of ", x.type().str());
  return at;
}

using OfOne = Tensor (*)(Tensor);
struct Named {
  std::string_view name;
  OfOne function;
};

constexpr std::array kNamed{
    Named{"celu", [](Tensor x) { return celu(x); }},
    Named{"exponential", exponential},
    Named{"glu", [](Tensor x) { return glu(x); }},
    Named{"hard_shrink", [](Tensor x) { return hard_shrink(x); }},
    Named{"hard_tanh", hard_tanh},
    Named{"log_sigmoid", log_sigmoid},
    Named{"log_softmax", [](Tensor x) { return log_softmax(x); }},
    Named{"soft_shrink", [](Tensor x) { return soft_shrink(x); }},
    Named{"softmax", [](Tensor x) { return softmax(x); }},
    Named{"softsign", softsign},
    Named{"sparse_plus", sparse_plus},
    Named{"sparse_sigmoid", sparse_sigmoid},
    Named{"sparsemax", [](Tensor x) { return sparsemax(x); }},
    Named{"squareplus", [](Tensor x) { return squareplus(x); }},
    Named{"tanh_shrink", tanh_shrink},
};

}  // namespace

OfOne composed_activation(std::string_view name) {
  for (const Named& each : kNamed)
    if (each.name == name) return each.function;
  return nullptr;
}

Tensor celu(Tensor x, double alpha) {
  if (!(alpha > 0)) fail("celu: alpha is ", alpha, ", expected more than 0");
  return with_mask_of(x, select(above(x, 0), x, expm1(x / alpha) * alpha));
}

Tensor exponential(Tensor x) { return with_mask_of(x, exp(x)); }

Tensor glu(Tensor x, int64_t axis) {
  const int64_t at = checked_axis("glu", x, axis), size = x.dim(static_cast<int>(at));
  if (size % 2 != 0)
    fail("glu: axis ", axis, " of ", x.type().str(), " has ", size, " places, expected an even number");
  const auto rank = static_cast<size_t>(x.rank());
  Ints start(rank, 0), limit = x.shape().vec();
  limit[static_cast<size_t>(at)] = size / 2;
  const Tensor value = slice(x, start, limit, Ints(rank, 1));
  start[static_cast<size_t>(at)] = size / 2;
  limit[static_cast<size_t>(at)] = size;
  return value * sigmoid(slice(x, start, limit, Ints(rank, 1)));
}

Tensor hard_shrink(Tensor x, double threshold) {
  return with_mask_of(x, select(above(abs(x), threshold), x, zero_like(x)));
}

Tensor hard_tanh(Tensor x) {
  const Tensor low =
      select(above(-x, 1), scalar_like(x, -1), x);  // the slope is 1 at both ends, where clamp's is a half
  return with_mask_of(x, select(above(x, 1), scalar_like(x, 1), low));
}

Tensor log_sigmoid(Tensor x) { return with_mask_of(x, -softplus(-x)); }

Tensor soft_shrink(Tensor x, double threshold) {
  const Tensor low = select(above(-x, threshold), x + threshold, zero_like(x));
  return with_mask_of(x, select(above(x, threshold), x - threshold, low));
}

Tensor softsign(Tensor x) { return with_mask_of(x, x / (abs(x) + 1)); }

Tensor sparse_plus(Tensor x) {
  const Tensor low = select(above(x, -1), square(x + 1) * 0.25, zero_like(x));
  return with_mask_of(x, select(compare(x, scalar_like(x, 1), CompareKind::kGe), x, low));
}

Tensor sparse_sigmoid(Tensor x) {
  const Tensor low = select(above(x, -1), (x + 1) * 0.5, zero_like(x));
  return with_mask_of(x, select(compare(x, scalar_like(x, 1), CompareKind::kGe), scalar_like(x, 1), low));
}

// The largest of the sorted sums that keep their last value above the threshold say how many places are not 0.
Tensor sparsemax(Tensor x, int64_t axis) {
  const int64_t at = checked_axis("sparsemax", x, axis);
  const Tensor rows = with_last(x, at);
  const int64_t size = rows.dim(-1), last = rows.rank() - 1;
  const Tensor sorted = sort(rows, size, true).values, sums = cumsum(sorted, last);
  const Tensor count = iota(*x.graph(), x.dtype(), sorted.shape(), last) + 1;
  const Tensor kept = compare(count * sorted + 1, sums, CompareKind::kGt);
  const Tensor places = reduce_sum(cast(kept, x.dtype()), {last}, true);
  const Tensor sum = reduce_sum(select(kept, sorted, zero_like(sorted)), {last}, true);
  const Tensor threshold = broadcast_to((sum - 1) / places, rows.shape());
  return with_mask_of(x, with_last(maximum(rows - threshold, zero_like(rows)), at));
}

Tensor squareplus(Tensor x, double b) { return with_mask_of(x, (x + sqrt(square(x) + b)) * 0.5); }

Tensor tanh_shrink(Tensor x) { return with_mask_of(x, x - tanh(x)); }

Tensor threshold(Tensor x, double threshold, double default_value) {
  return with_mask_of(x, select(above(x, threshold), x, scalar_like(x, default_value)));
}

Tensor thresholded_relu(Tensor x, double theta) {
  if (!(theta >= 0)) fail("thresholded_re_lu: theta is ", theta, ", expected 0 or more");
  return threshold(x, theta, 0);
}

}  // namespace tenon

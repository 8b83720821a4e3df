// R: y = identity; for i: y[drop(i)] = f(y, x[i]). And sort.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "conformance/reference/ops.h"

namespace tenon::reference {
namespace {

template <class T>
T identity(int32_t kind, T lowest, T highest) {
  switch (kind) {
    case TENON_REDUCE_SUM:
      return 0;
    case TENON_REDUCE_PROD:
      return 1;
    case TENON_REDUCE_MAX:
      return lowest;
    case TENON_REDUCE_MIN:
      return highest;
    default:
      throw std::runtime_error("unknown reduce kind");
  }
}

double fold(int32_t kind, double y, double x) {
  switch (kind) {
    case TENON_REDUCE_SUM:
      return y + x;
    case TENON_REDUCE_PROD:
      return y * x;
    case TENON_REDUCE_MAX:
      return larger(y, x);
    default:
      return smaller(y, x);
  }
}

int64_t fold(int32_t kind, int64_t y, int64_t x) {
  switch (kind) {
    case TENON_REDUCE_SUM:
      return wrapping_add(y, x);
    case TENON_REDUCE_PROD:
      return wrapping_mul(y, x);
    case TENON_REDUCE_MAX:
      return std::max(y, x);
    default:
      return std::min(y, x);
  }
}

// Whether element a of x stands before element b, NaN above everything.
bool before(const Tensor& x, int64_t a, int64_t b, bool descending) {
  if (descending) std::swap(a, b);
  if (!is_float(x)) return x.i[a] < x.i[b];
  if (std::isnan(x.f[a])) return false;
  return std::isnan(x.f[b]) || x.f[a] < x.f[b];
}

// The last axis, stable, its first k: the values and, as i32, where they were.
void sort(const NodeView& node, const Operands& in, Results& out) {
  const Tensor& x = *in[0];
  require(!x.dims.empty(), "the operand must have an axis");
  const int64_t n = x.dims.back(), k = node.i64("k");
  const bool descending = node.flag("descending");
  require(k >= 1 && k <= n, "k must lie in 1 .. the last dimension");
  Dims dims = x.dims;
  dims.back() = k;
  Tensor values = zeros(x.dtype, dims), indices = zeros(TENON_I32, dims);
  for (int64_t row = 0; row < elements(x) / n; ++row) {
    std::vector<int64_t> order(n);
    for (int64_t i = 0; i < n; ++i) order[i] = row * n + i;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(x, a, b, descending); });
    for (int64_t i = 0; i < k; ++i) {
      copy(values, row * k + i, x, order[i]);
      indices.i[row * k + i] = order[i] - row * n;
    }
  }
  out = {values, indices};
}

// Drops `axes`. Bool has max (any) and min (all).
void reduce(const NodeView& node, const Operands& in, Results& out) {
  const Tensor& x = *in[0];
  const int32_t kind = node.enumerator("kind");
  std::vector<bool> dropped(x.dims.size());
  for (int64_t axis : list(node, "axes")) dropped.at(axis) = true;
  Dims dims;
  for (size_t d = 0; d < x.dims.size(); ++d) {
    if (!dropped[d]) dims.push_back(x.dims[d]);
  }
  Tensor y = zeros(x.dtype, dims);
  const double infinity = std::numeric_limits<double>::infinity();
  for (double& v : y.f) v = identity(kind, -infinity, infinity);
  // The widest integers serve every width: each element replaces them.
  for (int64_t& v : y.i) v = identity(kind, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  Index i(x.dims.size());
  do {
    Index kept;
    for (size_t d = 0; d < i.size(); ++d) {
      if (!dropped[d]) kept.push_back(i[d]);
    }
    const int64_t to = offset(kept, y.dims), from = offset(i, x.dims);
    if (is_float(x)) {
      y.f[to] = fold(kind, y.f[to], x.f[from]);
    } else {
      y.i[to] = wrap(y.dtype, fold(kind, y.i[to], x.i[from]));
    }
  } while (next(i, x.dims));
  out = {y};
}

constexpr Primitive kReductionPrimitives[] = {{"sort", sort}, {"reduce", reduce}};

}  // namespace

Span<Primitive> reduction_primitives() { return {kReductionPrimitives, std::size(kReductionPrimitives)}; }

}  // namespace tenon::reference

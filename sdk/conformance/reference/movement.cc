// V: y[i] = x[src(i)] or a fill. Nothing is computed, so results are exact.
#include <iterator>

#include "conformance/reference/ops.h"

namespace tenon::reference {
namespace {

// The axes of gather's y[b, p, j, s] = x[b, p, i[b, j], s].
struct GatherAxes {
  size_t batch, axis;  // b: the first `batch` axes; p: from there to `axis`; s: after it
  size_t n_j;          // axes of i after its batch
};

GatherAxes gather_axes(const NodeView& node, const Tensor& x, const Tensor& i) {
  const size_t axis = axis_of(node, x.dims.size());
  const size_t batch = static_cast<size_t>(node.i64("batch"));
  require(!is_float(i), "the indices must be integers");
  require(batch <= axis && batch <= i.dims.size(), "batch must not pass axis or the rank of the indices");
  for (size_t d = 0; d < batch; ++d) require(x.dims[d] == i.dims[d], "batch dimensions differ");
  return {batch, axis, i.dims.size() - batch};
}

// x[:axis] + i[batch:] + x[axis+1:]
Dims gathered_dims(const GatherAxes& g, const Tensor& x, const Tensor& i) {
  Dims dims(x.dims.begin(), x.dims.begin() + g.axis);
  dims.insert(dims.end(), i.dims.begin() + g.batch, i.dims.end());
  dims.insert(dims.end(), x.dims.begin() + g.axis + 1, x.dims.end());
  return dims;
}

// For [b, p, j, s] the position [b, p, i[b, j], s] in x, which may lie outside.
Index gathered_index(const GatherAxes& g, const Tensor& i, const Index& bpjs) {
  Index bj(bpjs.begin(), bpjs.begin() + g.batch);
  bj.insert(bj.end(), bpjs.begin() + g.axis, bpjs.begin() + g.axis + g.n_j);
  Index at(bpjs.begin(), bpjs.begin() + g.axis);
  at.push_back(i.i[offset(bj, i.dims)]);
  at.insert(at.end(), bpjs.begin() + g.axis + g.n_j, bpjs.end());
  return at;
}

// pad's value, an f64 or an i64 attribute (which alone can name every i64).
void fill_with_value(const NodeView& node, Tensor& y) {
  const tenon_attr* value = node.find("value");
  if (!value) return;
  const bool is_f64 = value->type == TENON_ATTR_F64;
  const double as_float = is_f64 ? node.f64("value") : static_cast<double>(node.i64("value"));
  const int64_t as_int = is_f64 ? to_integer(y.dtype, as_float) : wrap(y.dtype, node.i64("value"));
  for (double& v : y.f) v = as_float;
  for (int64_t& v : y.i) v = as_int;
}

// y[i] = i[axis]
void iota(const NodeView& node, const Operands&, Results& out) {
  Tensor y = zeros(node.enumerator("dtype"), list(node, "shape"));
  const size_t axis = axis_of(node, y.dims.size());
  Index i(y.dims.size());
  do {
    const int64_t at = offset(i, y.dims);
    if (is_float(y)) {
      y.f[at] = static_cast<double>(i[axis]);
    } else {
      y.i[at] = wrap(y.dtype, i[axis]);
    }
  } while (next(i, y.dims));
  out = {y};
}

// Same row-major order.
void reshape(const NodeView& node, const Operands& in, Results& out) {
  Tensor y = *in[0];
  y.dims = list(node, "shape");
  require(elements(y) == elements(*in[0]), "the number of elements changes");
  out = {y};
}

// y.dim[d] = x.dim[perm[d]]
void transpose(const NodeView& node, const Operands& in, Results& out) {
  const Tensor& x = *in[0];
  const Dims perm = list(node, "perm", x.dims.size(), 0);
  Dims dims;
  std::vector<bool> seen(perm.size());
  for (int64_t p : perm) {
    require(p >= 0 && p < static_cast<int64_t>(perm.size()) && !seen[p], "perm must name each axis once");
    seen[p] = true;
    dims.push_back(x.dims[p]);
  }
  Tensor y = zeros(x.dtype, dims);
  Index i(dims.size()), from(dims.size());
  do {
    for (size_t d = 0; d < dims.size(); ++d) from[perm[d]] = i[d];
    copy(y, offset(i, y.dims), x, offset(from, x.dims));
  } while (next(i, y.dims));
  out = {y};
}

// x.dim[d], equal or 1, becomes y.dim[dims[d]].
void broadcast(const NodeView& node, const Operands& in, Results& out) {
  const Tensor& x = *in[0];
  const Dims dims = list(node, "dims", x.dims.size(), 0);
  Tensor y = zeros(x.dtype, list(node, "shape"));
  for (size_t d = 0; d < dims.size(); ++d) {
    require(d == 0 || dims[d] > dims[d - 1], "dims must increase");
    require(x.dims[d] == 1 || x.dims[d] == y.dims.at(dims[d]), "a dimension is neither equal nor 1");
  }
  Index i(y.dims.size()), from(x.dims.size());
  do {
    for (size_t d = 0; d < dims.size(); ++d) from[d] = x.dims[d] == 1 ? 0 : i[dims[d]];
    copy(y, offset(i, y.dims), x, offset(from, x.dims));
  } while (next(i, y.dims));
  out = {y};
}

// Positions start, start + stride, .. below limit.
void slice(const NodeView& node, const Operands& in, Results& out) {
  const Tensor& x = *in[0];
  const size_t rank = x.dims.size();
  const Dims start = list(node, "start", rank, 0), limit = list(node, "limit", rank, 0);
  const Dims stride = list(node, "stride", rank, 1);
  Dims dims(rank);
  for (size_t d = 0; d < rank; ++d) {
    require(stride[d] >= 1 && start[d] >= 0 && start[d] < limit[d] && limit[d] <= x.dims[d], "bad slice bounds");
    dims[d] = (limit[d] - start[d] + stride[d] - 1) / stride[d];
  }
  Tensor y = zeros(x.dtype, dims);
  Index i(rank), from(rank);
  do {
    for (size_t d = 0; d < rank; ++d) from[d] = start[d] + i[d] * stride[d];
    copy(y, offset(i, y.dims), x, offset(from, x.dims));
  } while (next(i, y.dims));
  out = {y};
}

// `low` values in front, `interior` between neighbours, `high` behind.
void pad(const NodeView& node, const Operands& in, Results& out) {
  const Tensor& x = *in[0];
  const size_t rank = x.dims.size();
  const Dims low = list(node, "low", rank, 0), high = list(node, "high", rank, 0);
  const Dims interior = list(node, "interior", rank, 0);
  Dims dims(rank);
  for (size_t d = 0; d < rank; ++d) {
    require(interior[d] >= 0 && low[d] >= 0 && high[d] >= 0, "negative padding");
    dims[d] = low[d] + x.dims[d] + (x.dims[d] - 1) * interior[d] + high[d];
  }
  Tensor y = zeros(x.dtype, dims);
  fill_with_value(node, y);
  Index i(rank), to(rank);
  do {
    for (size_t d = 0; d < rank; ++d) to[d] = low[d] + i[d] * (interior[d] + 1);
    copy(y, offset(to, y.dims), x, offset(i, x.dims));
  } while (next(i, x.dims));
  out = {y};
}

// The operands one after the other along `axis`.
void concat(const NodeView& node, const Operands& in, Results& out) {
  require(!in.empty(), "no operands");
  Dims dims = in[0]->dims;
  const size_t axis = axis_of(node, dims.size());
  for (size_t k = 1; k < in.size(); ++k) dims[axis] += in[k]->dims.at(axis);
  Tensor y = zeros(in[0]->dtype, dims);
  int64_t before = 0;
  for (const Tensor* x : in) {
    require(x->dtype == y.dtype, "operands differ in dtype");
    Dims expected = dims;
    expected[axis] = x->dims[axis];
    require(x->dims == expected, "operands differ beside the axis");
    Index i(dims.size());
    do {
      Index to = i;
      to[axis] += before;
      copy(y, offset(to, y.dims), *x, offset(i, x->dims));
    } while (next(i, x->dims));
    before += x->dims[axis];
  }
  out = {y};
}

void reverse(const NodeView& node, const Operands& in, Results& out) {
  const Tensor& x = *in[0];
  Tensor y = zeros(x.dtype, x.dims);
  Index i(x.dims.size());
  do {
    Index from = i;
    for (int64_t axis : list(node, "axes")) from.at(axis) = x.dims[axis] - 1 - i[axis];
    copy(y, offset(i, y.dims), x, offset(from, x.dims));
  } while (next(i, y.dims));
  out = {y};
}

// y[b, p, j, s] = x[b, p, i[b, j], s]; 0 where the index lies outside.
void gather(const NodeView& node, const Operands& in, Results& out) {
  const Tensor &x = *in[0], &i = *in[1];
  const GatherAxes g = gather_axes(node, x, i);
  Tensor y = zeros(x.dtype, gathered_dims(g, x, i));
  Index bpjs(y.dims.size());
  do {
    const Index from = gathered_index(g, i, bpjs);
    if (inside(from, x.dims)) copy(y, offset(bpjs, y.dims), x, offset(from, x.dims));
  } while (next(bpjs, y.dims));
  out = {y};
}

// y = x; in row-major order of [b, p, j, s]: y[b, p, i[b, j], s] += or = u[b, p, j, s]; outside nothing.
void scatter(const NodeView& node, const Operands& in, Results& out) {
  const Tensor &x = *in[0], &i = *in[1], &u = *in[2];
  const GatherAxes g = gather_axes(node, x, i);
  const int32_t kind = node.enumerator("kind");
  require(kind == TENON_SCATTER_ADD || kind == TENON_SCATTER_SET, "unknown scatter kind");
  require(u.dtype == x.dtype, "operands differ in dtype");
  require(u.dims == gathered_dims(g, x, i), "the updates must have gather's shape");
  Tensor y = x;
  Index bpjs(u.dims.size());
  do {
    const Index index = gathered_index(g, i, bpjs);
    if (!inside(index, y.dims)) continue;
    const int64_t to = offset(index, y.dims), from = offset(bpjs, u.dims);
    if (kind == TENON_SCATTER_SET) {
      copy(y, to, u, from);
    } else if (is_float(y)) {
      y.f[to] += u.f[from];
    } else {
      y.i[to] = wrap(y.dtype, wrapping_add(y.i[to], u.i[from]));
    }
  } while (next(bpjs, u.dims));
  out = {y};
}

constexpr Primitive kMovementPrimitives[] = {
    {"iota", iota}, {"reshape", reshape}, {"transpose", transpose}, {"broadcast", broadcast}, {"slice", slice},
    {"pad", pad},   {"concat", concat},   {"reverse", reverse},     {"gather", gather},       {"scatter", scatter}};

}  // namespace

Span<Primitive> movement_primitives() { return {kMovementPrimitives, std::size(kMovementPrimitives)}; }

}  // namespace tenon::reference

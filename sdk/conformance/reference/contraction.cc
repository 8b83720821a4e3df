// Sums of products. `precision` is a licence to err (error_bound.h); the meaning is the exact sum.
#include <functional>
#include <iterator>

#include "conformance/reference/ops.h"

namespace tenon::reference {
namespace {

// The attribute `out`; without one (0) the operands' dtype.
int32_t out_dtype(const NodeView& node, const Tensor& a) {
  const int32_t out = node.enumerator("out");
  return out ? out : a.dtype;
}

void require_floats(const Tensor& a, const Tensor& b) {
  require(is_float(a) && a.dtype == b.dtype, "operands must be floats of one dtype");
}

// The shapes of a convolution y = x * w with n = 1..3 spatial axes:
//   x [N, S.., C]   w [T.., C/G, O]   y [N, P.., O]
struct Conv {
  Dims x, w, y;
  Dims strides, low, dilation;
  int64_t groups;
};

// floor((S + low + high - (T-1) dilation - 1)/stride) + 1
Dims output_size(const NodeView& node, const Dims& size, const Dims& taps) {
  const size_t n = size.size();
  const Dims strides = list(node, "strides", n, 1), dilation = list(node, "dilation", n, 1);
  const Dims low = list(node, "low", n, 0), high = list(node, "high", n, 0);
  Dims result(n);
  for (size_t d = 0; d < n; ++d) {
    const int64_t room = size[d] + low[d] + high[d] - (taps[d] - 1) * dilation[d] - 1;
    require(strides[d] >= 1 && dilation[d] >= 1, "strides and dilation must be at least 1");
    require(room >= 0, "the filter is larger than the padded input");
    result[d] = room / strides[d] + 1;
  }
  return result;
}

Dims spatial(const Dims& batch_spatial_channels) {
  return {batch_spatial_channels.begin() + 1, batch_spatial_channels.end() - 1};
}

Dims shape(int64_t batch, const Dims& size, int64_t channels) {
  Dims dims = {batch};
  dims.insert(dims.end(), size.begin(), size.end());
  dims.push_back(channels);
  return dims;
}

Conv conv_of(const NodeView& node, const Dims& x, const Dims& w, const Dims& y) {
  const size_t n = x.size() - 2;
  Conv c{x,
         w,
         y,
         list(node, "strides", n, 1),
         list(node, "low", n, 0),
         list(node, "dilation", n, 1),
         node.i64("groups", 1)};
  require(n >= 1 && n <= 3, "1 to 3 spatial axes");
  require(w.size() == n + 2 && y.size() == n + 2, "operands differ in rank");
  require(c.groups >= 1 && x.back() == w[n] * c.groups, "the filter's channels times groups must be the input's");
  require(w.back() % c.groups == 0 && w.back() == y.back(), "the filter's outputs must be a multiple of groups");
  const Dims taps(w.begin(), w.begin() + n);
  require(y == shape(x[0], output_size(node, spatial(x), taps), w.back()), "the sizes of x, w and y do not agree");
  return c;
}

// Calls term(position in x, in w, in y) for every product of
//   y[n, o, k] = sum_t,c x[n, o stride + t dilation - low, group(k) C/G + c] w[t, c, k]
// whose x lies inside; outside x is 0.
void for_each_product(const Conv& c, const std::function<void(int64_t, int64_t, int64_t)>& term) {
  const size_t n = c.x.size() - 2;
  Index y(n + 2);
  do {
    const int64_t k = y[n + 1], group = k / (c.w.back() / c.groups);
    const Dims window(c.w.begin(), c.w.end() - 1);  // t and c
    Index w(n + 1), x(n + 2);
    do {
      x[0] = y[0];
      for (size_t d = 0; d < n; ++d) x[d + 1] = y[d + 1] * c.strides[d] + w[d] * c.dilation[d] - c.low[d];
      x[n + 1] = group * c.w[n] + w[n];
      if (inside(x, c.x)) term(offset(x, c.x), offset(w, window) * c.w.back() + k, offset(y, c.y));
    } while (next(w, window));
  } while (next(y, c.y));
}

// y[p, m, n] = sum_k a[p, m, k] b[p, k, n]; ta, tb: that operand's last two axes are swapped.
void dot(const NodeView& node, const Operands& in, Results& out) {
  const Tensor &a = *in[0], &b = *in[1];
  require_floats(a, b);
  const bool ta = node.flag("ta"), tb = node.flag("tb");
  const size_t rank = a.dims.size();
  require(rank >= 2 && b.dims.size() == rank, "operands must have one rank of at least 2");
  const int64_t M = a.dims[rank - (ta ? 1 : 2)], K = a.dims[rank - (ta ? 2 : 1)];
  const int64_t N = b.dims[rank - (tb ? 2 : 1)];
  require(b.dims[rank - (tb ? 1 : 2)] == K, "the summed dimensions differ");
  Dims dims = a.dims;
  dims[rank - 2] = M, dims[rank - 1] = N;
  int64_t P = 1;
  for (size_t d = 0; d + 2 < rank; ++d) {
    require(a.dims[d] == b.dims[d], "batch dimensions differ");
    P *= a.dims[d];
  }
  Tensor y = zeros(out_dtype(node, a), dims);
  for (int64_t p = 0; p < P; ++p)
    for (int64_t m = 0; m < M; ++m)
      for (int64_t n = 0; n < N; ++n)
        for (int64_t k = 0; k < K; ++k)
          y.f[(p * M + m) * N + n] +=
              a.f[p * M * K + (ta ? k * M + m : m * K + k)] * b.f[p * K * N + (tb ? n * K + k : k * N + n)];
  out = {y};
}

void conv(const NodeView& node, const Operands& in, Results& out) {
  const Tensor &x = *in[0], &w = *in[1];
  require_floats(x, w);
  require(x.dims.size() >= 3 && w.dims.size() == x.dims.size(), "operands must have one rank of 3 to 5");
  const Dims taps(w.dims.begin(), w.dims.end() - 2);
  Tensor y = zeros(out_dtype(node, x), shape(x.dims[0], output_size(node, spatial(x.dims), taps), w.dims.back()));
  const Conv c = conv_of(node, x.dims, w.dims, y.dims);
  for_each_product(c, [&](int64_t at_x, int64_t at_w, int64_t at_y) { y.f[at_y] += x.f[at_x] * w.f[at_w]; });
  out = {y};
}

// dx of conv, for an input of spatial size `size`.
void conv_grad_input(const NodeView& node, const Operands& in, Results& out) {
  const Tensor &dy = *in[0], &w = *in[1];
  require_floats(dy, w);
  require(dy.dims.size() >= 3 && w.dims.size() == dy.dims.size(), "operands must have one rank of 3 to 5");
  const int64_t channels = w.dims[w.dims.size() - 2] * node.i64("groups", 1);
  Tensor dx = zeros(out_dtype(node, dy), shape(dy.dims[0], list(node, "size", dy.dims.size() - 2, 0), channels));
  const Conv c = conv_of(node, dx.dims, w.dims, dy.dims);
  for_each_product(c, [&](int64_t at_x, int64_t at_w, int64_t at_y) { dx.f[at_x] += dy.f[at_y] * w.f[at_w]; });
  out = {dx};
}

// dw of conv, for a filter of spatial size `size`.
void conv_grad_filter(const NodeView& node, const Operands& in, Results& out) {
  const Tensor &x = *in[0], &dy = *in[1];
  require_floats(x, dy);
  require(x.dims.size() >= 3 && dy.dims.size() == x.dims.size(), "operands must have one rank of 3 to 5");
  const int64_t groups = node.i64("groups", 1);
  require(groups >= 1, "groups must be at least 1");
  Dims dims = list(node, "size", x.dims.size() - 2, 0);
  dims.push_back(x.dims.back() / groups);
  dims.push_back(dy.dims.back());
  Tensor dw = zeros(out_dtype(node, x), dims);
  const Conv c = conv_of(node, x.dims, dw.dims, dy.dims);
  for_each_product(c, [&](int64_t at_x, int64_t at_w, int64_t at_y) { dw.f[at_w] += x.f[at_x] * dy.f[at_y]; });
  out = {dw};
}

constexpr Primitive kContractionPrimitives[] = {
    {"dot", dot}, {"conv", conv}, {"conv_grad_input", conv_grad_input}, {"conv_grad_filter", conv_grad_filter}};

}  // namespace

Span<Primitive> contraction_primitives() { return {kContractionPrimitives, std::size(kContractionPrimitives)}; }

}  // namespace tenon::reference

// Convolutions in f64: plain loops over the definition.
#include "kernels/conv/conv_halo.h"
#include "kernels/conv/conv_shape.h"
#include "kernels/element/activation.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

Point unflatten(int64_t i, const int64_t* size) {
  return {{i / (size[1] * size[2]), i / size[2] % size[1], i % size[2]}};
}
int64_t flatten(const Point& p, const int64_t* size) { return (p[0] * size[1] + p[1]) * size[2] + p[2]; }

// The point of x that point p of y reads through tap t, or -1.
int64_t source(const ConvShape& s, const Point& p, const Point& t) {
  Point at;
  for (int d = 0; d < 3; ++d) {
    at[d] = p[d] * s.stride[d] + t[d] * s.dilation[d] - s.low[d];
    if (at[d] < 0 || at[d] >= s.x[d]) return -1;
  }
  return flatten(at, s.x);
}

// The point of y that reads point i of x through tap t, or -1.
int64_t reader(const ConvShape& s, const Point& i, const Point& t) {
  Point at;
  for (int d = 0; d < 3; ++d) {
    const int64_t from = i[d] + s.low[d] - t[d] * s.dilation[d];
    if (from < 0 || from % s.stride[d] != 0 || from / s.stride[d] >= s.y[d]) return -1;
    at[d] = from / s.stride[d];
  }
  return flatten(at, s.y);
}

void forward(const ConvShape& s, const Call& call, int64_t r, double* row) {
  const double *x = call.in<double>(0) + r / s.y_points() * s.x_points() * s.c, *w = call.in<double>(1);
  const Point p = unflatten(r % s.y_points(), s.y);
  for (int64_t o = 0; o < s.o; ++o) row[o] = s.bias ? call.in<double>(2)[o] : 0;
  for (int64_t t = 0; t < s.taps(); ++t) {
    const int64_t at = source(s, p, unflatten(t, s.k));
    if (at < 0) continue;
    for (int64_t o = 0; o < s.o; ++o)
      for (int64_t c = 0; c < s.group_c(); ++c)
        row[o] += x[at * s.c + o / s.group_o() * s.group_c() + c] * w[(t * s.group_c() + c) * s.o + o];
  }
  for (int64_t o = 0; o < s.o; ++o)
    row[o] = act_f64(s.act, row[o] + (s.residual ? call.in<double>(3)[r * s.o + o] : 0), s.alpha);
}

void grad_input(const ConvShape& s, const Call& call, int64_t r, double* row) {
  const double *dy = call.in<double>(0) + r / s.x_points() * s.y_points() * s.o, *w = call.in<double>(1);
  const Point i = unflatten(r % s.x_points(), s.x);
  std::fill(row, row + s.c, 0.0);
  for (int64_t t = 0; t < s.taps(); ++t) {
    const int64_t at = reader(s, i, unflatten(t, s.k));
    if (at < 0) continue;
    for (int64_t o = 0; o < s.o; ++o)
      for (int64_t c = 0; c < s.group_c(); ++c)
        row[o / s.group_o() * s.group_c() + c] += dy[at * s.o + o] * w[(t * s.group_c() + c) * s.o + o];
  }
}

void grad_filter(const ConvShape& s, const Call& call, int64_t r, double* row) {
  const double *x = call.in<double>(0), *dy = call.in<double>(1);
  const Point t = unflatten(r / s.group_c(), s.k);
  std::fill(row, row + s.o, 0.0);
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t p = 0; p < s.y_points(); ++p) {
      const int64_t at = source(s, unflatten(p, s.y), t);
      if (at < 0) continue;
      const double* from = x + (n * s.x_points() + at) * s.c + r % s.group_c();
      for (int64_t o = 0; o < s.o; ++o)
        row[o] += from[o / s.group_o() * s.group_c()] * dy[(n * s.y_points() + p) * s.o + o];
    }
}

}  // namespace

Kernel make_conv_f64(const NodeView& node, const ConvShape& s) {
  const auto row_of = node.op() == "conv_grad_input"    ? grad_input
                      : node.op() == "conv_grad_filter" ? grad_filter
                                                        : forward;
  const int64_t n = node.out(0).dim(-1), rows = node.out(0).elements() / n;
  const bool to_f32 = node.out(0).dtype() == TENON_F32;
  Kernel kernel;
  kernel.threads = plugin::kAllThreads;
  kernel.thread_scratch_bytes = static_cast<uint64_t>(n) * sizeof(double);
  kernel.run = [=](const Call& call) {
    double* const row = static_cast<double*>(call.thread_scratch);
    const Slice part = call.share(rows);
    for (int64_t r = part.begin; r < part.end; ++r) {
      row_of(s, call, r, row);
      if (to_f32)
        std::copy(row, row + n, call.out<float>(0) + r * n);
      else
        std::copy(row, row + n, call.out<double>(0) + r * n);
    }
  };
  return kernel;
}

}  // namespace tenon::cpu::TENON_CPU_ISA

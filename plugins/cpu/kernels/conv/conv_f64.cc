#include "kernels/conv/conv_f64.h"

#include "kernels/conv/gather/conv_halo.h"
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

// As ConvData.
struct Operands {
  const double *from, *weights, *bias, *residual;
};

void forward(const ConvShape& s, const Operands& d, int64_t r, double* row) {
  const double *x = d.from + r / s.y_points() * s.x_points() * s.c, *w = d.weights;
  const Point p = unflatten(r % s.y_points(), s.y);
  for (int64_t o = 0; o < s.o; ++o) row[o] = d.bias ? d.bias[o] : 0;
  for (int64_t t = 0; t < s.taps(); ++t) {
    const int64_t at = source(s, p, unflatten(t, s.k));
    if (at < 0) continue;
    for (int64_t o = 0; o < s.o; ++o)
      for (int64_t c = 0; c < s.group_c(); ++c)
        row[o] += x[at * s.c + o / s.group_o() * s.group_c() + c] * w[(t * s.group_c() + c) * s.o + o];
  }
  for (int64_t o = 0; o < s.o; ++o)
    row[o] = act_f64(s.act, row[o] + (d.residual ? d.residual[r * s.o + o] : 0), s.alpha);
}

void grad_input(const ConvShape& s, const Operands& d, int64_t r, double* row) {
  const double *dy = d.from + r / s.x_points() * s.y_points() * s.o, *w = d.weights;
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

void grad_filter(const ConvShape& s, const Operands& d, int64_t r, double* row) {
  const double *x = d.from, *dy = d.weights;
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

ConvWork convolution_f64(const ConvProblem& p) {
  const ConvShape s = p.shape;
  const auto row_of = p.direction == kForward ? forward : p.gradient() ? grad_input : grad_filter;
  const int64_t n = p.gradient() ? s.c : s.o;
  const int64_t rows = p.direction == kForward ? s.batch * s.y_points()
                       : p.gradient()          ? s.batch * s.x_points()
                                               : s.taps() * s.group_c();
  const bool to_f32 = p.result_dtype == TENON_F32;
  const auto doubles = [](const float* of) { return reinterpret_cast<const double*>(of); };
  const auto run = [=](const Call& call, const ConvData& d) {
    double* const row = static_cast<double*>(call.thread_scratch);
    const Operands operands{doubles(d.from), doubles(d.weights), doubles(d.bias), doubles(d.residual)};
    const Slice part = call.share(rows);
    for (int64_t r = part.begin; r < part.end; ++r) {
      row_of(s, operands, r, row);
      if (to_f32)
        std::copy(row, row + n, d.to + r * n);
      else
        std::copy(row, row + n, reinterpret_cast<double*>(d.to) + r * n);
    }
  };
  return {plugin::kAllThreads, 0, static_cast<uint64_t>(n) * sizeof(double), 0, run};
}

}  // namespace tenon::cpu::TENON_CPU_ISA

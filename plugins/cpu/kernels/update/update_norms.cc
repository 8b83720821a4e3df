// lamb (You et al. 2020) and adafactor (Shazeer & Stern 2018): rules that need norms of the whole variable. Sums
// are taken over pieces that the shape decides and added in order, in double.
#include <algorithm>
#include <cmath>

#include "kernels/update/update.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kPiece = 4096;

int64_t pieces_of(int64_t n) { return (n + kPiece - 1) / kPiece; }

// The sum of f(x) over n elements; add(lane, x) adds one to a sum of every sixteenth.
template <class T, class Add>
inline __attribute__((always_inline)) double sum_over(const T* x, int64_t n, Add add) {
  T lane[16] = {}, rest = 0;
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; ++k) add(lane[k], x[i + k]);
  double sum = 0;
  for (; i < n; ++i, rest = 0) add(rest, x[i]), sum += double(rest);
  for (T v : lane) sum += double(v);
  return sum;
}
template <class T>
double sum_squares(const T* x, int64_t n) {
  return sum_over(x, n, [](T& sum, T v) { sum += v * v; });
}
template <class T>
double sum_elements(const T* x, int64_t n) {
  return sum_over(x, n, [](T& sum, T v) { sum += v; });
}

double total(const double* parts, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += parts[i];
  return sum;
}

template <class T>
struct Lamb {
  T c1, c2, eps, unbias_m, unbias_v;

  void moments(const Tensors<T>& t, int64_t from, int64_t n) const {
    const T *g = t.g + from, scale = t.scale;
    T *m = t.s[0] + from, *v = t.s[1] + from;
    const T c1_ = c1, c2_ = c2;
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T G = scaled(scale, g[i]);
      m[i] += c1_ * (G - m[i]);
      v[i] += c2_ * (G * G - v[i]);
    }
  }
  // r[n]
  void direction(const Tensors<T>& t, int64_t from, int64_t n, T* r) const {
    const T *m = t.s[0] + from, *v = t.s[1] + from;
    const T eps_ = eps, um = unbias_m, uv = unbias_v;
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) r[i] = um * m[i] / (std::sqrt(uv * v[i]) + eps_);
  }
};

// ---- adafactor ----

// p as pieces: rows of the last dimension, or runs of kPiece for rank < 2.
template <class T>
struct Adafactor {
  const Update& u;
  const Tensors<T>& t;
  double beta;  // 1 - t^-0.8
  bool factored;
  int64_t pieces, length;
  double *square_p, *square_u;  // [pieces]
  T* column;                    // [batch, columns]

  Adafactor(const Update& update, const Call& call, const Tensors<T>& tensors, double step)
      : u(update), t(tensors), beta(1 - std::pow(step, -0.8)), factored(update.slot[1]) {
    length = factored ? u.matrix_columns : kPiece;
    pieces = (u.n + length - 1) / length;
    square_p = reinterpret_cast<double*>(static_cast<uint8_t*>(call.scratch) + u.extra);
    square_u = square_p + pieces;
    column = reinterpret_cast<T*>(square_u + pieces);
  }
  static constexpr int64_t kAtATime = 1024;
  // The squares of n gradients' elements.
  void squares(int64_t from, int64_t n, T* to) const {
    const T *g = t.g + from, scale = t.scale, eps = T(u.hyper.eps1);
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      const T G = scaled(scale, g[i]);
      to[i] = G * G + eps;
    }
  }
  void directions(int64_t from, int64_t n, T row, const T* v, T* to) const {
    const T *g = t.g + from, scale = t.scale;
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) to[i] = scaled(scale, g[i]) / std::sqrt(row * v[i]);
  }
  T blend(T old, double mean) const { return static_cast<T>(beta * double(old) + (1 - beta) * mean); }
  int64_t begin(int64_t piece) const { return piece * length; }
  int64_t end(int64_t piece) const { return std::min(u.n, (piece + 1) * length); }

  void moments_of_piece(int64_t k) const {
    alignas(64) T some[kAtATime];
    square_p[k] = 0;
    double sum = 0;
    for (int64_t i = begin(k), n; i < end(k); i += n) {
      n = std::min(kAtATime, end(k) - i);
      square_p[k] += sum_squares(t.p + i, n);
      squares(i, n, some);
      if (factored)
        sum += sum_elements(some, n);
      else
        for (int64_t j = 0; j < n; ++j) t.s[0][i + j] = blend(t.s[0][i + j], double(some[j]));
    }
    if (factored) t.s[0][k] = blend(t.s[0][k], sum / double(length));
  }
  // Columns [from, to) of batch b.
  void column_moments(int64_t b, int64_t from, int64_t to) const {
    const int64_t width = u.matrix_columns;
    alignas(64) T some[kAtATime];
    T *const sum = column + b * width, *const c = t.s[1] + b * width;
    for (int64_t j = from, n; j < to; j += n) {
      n = std::min(kAtATime, to - j);
      std::fill_n(sum + j, n, T(0));
      for (int64_t m = 0; m < u.matrix_rows; ++m) {
        squares((b * u.matrix_rows + m) * width + j, n, some);
        for (int64_t i = 0; i < n; ++i) sum[j + i] += some[i];
      }
      for (int64_t i = j; i < j + n; ++i) c[i] = blend(c[i], double(sum[i]) / double(u.matrix_rows));
    }
  }
  double mean_row(int64_t batch) const {
    double sum = 0;
    for (int64_t m = 0; m < u.matrix_rows; ++m) sum += double(t.s[0][batch * u.matrix_rows + m]);
    return sum / double(u.matrix_rows);
  }
  // Calls f(piece, first element, n, directions) for parts of this thread's pieces, in order.
  template <class F>
  void each_direction(Slice s, F f) const {
    alignas(64) T some[kAtATime];
    int64_t batch = -1;
    double mean = 1;
    for (int64_t k = s.begin; k < s.end; ++k) {
      if (factored && k / u.matrix_rows != batch) mean = mean_row(batch = k / u.matrix_rows);
      const T row = factored ? static_cast<T>(double(t.s[0][k]) / mean) : T(1);
      const T* v = factored ? t.s[1] + k / u.matrix_rows * length : t.s[0] + begin(k);
      for (int64_t i = begin(k), n; i < end(k); i += n, v += n) {
        n = std::min(kAtATime, end(k) - i);
        directions(i, n, row, v, some);
        f(k, i, n, some);
      }
    }
  }
};

}  // namespace

uint64_t lamb_scratch(const Update& u) { return static_cast<uint64_t>(pieces_of(u.n)) * 2 * sizeof(double); }

template <class T>
void run_lamb(const Update& u, const Call& call, const Tensors<T>& t, double lr, double step) {
  const Hyper& y = u.hyper;
  const Lamb<T> rule{T(1 - y.b1), T(1 - y.b2), T(y.eps), T(1 / one_minus_power(y.b1, step)),
                     T(1 / one_minus_power(y.b2, step))};
  const int64_t pieces = pieces_of(u.n);
  double* p_parts = reinterpret_cast<double*>(static_cast<uint8_t*>(call.scratch) + u.extra);
  double* r_parts = p_parts + pieces;
  alignas(64) T r[kPiece];
  const Slice s = call.share(pieces);
  for (int64_t k = s.begin; k < s.end; ++k) {
    const int64_t from = k * kPiece, n = std::min(kPiece, u.n - from);
    rule.moments(t, from, n);
    rule.direction(t, from, n, r);
    p_parts[k] = sum_squares(t.p + from, n);
    r_parts[k] = sum_squares(r, n);
  }
  call.barrier();
  const double p_norm = std::sqrt(total(p_parts, pieces)), r_norm = std::sqrt(total(r_parts, pieces));
  const T rate = static_cast<T>(lr * (p_norm == 0 || r_norm == 0 ? 1 : p_norm / r_norm));
  for (int64_t k = s.begin; k < s.end; ++k) {
    const int64_t from = k * kPiece, n = std::min(kPiece, u.n - from);
    rule.direction(t, from, n, r);
    for (int64_t i = 0; i < n; ++i) t.p[from + i] -= rate * r[i];
  }
}

uint64_t adafactor_scratch(const Update& u) {
  const int64_t pieces = u.slot[1] ? u.batch * u.matrix_rows : pieces_of(u.n);
  return static_cast<uint64_t>(pieces * 2 + (u.slot[1] ? u.batch * u.matrix_columns : 0)) * sizeof(double);
}

template <class T>
void run_adafactor(const Update& u, const Call& call, const Tensors<T>& t, double lr, double step) {
  const Adafactor<T> rule(u, call, t, step);
  const Slice s = call.share(rule.pieces);
  for (int64_t k = s.begin; k < s.end; ++k) rule.moments_of_piece(k);
  if (rule.factored) {
    const Slice c = call.share(u.matrix_columns);
    for (int64_t b = 0; b < u.batch; ++b) rule.column_moments(b, c.begin, c.end);
  }
  call.barrier();
  double* const square_u = rule.square_u;
  std::fill(square_u + s.begin, square_u + s.end, 0.0);
  rule.each_direction(s, [=](int64_t k, int64_t, int64_t n, const T* x) { square_u[k] += sum_squares(x, n); });
  call.barrier();
  const double rms_p = std::sqrt(total(rule.square_p, rule.pieces) / double(u.n));
  const double rms_u = std::sqrt(total(rule.square_u, rule.pieces) / double(u.n));
  const double rate = std::max(u.hyper.eps2, rms_p) * std::min(lr, 1 / std::sqrt(step)) / std::max(1.0, rms_u);
  rule.each_direction(s, [&](int64_t, int64_t from, int64_t n, const T* x) {
    T* const p = t.p + from;
    const T by = static_cast<T>(rate);
    TENON_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) p[i] -= by * x[i];
  });
}

template void run_lamb<float>(const Update&, const Call&, const Tensors<float>&, double, double);
template void run_lamb<double>(const Update&, const Call&, const Tensors<double>&, double, double);
template void run_adafactor<float>(const Update&, const Call&, const Tensors<float>&, double, double);
template void run_adafactor<double>(const Update&, const Call&, const Tensors<double>&, double, double);

}  // namespace tenon::cpu::TENON_CPU_ISA

#include <cmath>

#include "isa_test.h"

TENON_WIDE_FAMILY_FIXTURE(Recurrent, add_recurrent)

namespace tenon::testing {
namespace {

struct RecurrentShape {
  int64_t B, T, I, U;
};
const std::vector<RecurrentShape> kRecurrentShapes = {
    {1, 1, 1, 1}, {2, 3, 4, 5}, {7, 6, 3, 8}, {13, 5, 17, 33}, {3, 2, 300, 64}};

// sum over k < n of x[at + k] m[k][column]
double dot(const Floats& x, size_t at, const Floats& m, size_t n, size_t columns, size_t column) {
  double sum = 0;
  for (size_t k = 0; k < n; ++k) sum += static_cast<double>(x[at + k]) * m[k * columns + column];
  return sum;
}
double dot(const Doubles& x, const Floats& m, size_t columns, size_t column) {
  double sum = 0;
  for (size_t k = 0; k < x.size(); ++k) sum += x[k] * m[k * columns + column];
  return sum;
}

TEST_P(Recurrent, LstmEqualsTheCellUnrolled) {
  for (const RecurrentShape& s : kRecurrentShapes) {
    const Floats x = random(s.B * s.T * s.I), h0 = random(s.B * s.U), c0 = random(s.B * s.U);
    const Floats w = random(s.I * 4 * s.U), r = random(s.U * 4 * s.U), b = random(4 * s.U);
    const auto U = static_cast<size_t>(s.U), I = static_cast<size_t>(s.I), T = static_cast<size_t>(s.T);
    Doubles y, c_end, gates;
    for (size_t n = 0; n < static_cast<size_t>(s.B); ++n) {
      Doubles h(h0.begin() + static_cast<int64_t>(n * U), h0.begin() + static_cast<int64_t>(n * U + U));
      Doubles c(c0.begin() + static_cast<int64_t>(n * U), c0.begin() + static_cast<int64_t>(n * U + U));
      for (size_t t = 0; t < T; ++t) {
        Doubles z;
        for (size_t k = 0; k < 4 * U; ++k) {
          const double sum = dot(x, (n * T + t) * I, w, I, 4 * U, k) + dot(h, r, 4 * U, k) + b[k];
          z.push_back(k / U == 2 ? std::tanh(sum) : sigmoid(sum));
        }
        for (size_t k = 0; k < U; ++k) {
          c[k] = z[U + k] * c[k] + z[k] * z[2 * U + k];
          h[k] = z[3 * U + k] * std::tanh(c[k]);
        }
        y.insert(y.end(), h.begin(), h.end());
        gates.insert(gates.end(), z.begin(), z.end());
      }
      c_end.insert(c_end.end(), c.begin(), c.end());
    }
    const Results got = run(3, [&](NodeRun& n) {
      n.in(TENON_F32, {s.B, s.T, s.I}, x)
          .in(TENON_F32, {s.B, s.U}, h0)
          .in(TENON_F32, {s.B, s.U}, c0)
          .in(TENON_F32, {s.I, 4 * s.U}, w)
          .in(TENON_F32, {s.U, 4 * s.U}, r)
          .in(TENON_F32, {4 * s.U}, b)
          .out(TENON_F32, {s.B, s.T, s.U})
          .out(TENON_F32, {s.B, s.U})
          .out(TENON_F32, {s.B, s.T, 4 * s.U})
          .op("lstm");
    });
    expect_near(got.get(0), y, 2e-5);
    expect_near(got.get(1), c_end, 2e-5);
    expect_near(got.get(2), gates, 2e-5);
  }
}

TEST_P(Recurrent, GruResetsAfterTheProduct) {
  for (const RecurrentShape& s : kRecurrentShapes)
    for (int64_t kept : {3, 4}) {
      const Floats x = random(s.B * s.T * s.I), h0 = random(s.B * s.U);
      const Floats w = random(s.I * 3 * s.U), r = random(s.U * 3 * s.U), b = random(3 * s.U), rb = random(3 * s.U);
      const auto U = static_cast<size_t>(s.U), I = static_cast<size_t>(s.I), T = static_cast<size_t>(s.T);
      Doubles y, gates;
      for (size_t n = 0; n < static_cast<size_t>(s.B); ++n) {
        Doubles h(h0.begin() + static_cast<int64_t>(n * U), h0.begin() + static_cast<int64_t>(n * U + U));
        for (size_t t = 0; t < T; ++t) {
          Doubles in, rec, next, step(4 * U);
          for (size_t k = 0; k < 3 * U; ++k) {
            in.push_back(dot(x, (n * T + t) * I, w, I, 3 * U, k) + b[k]);
            rec.push_back(dot(h, r, 3 * U, k) + rb[k]);
          }
          for (size_t k = 0; k < U; ++k) {
            const double z = sigmoid(in[k] + rec[k]), reset = sigmoid(in[U + k] + rec[U + k]), q = rec[2 * U + k];
            const double candidate = std::tanh(in[2 * U + k] + reset * q);
            next.push_back(z * h[k] + (1 - z) * candidate);
            step[k] = z, step[U + k] = reset, step[2 * U + k] = candidate, step[3 * U + k] = q;
          }
          h = next;
          y.insert(y.end(), h.begin(), h.end());
          gates.insert(gates.end(), step.begin(), step.begin() + kept * s.U);
        }
      }
      const Results got = run(2, [&](NodeRun& n) {
        n.in(TENON_F32, {s.B, s.T, s.I}, x)
            .in(TENON_F32, {s.B, s.U}, h0)
            .in(TENON_F32, {s.I, 3 * s.U}, w)
            .in(TENON_F32, {s.U, 3 * s.U}, r)
            .in(TENON_F32, {3 * s.U}, b)
            .in(TENON_F32, {3 * s.U}, rb)
            .out(TENON_F32, {s.B, s.T, s.U})
            .out(TENON_F32, {s.B, s.T, kept * s.U})
            .op("gru");
      });
      expect_near(got.get(0), y, 2e-5);
      expect_near(got.get(1), gates, 3e-5);
    }
}

}  // namespace
}  // namespace tenon::testing

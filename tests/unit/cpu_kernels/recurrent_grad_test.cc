#include <cmath>

#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_recurrent)

namespace tenon::testing {
namespace {

struct RecurrentGradShape {
  size_t B, T, I, U;
};
// Rows of one block and of several, tails of vectors, and so many steps that dW is summed in chunks. Every fourth
// from the first runs on three threads too: large ones.
const std::vector<RecurrentGradShape> kRecurrentGradShapes = {
    {13, 5, 17, 33}, {1, 1, 1, 1}, {2, 3, 4, 5}, {7, 6, 3, 8}, {64, 20, 5, 9}, {3, 2, 300, 64}, {20, 9, 12, 24}};

Doubles wide(const Floats& x) { return Doubles(x.begin(), x.end()); }
Floats rounded(const Doubles& x) { return Floats(x.begin(), x.end()); }

// What goes in. A gru has no c, dc and takes rb.
struct Cell {
  RecurrentGradShape s;
  Doubles x, h, c, w, r, b, rb, dy, dc;
};
struct Steps {
  Doubles y, gates, cells;  // cells [B,T,U] of an lstm
};
struct Gradients {
  Doubles dx, dh, dc, dw, dr, db, drb;
};

// x[row] W[:, column] of a matrix with `columns` columns.
double dot(const double* x, const Doubles& m, size_t n, size_t columns, size_t column) {
  double sum = 0;
  for (size_t k = 0; k < n; ++k) sum += x[k] * m[k * columns + column];
  return sum;
}

Steps lstm(const Cell& p) {
  const auto [B, T, I, U] = p.s;
  Steps out;
  for (size_t n = 0; n < B; ++n)
    for (size_t t = 0; t < T; ++t) {
      const double* h = t ? &out.y[(n * T + t - 1) * U] : &p.h[n * U];
      const double* c = t ? &out.cells[(n * T + t - 1) * U] : &p.c[n * U];
      Doubles z, next, y;
      for (size_t k = 0; k < 4 * U; ++k) {
        const double sum = dot(&p.x[(n * T + t) * I], p.w, I, 4 * U, k) + dot(h, p.r, U, 4 * U, k) + p.b[k];
        z.push_back(k / U == 2 ? std::tanh(sum) : sigmoid(sum));
      }
      for (size_t k = 0; k < U; ++k) {
        next.push_back(z[U + k] * c[k] + z[k] * z[2 * U + k]);
        y.push_back(z[3 * U + k] * std::tanh(next[k]));
      }
      out.cells.insert(out.cells.end(), next.begin(), next.end());
      out.y.insert(out.y.end(), y.begin(), y.end());
      out.gates.insert(out.gates.end(), z.begin(), z.end());
    }
  return out;
}

Steps gru(const Cell& p) {
  const auto [B, T, I, U] = p.s;
  Steps out;
  for (size_t n = 0; n < B; ++n)
    for (size_t t = 0; t < T; ++t) {
      const double* h = t ? &out.y[(n * T + t - 1) * U] : &p.h[n * U];
      Doubles in, rec, step(4 * U), y;
      for (size_t k = 0; k < 3 * U; ++k) {
        in.push_back(dot(&p.x[(n * T + t) * I], p.w, I, 3 * U, k) + p.b[k]);
        rec.push_back(dot(h, p.r, U, 3 * U, k) + p.rb[k]);
      }
      for (size_t k = 0; k < U; ++k) {
        const double z = sigmoid(in[k] + rec[k]), reset = sigmoid(in[U + k] + rec[U + k]), q = rec[2 * U + k];
        const double candidate = std::tanh(in[2 * U + k] + reset * q);
        step[k] = z, step[U + k] = reset, step[2 * U + k] = candidate, step[3 * U + k] = q;
        y.push_back(z * h[k] + (1 - z) * candidate);
      }
      out.y.insert(out.y.end(), y.begin(), y.end());
      out.gates.insert(out.gates.end(), step.begin(), step.end());
    }
  return out;
}

// What one row of one step adds to all the others, from dz, drec = gradients of x W + b, h R + rb: dh += drec R'.
void spread(const Cell& p, size_t at, const double* h, const Doubles& dz, const Doubles& drec, Gradients& g,
            double* dh) {
  const size_t columns = dz.size(), I = p.s.I, U = p.s.U;
  for (size_t k = 0; k < columns; ++k) {
    g.db[k] += dz[k], g.drb[k] += drec[k];
    for (size_t i = 0; i < I; ++i) {
      g.dx[at * I + i] += dz[k] * p.w[i * columns + k];
      g.dw[i * columns + k] += p.x[at * I + i] * dz[k];
    }
    for (size_t u = 0; u < U; ++u) {
      dh[u] += drec[k] * p.r[u * columns + k];
      g.dr[u * columns + k] += h[u] * drec[k];
    }
  }
}

Gradients zeros(const Cell& p) {
  Gradients g;
  g.dx.resize(p.x.size()), g.dh.resize(p.h.size()), g.dc.resize(p.c.size()), g.dw.resize(p.w.size());
  g.dr.resize(p.r.size()), g.db.resize(p.b.size()), g.drb.resize(p.b.size());
  return g;
}

Gradients lstm_gradients(const Cell& p, const Steps& f) {
  const auto [B, T, I, U] = p.s;
  Gradients g = zeros(p);
  g.dc = p.dc;
  for (size_t n = 0; n < B; ++n)
    for (size_t t = T; t-- > 0;) {
      const size_t at = n * T + t;
      const double *z = &f.gates[at * 4 * U], *c = t ? &f.cells[(at - 1) * U] : &p.c[n * U];
      Doubles dz(4 * U);
      for (size_t k = 0; k < U; ++k) {
        const double i = z[k], forget = z[U + k], cell = z[2 * U + k], o = z[3 * U + k];
        const double dh = p.dy[at * U + k] + g.dh[n * U + k], out = std::tanh(f.cells[at * U + k]);
        const double dc = g.dc[n * U + k] + dh * o * (1 - out * out);
        dz[k] = dc * cell * i * (1 - i), dz[U + k] = dc * c[k] * forget * (1 - forget);
        dz[2 * U + k] = dc * i * (1 - cell * cell), dz[3 * U + k] = dh * out * o * (1 - o);
        g.dc[n * U + k] = dc * forget, g.dh[n * U + k] = 0;
      }
      spread(p, at, t ? &f.y[(at - 1) * U] : &p.h[n * U], dz, dz, g, &g.dh[n * U]);
    }
  return g;
}

Gradients gru_gradients(const Cell& p, const Steps& f) {
  const auto [B, T, I, U] = p.s;
  Gradients g = zeros(p);
  for (size_t n = 0; n < B; ++n)
    for (size_t t = T; t-- > 0;) {
      const size_t at = n * T + t;
      const double *gates = &f.gates[at * 4 * U], *h = t ? &f.y[(at - 1) * U] : &p.h[n * U];
      Doubles dz(3 * U), drec(3 * U);
      for (size_t k = 0; k < U; ++k) {
        const double z = gates[k], r = gates[U + k], m = gates[2 * U + k], q = gates[3 * U + k];
        const double dh = p.dy[at * U + k] + g.dh[n * U + k], dm = dh * (1 - z) * (1 - m * m);
        dz[k] = drec[k] = dh * (h[k] - m) * z * (1 - z);
        dz[U + k] = drec[U + k] = dm * q * r * (1 - r);
        dz[2 * U + k] = dm, drec[2 * U + k] = dm * r;
        g.dh[n * U + k] = dh * z;
      }
      spread(p, at, h, dz, drec, g, &g.dh[n * U]);
    }
  return g;
}

// What lstm_grad and gru_grad differentiate: sum of dy y, and of dc c after the last step.
double loss(const Cell& p, const Steps& f) {
  const auto [B, T, I, U] = p.s;
  double sum = 0;
  for (size_t k = 0; k < p.dy.size(); ++k) sum += p.dy[k] * f.y[k];
  for (size_t k = 0; k < p.dc.size(); ++k) sum += p.dc[k] * f.cells[(k / U * T + T - 1) * U + k % U];
  return sum;
}

// Central differences of the loss by every element of one operand.
Doubles slopes(Cell p, Doubles Cell::*operand, Steps (*forward)(const Cell&)) {
  constexpr double kStep = 1e-5;
  Doubles out;
  for (double& v : p.*operand) {
    const double at = v;
    v = at + kStep;
    const double above = loss(p, forward(p));
    v = at - kStep;
    out.push_back((above - loss(p, forward(p))) / (2 * kStep));
    v = at;
  }
  return out;
}

}  // namespace

class RecurrentGrad : public IsaTest {
 protected:
  RecurrentGrad() { TENON_USE_WIDE_FAMILY(add_recurrent); }
  Doubles numbers(size_t n) { return wide(random(static_cast<int64_t>(n))); }
  Cell cell(const RecurrentGradShape& s, size_t gates, bool has_cell) {
    const auto [B, T, I, U] = s;
    Cell p{s,
           numbers(B * T * I),
           numbers(B * U),
           {},
           numbers(I * gates * U),
           numbers(U * gates * U),
           numbers(gates * U),
           numbers(gates * U),
           numbers(B * T * U),
           {}};
    if (has_cell) p.c = numbers(B * U), p.dc = numbers(B * U);
    return p;
  }
  // The results in the order of lstm_grad.
  std::vector<Doubles> run_lstm(const Cell& p, const Steps& f) {
    const RecurrentGradShape& s = p.s;
    const auto B = static_cast<int64_t>(s.B), T = static_cast<int64_t>(s.T), I = static_cast<int64_t>(s.I),
               U = static_cast<int64_t>(s.U);
    return doubles(run(6, [&](NodeRun& n) {
      n.in(TENON_F32, {B, T, U}, rounded(p.dy))
          .in(TENON_F32, {B, U}, rounded(p.dc))
          .in(TENON_F32, {B, T, I}, rounded(p.x))
          .in(TENON_F32, {B, U}, rounded(p.h))
          .in(TENON_F32, {B, U}, rounded(p.c))
          .in(TENON_F32, {I, 4 * U}, rounded(p.w))
          .in(TENON_F32, {U, 4 * U}, rounded(p.r))
          .in(TENON_F32, {4 * U}, rounded(p.b))
          .in(TENON_F32, {B, T, U}, rounded(f.y))
          .in(TENON_F32, {B, T, 4 * U}, rounded(f.gates))
          .out(TENON_F32, {B, T, I})
          .out(TENON_F32, {B, U})
          .out(TENON_F32, {B, U})
          .out(TENON_F32, {I, 4 * U})
          .out(TENON_F32, {U, 4 * U})
          .out(TENON_F32, {4 * U})
          .op("lstm_grad");
    }));
  }
  // The results in the order of gru_grad.
  std::vector<Doubles> run_gru(const Cell& p, const Steps& f) {
    const RecurrentGradShape& s = p.s;
    const auto B = static_cast<int64_t>(s.B), T = static_cast<int64_t>(s.T), I = static_cast<int64_t>(s.I),
               U = static_cast<int64_t>(s.U);
    return doubles(run(6, [&](NodeRun& n) {
      n.in(TENON_F32, {B, T, U}, rounded(p.dy))
          .in(TENON_F32, {B, T, I}, rounded(p.x))
          .in(TENON_F32, {B, U}, rounded(p.h))
          .in(TENON_F32, {I, 3 * U}, rounded(p.w))
          .in(TENON_F32, {U, 3 * U}, rounded(p.r))
          .in(TENON_F32, {3 * U}, rounded(p.b))
          .in(TENON_F32, {3 * U}, rounded(p.rb))
          .in(TENON_F32, {B, T, U}, rounded(f.y))
          .in(TENON_F32, {B, T, 4 * U}, rounded(f.gates))
          .out(TENON_F32, {B, T, I})
          .out(TENON_F32, {B, U})
          .out(TENON_F32, {I, 3 * U})
          .out(TENON_F32, {U, 3 * U})
          .out(TENON_F32, {3 * U})
          .out(TENON_F32, {3 * U})
          .op("gru_grad");
    }));
  }
  static std::vector<Doubles> doubles(const Results& r) {
    std::vector<Doubles> out;
    for (size_t i = 0; i < r.bytes.size(); ++i) out.push_back(wide(r.get(i)));
    return out;
  }
  static void expect_all(const std::vector<Doubles>& got, const std::vector<Doubles>& want, double tolerance) {
    for (size_t i = 0; i < want.size(); ++i) {
      SCOPED_TRACE("result " + std::to_string(i));
      expect_near(got[i], want[i], tolerance);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, RecurrentGrad, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });

TEST_P(RecurrentGrad, LstmGradEqualsALoopBackThroughTime) {
  for (const RecurrentGradShape& s : kRecurrentGradShapes) {
    SCOPED_TRACE("B " + std::to_string(s.B) + " T " + std::to_string(s.T));
    const Cell p = cell(s, 4, true);
    const Steps f = lstm(p);
    const Gradients g = lstm_gradients(p, f);
    expect_all(run_lstm(p, f), {g.dx, g.dh, g.dc, g.dw, g.dr, g.db}, 2e-5);
  }
}

TEST_P(RecurrentGrad, GruGradEqualsALoopBackThroughTime) {
  for (const RecurrentGradShape& s : kRecurrentGradShapes) {
    SCOPED_TRACE("B " + std::to_string(s.B) + " T " + std::to_string(s.T));
    const Cell p = cell(s, 3, false);
    const Steps f = gru(p);
    const Gradients g = gru_gradients(p, f);
    expect_all(run_gru(p, f), {g.dx, g.dh, g.dw, g.dr, g.db, g.drb}, 2e-5);
  }
}

TEST_P(RecurrentGrad, LstmGradIsTheSlopeOfTheForwardCell) {
  const Cell p = cell({3, 4, 2, 5}, 4, true);
  std::vector<Doubles> want;
  for (Doubles Cell::*operand : {&Cell::x, &Cell::h, &Cell::c, &Cell::w, &Cell::r, &Cell::b})
    want.push_back(slopes(p, operand, lstm));
  expect_all(run_lstm(p, lstm(p)), want, 1e-5);
}

TEST_P(RecurrentGrad, GruGradIsTheSlopeOfTheForwardCell) {
  const Cell p = cell({3, 4, 2, 5}, 3, false);
  std::vector<Doubles> want;
  for (Doubles Cell::*operand : {&Cell::x, &Cell::h, &Cell::w, &Cell::r, &Cell::b, &Cell::rb})
    want.push_back(slopes(p, operand, gru));
  expect_all(run_gru(p, gru(p)), want, 1e-5);
}

}  // namespace tenon::testing

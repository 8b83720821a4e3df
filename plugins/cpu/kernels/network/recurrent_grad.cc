// lstm_grad(dy [B,T,U], dc [B,U], x [B,T,I], h, c [B,U], W [I,4U], R [U,4U], b [4U], y [B,T,U], gates [B,T,4U])
//   -> dx [B,T,I], dh, dc0 [B,U], dW [I,4U], dR [U,4U], db [4U]
// gru_grad(dy [B,T,U], x [B,T,I], h [B,U], W [I,3U], R [U,3U], b, rb [3U], y [B,T,U], gates [B,T,4U])
//   -> dx [B,T,I], dh [B,U], dW [I,3U], dR [U,3U], db, drb [3U]
// The steps run backward over a thread's own rows of the batch and leave the gradient dz [B,T,gates U] of
// x W + b and drec of h R + rb (an lstm has one for both). Then dx = dz W', dW = x' dz, dR = before' drec, and
// db, drb are sums of columns: before [B,T,U] is the state that each step started from.
#include "kernels/network/recurrent.h"

#include <algorithm>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/narrow.h"
#include "kernels/gemm/panel_product.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/norm/softmax.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Floats of scratch handed out one after another, in whole cache lines.
struct BackRoom {
  int64_t floats = 0;
  int64_t take(int64_t n) {
    const int64_t at = floats;
    floats += lines(n);
    return at;
  }
};

struct Back {
  int64_t B, T, I, U, columns;           // columns: 4U of an lstm, 3U of a gru
  std::vector<int64_t> h_rows, dz_rows;  // offsets of rows: [B,U], [B,T,columns]
  std::unique_ptr<const Gemm> dx, dw, dr;
  int64_t packed, before, dz, drec, cells, dh, dc, dx_room, dw_room, dr_room;  // where in scratch, in floats
  uint64_t scratch_bytes, thread_scratch_bytes;
};

std::unique_ptr<const Gemm> gemm(int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  GemmShape s;
  s.m = m, s.n = n, s.k = k, s.ta = ta, s.tb = tb;
  return std::make_unique<const Gemm>(s);
}

int64_t floats_of(const Gemm& g) { return static_cast<int64_t>(g.scratch_bytes() / sizeof(float)); }

void lay_out(Back& c, bool lstm) {
  BackRoom room;
  const int64_t steps = c.B * c.T;
  c.packed = room.take(packed_columns(c.U) * c.columns);
  c.before = room.take(steps * c.U);
  c.dz = room.take(steps * c.columns);
  c.drec = lstm ? c.dz : room.take(steps * c.columns);
  c.cells = room.take(lstm ? steps * c.U : 0);
  c.dh = room.take(c.B * c.U);
  c.dc = room.take(lstm ? c.B * c.U : 0);
  c.dx_room = room.take(floats_of(*c.dx));
  c.dw_room = room.take(floats_of(*c.dw));
  c.dr_room = room.take(floats_of(*c.dr));
  c.scratch_bytes = static_cast<uint64_t>(room.floats) * sizeof(float);
  c.thread_scratch_bytes =
      std::max({c.dx->thread_scratch_bytes(), c.dw->thread_scratch_bytes(), c.dr->thread_scratch_bytes()});
}

std::shared_ptr<const Back> back_of(const NodeView& node, int x_operand, bool lstm) {
  const auto x = node.in(x_operand), h = node.in(x_operand + 1);
  auto c = std::make_shared<Back>();
  c->B = x.dim(0), c->T = x.dim(1), c->I = x.dim(2), c->U = h.dim(1), c->columns = (lstm ? 4 : 3) * c->U;
  for (int64_t b = 0; b < c->B; ++b) {
    c->h_rows.push_back(b * c->U);
    c->dz_rows.push_back(b * c->T * c->columns);
  }
  c->dx = gemm(c->B * c->T, c->I, c->columns, false, true);
  c->dw = gemm(c->I, c->columns, c->B * c->T, true, false);
  c->dr = gemm(c->U, c->columns, c->B * c->T, true, false);
  lay_out(*c, lstm);
  return c;
}

// R' [columns,U] in panels; each thread packs every count-th.
void pack_recurrent_transposed(const Call& call, const Back& c, const float* r, float* out) {
  int64_t panel = 0;
  for (int64_t j = 0; j < c.U; ++panel) {
    const int64_t n = panel_columns(c.U - j);
    if (panel % call.count == call.index)
      pack_transposed(r + j * c.columns, n, c.columns, c.columns, out + j * c.columns);
    j += n;
  }
}

// before[b] = h[b], then y[b] but its last step.
void keep_states(const Back& c, const Slice& s, const float* h, const float* y, float* before) {
  const int64_t row = c.T * c.U;
  for (int64_t b = s.begin; b < s.end; ++b) {
    std::copy(h + b * c.U, h + (b + 1) * c.U, before + b * row);
    std::copy(y + b * row, y + (b + 1) * row - c.U, before + b * row + c.U);
  }
}

// dh (+)= d R' for rows [s.begin, s.end) of step t of d [B,T,columns].
void through_state(const Back& c, const Slice& s, int64_t t, const float* d, const float* packed, float* dh,
                   bool accumulate) {
  const auto from = static_cast<size_t>(s.begin);
  Product p{};
  p.a = d + t * c.columns;
  p.a_rows = c.dz_rows.data() + from;
  p.a_step = 1;
  p.depth = p.packed_depth = c.columns;
  p.w = packed;
  p.n = p.cut = c.U;
  p.c = dh;
  p.c_rows = c.h_rows.data() + from;
  p.rows = s.end - s.begin;
  p.accumulate = accumulate;
  multiply(p);
}

// out[j] = sum of m[k][j] over k < rows, in groups of 64 rows.
void sum_columns(const Call& call, const float* m, int64_t rows, int64_t n, float* out) {
  const Slice s = call.share(n, 16);
  for (int64_t j = s.begin; j < s.end; j += 8) {
    f32x8 sum = {};
    for (int64_t k = 0; k < rows; k += 64) {
      f32x8 group = {};
      for (int64_t i = k; i < std::min(rows, k + 64); ++i) group += row8(m + i * n, j, n, 0);
      sum += group;
    }
    put8(out, j, n, sum);
  }
}

struct WeightData {
  const float *x, *w;
  float *dx, *dw, *dr, *db, *drb;  // nullptr: not wanted
};

// After the steps: all threads see all of dz, drec and before.
void weight_gradients(const Call& call, const Back& c, float* room, const WeightData& d) {
  const auto product = [&](const Gemm& g, const float* a, const float* b, float* out, int64_t at) {
    Call own = call;
    own.scratch = room + at;
    if (out) g.run(own, {a, b, nullptr, nullptr, out});
  };
  const float *dz = room + c.dz, *drec = room + c.drec;
  product(*c.dx, dz, d.w, d.dx, c.dx_room);
  product(*c.dw, d.x, dz, d.dw, c.dw_room);
  product(*c.dr, room + c.before, drec, d.dr, c.dr_room);
  if (d.db) sum_columns(call, dz, c.B * c.T, c.columns, d.db);
  if (d.drb) sum_columns(call, drec, c.B * c.T, c.columns, d.drb);
}

// after [T,U] from before [U] and gates [T,4U].
void lstm_cells(const Back& c, const float* before, const float* gates, float* after) {
  for (int64_t t = 0; t < c.T; ++t, before = after, after += c.U, gates += c.columns)
    for (int64_t k = 0; k < c.U; k += 8) {
      const f32x8 i = row8(gates, k, c.U, 0), f = row8(gates + c.U, k, c.U, 0), g = row8(gates + 2 * c.U, k, c.U, 0);
      put8(after, k, c.U, f * row8(before, k, c.U, 0) + i * g);
    }
}

// One row of one step. dc: in, of the cell after; out, of the one before.
void lstm_slopes(int64_t u, const float* dy, const float* dh, const float* gates, const float* before,
                 const float* after, float* dc, float* dz) {
  for (int64_t k = 0; k < u; k += 8) {
    const f32x8 i = row8(gates, k, u, 0), f = row8(gates + u, k, u, 0);
    const f32x8 g = row8(gates + 2 * u, k, u, 0), o = row8(gates + 3 * u, k, u, 0);
    const f32x8 out = vtanh(row8(after, k, u, 0)), d = row8(dy, k, u, 0) + row8(dh, k, u, 0);
    const f32x8 cell = row8(dc, k, u, 0) + d * o * (1.f - out * out);
    put8(dz, k, u, cell * g * i * (1.f - i));
    put8(dz + u, k, u, cell * row8(before, k, u, 0) * f * (1.f - f));
    put8(dz + 2 * u, k, u, cell * i * (1.f - g * g));
    put8(dz + 3 * u, k, u, d * out * o * (1.f - o));
    put8(dc, k, u, cell * f);
  }
}

void lstm_steps(const Call& call, const Back& c, const Slice& s, float* room, float* dh, float* dc) {
  enum { kDy, kDc, kX, kH, kC, kW, kR, kB, kY, kGates };
  const float *dy = call.in(kDy), *first = call.in(kC), *gates = call.in(kGates);
  float *cells = room + c.cells, *dz = room + c.dz;
  keep_states(c, s, call.in(kH), call.in(kY), room + c.before);
  for (int64_t b = s.begin; b < s.end; ++b)
    lstm_cells(c, first + b * c.U, gates + b * c.T * c.columns, cells + b * c.T * c.U);
  std::copy(call.in(kDc) + s.begin * c.U, call.in(kDc) + s.end * c.U, dc + s.begin * c.U);
  std::fill(dh + s.begin * c.U, dh + s.end * c.U, 0.f);
  for (int64_t t = c.T - 1; t >= 0; --t) {
    for (int64_t b = s.begin; b < s.end; ++b) {
      const int64_t step = b * c.T + t;
      lstm_slopes(c.U, dy + step * c.U, dh + b * c.U, gates + step * c.columns,
                  t == 0 ? first + b * c.U : cells + (step - 1) * c.U, cells + step * c.U, dc + b * c.U,
                  dz + step * c.columns);
    }
    through_state(c, s, t, dz, room + c.packed, dh, false);
  }
}

Kernel back_kernel(const Back& c) {
  Kernel k;
  k.threads = threads_for(c.B * c.T * c.U * (c.I + c.U));
  k.scratch_bytes = c.scratch_bytes;
  k.thread_scratch_bytes = c.thread_scratch_bytes;
  return k;
}

Kernel make_lstm_grad(const NodeView& node, const Env&) {
  const auto c = back_of(node, op::lstm_grad::x, true);
  Kernel k = back_kernel(*c);
  k.run = [c](const Call& call) {
    float* const room = static_cast<float*>(call.scratch);
    pack_recurrent_transposed(call, *c, call.in(op::lstm_grad::r), room + c->packed);
    call.barrier();
    const Slice s = call.share(c->B, 6);
    float *dh = call.out(op::lstm_grad::out::dh) ? call.out(op::lstm_grad::out::dh) : room + c->dh,
          *dc = call.out(op::lstm_grad::out::dc0) ? call.out(op::lstm_grad::out::dc0) : room + c->dc;
    if (s.begin < s.end) lstm_steps(call, *c, s, room, dh, dc);
    call.barrier();
    weight_gradients(call, *c, room,
                     {call.in(op::lstm_grad::x), call.in(op::lstm_grad::w), call.out(op::lstm_grad::out::dx),
                      call.out(op::lstm_grad::out::dw), call.out(op::lstm_grad::out::dr),
                      call.out(op::lstm_grad::out::db), nullptr});
  };
  return narrowed(node, std::move(k));
}

// One row of one step. dh: in, of the state after but for dy; out, what of it goes to the one before by z.
void gru_slopes(int64_t u, const float* dy, const float* gates, const float* before, float* dh, float* dz,
                float* drec) {
  for (int64_t k = 0; k < u; k += 8) {
    const f32x8 z = row8(gates, k, u, 0), r = row8(gates + u, k, u, 0);
    const f32x8 n = row8(gates + 2 * u, k, u, 0), q = row8(gates + 3 * u, k, u, 0);
    const f32x8 d = row8(dy, k, u, 0) + row8(dh, k, u, 0);
    const f32x8 for_z = d * (row8(before, k, u, 0) - n) * z * (1.f - z);
    const f32x8 for_n = d * (1.f - z) * (1.f - n * n), for_r = for_n * q * r * (1.f - r);
    put8(dz, k, u, for_z), put8(dz + u, k, u, for_r), put8(dz + 2 * u, k, u, for_n);
    put8(drec, k, u, for_z), put8(drec + u, k, u, for_r), put8(drec + 2 * u, k, u, for_n * r);
    put8(dh, k, u, d * z);
  }
}

void gru_steps(const Call& call, const Back& c, const Slice& s, float* room, float* dh) {
  enum { kDy, kX, kH, kW, kR, kB, kRb, kY, kGates };
  const float *dy = call.in(kDy), *gates = call.in(kGates);
  float *before = room + c.before, *dz = room + c.dz, *drec = room + c.drec;
  keep_states(c, s, call.in(kH), call.in(kY), before);
  std::fill(dh + s.begin * c.U, dh + s.end * c.U, 0.f);
  for (int64_t t = c.T - 1; t >= 0; --t) {
    for (int64_t b = s.begin; b < s.end; ++b) {
      const int64_t step = b * c.T + t;
      gru_slopes(c.U, dy + step * c.U, gates + step * 4 * c.U, before + step * c.U, dh + b * c.U, dz + step * c.columns,
                 drec + step * c.columns);
    }
    through_state(c, s, t, drec, room + c.packed, dh, true);
  }
}

Kernel make_gru_grad(const NodeView& node, const Env&) {
  const auto c = back_of(node, op::gru_grad::x, false);
  Kernel k = back_kernel(*c);
  k.run = [c](const Call& call) {
    float* const room = static_cast<float*>(call.scratch);
    pack_recurrent_transposed(call, *c, call.in(op::gru_grad::r), room + c->packed);
    call.barrier();
    const Slice s = call.share(c->B, 6);
    if (s.begin < s.end)
      gru_steps(call, *c, s, room, call.out(op::gru_grad::out::dh) ? call.out(op::gru_grad::out::dh) : room + c->dh);
    call.barrier();
    weight_gradients(call, *c, room,
                     {call.in(op::gru_grad::x), call.in(op::gru_grad::w), call.out(op::gru_grad::out::dx),
                      call.out(op::gru_grad::out::dw), call.out(op::gru_grad::out::dr), call.out(op::gru_grad::out::db),
                      call.out(op::gru_grad::out::drb)});
  };
  return narrowed(node, std::move(k));
}

plugin::Verdict accept_gradient(const NodeView& node, int operands, int x_operand, int gates) {
  for (int i = 0; i < operands; ++i) {
    if (!node.has(i)) return plugin::refuse("recurrent gradient: operand " + std::to_string(i) + " is missing");
    if (!plugin::is_float(node.in(i).dtype())) return plugin::refuse("recurrent gradient: operands must be float");
    if (node.in(i).dtype() == TENON_F64) return plugin::decompose();
  }
  const auto x = node.in(x_operand), h = node.in(x_operand + 1), kept = node.in(gates);
  const bool fits = x.rank() == 3 && h.rank() == 2 && kept.rank() == 3 && x.dim(1) > 0 && kept.dim(0) == x.dim(0) &&
                    kept.dim(1) == x.dim(1) && kept.dim(2) == 4 * h.dim(1);
  return fits ? plugin::take() : plugin::decompose();
}

}  // namespace

void add_recurrent_grad(KernelTable& table) {
  table.add(
      "lstm_grad", [](const NodeView& n) { return accept_gradient(n, 10, op::lstm_grad::x, op::lstm_grad::gates); },
      make_lstm_grad);
  table.add(
      "gru_grad", [](const NodeView& n) { return accept_gradient(n, 9, op::gru_grad::x, op::gru_grad::gates); },
      make_gru_grad);
}

}  // namespace tenon::cpu::TENON_CPU_ISA

// lstm(x [B,T,I], h, c [B,U], W [I,4U], R [U,4U], b [4U]) -> y [B,T,U], c [B,U], gates [B,T,4U]
//   i f g o = sigmoid sigmoid tanh sigmoid of x W + h R + b; c = f c + i g, h = o tanh(c); gates: i f g o
// gru(x [B,T,I], h [B,U], W [I,3U], R [U,3U], b, rb [3U]) -> y [B,T,U], gates [B,T,3U or 4U]
//   z r = sigmoid of x W + b + h R + rb; n = tanh(x W + b + r (h R + rb)), h = z h + (1 - z) n;
//   gates: z r n, and h R + rb of n where there is room for it
// x W is one product over all steps. The steps then run over a thread's own rows of the batch, so that
// no thread waits for another.
#include "kernels/network/recurrent.h"

#include <algorithm>
#include <memory>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/narrow.h"
#include "kernels/gemm/panel_product.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/norm/softmax.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

using cell_op = op::lstm;  // gru has x and h in the same places

struct Cell {
  int64_t B, T, I, U, gates;                      // gates: 4 of an lstm, 3 of a gru
  int64_t width;                                  // of a step in the result `gates`
  std::vector<int64_t> h_rows, y_rows, sum_rows;  // offsets of rows: [B,U], [B,T,U], where h R goes
  std::unique_ptr<const Gemm> input;              // x W + b

  int64_t columns() const { return gates * U; }
};

std::shared_ptr<Cell> cell_of(const NodeView& node, int64_t gates, int gates_result, bool sums_in_gates) {
  const auto x = node.in(cell_op::x), h = node.in(cell_op::h);
  auto c = std::make_shared<Cell>();
  c->B = x.dim(0), c->T = x.dim(1), c->I = x.dim(2), c->U = h.dim(1), c->gates = gates;
  c->width = node.out(gates_result).dim(-1);
  for (int64_t r = 0; r < c->B; ++r) {
    c->h_rows.push_back(r * c->U);
    c->y_rows.push_back(r * c->T * c->U);
    c->sum_rows.push_back(r * (sums_in_gates ? c->T : 1) * c->columns());
  }
  GemmShape shape;
  shape.m = c->B * c->T, shape.n = c->columns(), shape.k = c->I;
  c->input = std::make_unique<const Gemm>(shape);
  return c;
}

// Each thread packs every count-th panel.
void pack_recurrent(const Call& call, const Cell& c, const float* r, float* out) {
  int64_t panel = 0;
  for (int64_t j = 0; j < c.columns(); ++panel) {
    const int64_t n = panel_columns(c.columns() - j);
    if (panel % call.count == call.index) pack_panels(r + j, c.U, n, c.columns(), c.U, out + j * c.U);
    j += n;
  }
}

// sums (+)= h R for rows [s.begin, s.end); h is the initial one at step 0, then y of the step before.
void add_state(const Cell& c, const Slice& s, int64_t t, const float* h, const float* y, const float* packed,
               float* sums, bool accumulate) {
  const auto from = static_cast<size_t>(s.begin);
  Product p{};
  p.a = t == 0 ? h : y + (t - 1) * c.U;
  p.a_rows = (t == 0 ? c.h_rows : c.y_rows).data() + from;
  p.a_step = 1;
  p.depth = p.packed_depth = c.U;
  p.w = packed;
  p.n = p.cut = c.columns();
  p.c = sums;
  p.c_rows = c.sum_rows.data() + from;
  p.rows = s.end - s.begin;
  p.accumulate = accumulate;
  multiply(p);
}

void lstm_cell(int64_t u, float* gates, float* c, float* y) {
  for (int64_t k = 0; k < u; k += 8) {
    const f32x8 i = vsigmoid(row8(gates, k, u, 0)), f = vsigmoid(row8(gates + u, k, u, 0));
    const f32x8 g = vtanh(row8(gates + 2 * u, k, u, 0)), o = vsigmoid(row8(gates + 3 * u, k, u, 0));
    const f32x8 next = f * row8(c, k, u, 0) + i * g;
    put8(gates, k, u, i), put8(gates + u, k, u, f), put8(gates + 2 * u, k, u, g), put8(gates + 3 * u, k, u, o);
    put8(c, k, u, next);
    put8(y, k, u, o * vtanh(next));
  }
}

Kernel make_lstm(const NodeView& node, const Env&) {
  const auto c = cell_of(node, 4, op::lstm::out::gates, true);
  const int64_t packed = lines(packed_columns(c->columns()) * c->U);
  Kernel k;
  k.threads = threads_for(c->B * c->T * c->U * (c->I + c->U));
  k.scratch_bytes = static_cast<uint64_t>(packed) * 4 + c->input->scratch_bytes();
  k.thread_scratch_bytes = c->input->thread_scratch_bytes();
  k.run = [=](const Call& call) {
    float *r = static_cast<float*>(call.scratch), *y = call.out(op::lstm::out::y), *state = call.out(op::lstm::out::c),
          *gates = call.out(op::lstm::out::gates);
    Call gemm = call;
    gemm.scratch = r + packed;
    c->input->run(gemm, {call.in(op::lstm::x), call.in(op::lstm::w), call.in(op::lstm::b), nullptr, gates});
    pack_recurrent(call, *c, call.in(op::lstm::r), r);
    call.barrier();
    const Slice s = call.share(c->B, 6);
    if (s.begin >= s.end) return;
    std::copy(call.in(op::lstm::c) + s.begin * c->U, call.in(op::lstm::c) + s.end * c->U, state + s.begin * c->U);
    for (int64_t t = 0; t < c->T; ++t) {
      add_state(*c, s, t, call.in(op::lstm::h), y, r, gates + t * c->columns(), true);
      for (int64_t b = s.begin; b < s.end; ++b)
        lstm_cell(c->U, gates + (b * c->T + t) * c->columns(), state + b * c->U, y + (b * c->T + t) * c->U);
    }
  };
  return narrowed(node, std::move(k));
}

// x: x W + b of this step; rec: h R; width 3U or 4U of `gates`.
void gru_cell(int64_t u, const float* x, const float* rec, const float* rb, const float* h, int64_t width, float* gates,
              float* y) {
  for (int64_t k = 0; k < u; k += 8) {
    const auto sum = [&](int64_t gate) { return row8(rec + gate * u, k, u, 0) + row8(rb + gate * u, k, u, 0); };
    const f32x8 z = vsigmoid(row8(x, k, u, 0) + sum(0)), r = vsigmoid(row8(x + u, k, u, 0) + sum(1)), q = sum(2);
    const f32x8 n = vtanh(row8(x + 2 * u, k, u, 0) + r * q), old = row8(h, k, u, 0);
    put8(gates, k, u, z), put8(gates + u, k, u, r), put8(gates + 2 * u, k, u, n);
    if (width == 4 * u) put8(gates + 3 * u, k, u, q);
    put8(y, k, u, n + z * (old - n));
  }
}

// scratch: packed R, x W + b of all steps, h R of one step, the product's own
Kernel make_gru(const NodeView& node, const Env&) {
  const auto c = cell_of(node, 3, op::gru::out::gates, false);
  const int64_t packed = lines(packed_columns(c->columns()) * c->U), steps = lines(c->B * c->T * c->columns());
  const int64_t sums = lines(c->B * c->columns());
  Kernel k;
  k.threads = threads_for(c->B * c->T * c->U * (c->I + c->U));
  k.scratch_bytes = static_cast<uint64_t>(packed + steps + sums) * 4 + c->input->scratch_bytes();
  k.thread_scratch_bytes = c->input->thread_scratch_bytes();
  k.run = [=](const Call& call) {
    float *r = static_cast<float*>(call.scratch), *x = r + packed, *rec = x + steps, *y = call.out(op::gru::out::y);
    Call gemm = call;
    gemm.scratch = rec + sums;
    c->input->run(gemm, {call.in(op::gru::x), call.in(op::gru::w), call.in(op::gru::b), nullptr, x});
    pack_recurrent(call, *c, call.in(op::gru::r), r);
    call.barrier();
    const Slice s = call.share(c->B, 6);
    for (int64_t t = 0; t < c->T && s.begin < s.end; ++t) {
      add_state(*c, s, t, call.in(op::gru::h), y, r, rec, false);
      for (int64_t b = s.begin; b < s.end; ++b) {
        const int64_t step = b * c->T + t;
        gru_cell(c->U, x + step * c->columns(), rec + b * c->columns(), call.in(op::gru::rb),
                 t == 0 ? call.in(op::gru::h) + b * c->U : y + (step - 1) * c->U, c->width,
                 call.out(op::gru::out::gates) + step * c->width, y + step * c->U);
      }
    }
  };
  return narrowed(node, std::move(k));
}

plugin::Verdict accept_cell(const NodeView& node, int64_t gates, int operands, int gates_result) {
  for (int i = 0; i < operands; ++i) {
    if (!node.has(i)) return plugin::refuse("recurrent cell: operand " + std::to_string(i) + " is missing");
    if (!plugin::is_float(node.in(i).dtype())) return plugin::refuse("recurrent cell: operands must be float");
    if (node.in(i).dtype() == TENON_F64) return plugin::decompose();
  }
  const auto x = node.in(cell_op::x), h = node.in(cell_op::h), sums = node.out(gates_result);
  const int64_t u = h.dim(-1), width = sums.dim(-1);
  const bool fits = x.rank() == 3 && h.rank() == 2 && sums.rank() == 3 && sums.dim(0) == x.dim(0) &&
                    (width == gates * u || (gates == 3 && width == 4 * u));
  return fits ? plugin::take() : plugin::decompose();
}

}  // namespace

void add_recurrent(KernelTable& table) {
  table.add(
      "lstm", [](const NodeView& n) { return accept_cell(n, 4, 6, op::lstm::out::gates); }, make_lstm);
  table.add(
      "gru", [](const NodeView& n) { return accept_cell(n, 3, 6, op::gru::out::gates); }, make_gru);
  add_recurrent_grad(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA

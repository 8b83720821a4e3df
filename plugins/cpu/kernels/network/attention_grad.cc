// attention_grad(dy, q, k, v, y, lse, [bias], [seed], [step]) -> dq, dk, dv, [dbias]
//   P = exp(scale q k' + bias - lse), Z = dropout(P); dv = Z' dy, dP = dropout(dy v'),
//   dS = P (dP - sum dy y) = dbias, dq = scale dS k, dk = scale dS' q
// One key head of one example is one piece of work: its dk and dv are added up block of queries by
// block of queries, in order.
#include <algorithm>
#include <cmath>

#include "kernels/gemm/narrow.h"
#include "kernels/network/attention.h"
#include "kernels/norm/softmax.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
void score_probabilities(const Attention& a, const float* bias, float lse, const uint32_t* draws, int64_t n, float* p,
                         float* z) {
  using V = Lanes::Vector;
  for (int64_t i = 0; i < n; i += Lanes::kLanes) {
    V s = row<Lanes>(p, i, n, 0) * a.scale;
    if (bias) s += row<Lanes>(bias, i, n, 0);
    const V e = exp_low(s - lse);
    if (!draws) {
      put<Lanes>(p, i, n, e);
      continue;
    }
    const auto kept = (Lanes::Ints)(load_as<Lanes::Words>(draws + i) >> 8) >= a.threshold;
    put<Lanes>(p, i, n, kept ? e : -e);
    put<Lanes>(z, i, n, kept ? e * a.keep_scale : V{});
  }
}

void score_grads(const Attention& a, float delta, int64_t n, const float* p, float* z, float* dbias) {
  using V = Lanes::Vector;
  using Ints = Lanes::Ints;
  for (int64_t i = 0; i < n; i += Lanes::kLanes) {
    const V e = row<Lanes>(p, i, n, 0), g = row<Lanes>(z, i, n, 0) * a.keep_scale;
    const V size = (V)((Ints)e & 0x7fffffff), d = size * (((Ints)e < 0 ? V{} : g) - delta);
    if (dbias) put<Lanes>(dbias, i, n, d);
    put<Lanes>(z, i, n, d * a.scale);
  }
}

namespace {

// This thread's room.
struct AttentionGradRoom {
  float *k_t, *v_t, *k, *rows, *p, *z;
  uint32_t* words;
  AttentionGradRoom(const Attention& a, void* at) {
    float* next = static_cast<float*>(at);
    const auto take = [&](int64_t floats) {
      float* here = next;
      next += lines(floats);
      return here;
    };
    k_t = take(a.D * packed_columns(a.S));
    v_t = take(a.D * packed_columns(a.S));
    k = take(a.S * packed_columns(a.D));
    rows = take(a.block * packed_columns(a.D));
    p = take(a.block * a.score_step);
    z = take(a.block * a.score_step);
    words = reinterpret_cast<uint32_t*>(take(ScoreDraws::room(a)));
    used = static_cast<uint64_t>(next - static_cast<float*>(at)) * 4;
  }
  uint64_t used;
};

struct AttentionGradPorts {
  const float *dy, *q, *k, *v, *bias, *y, *lse;
  const int64_t *seed, *step;
  float *dq, *dk, *dv, *dbias;
};

// Queries [t, t + rows) of head n add to dk, dv (rows kv_rows apart) and give their dq.
void attend_back(const Attention& a, const AttentionGradPorts& p, const AttentionGradRoom& room, int64_t b, int64_t n,
                 int64_t t, int64_t rows, float* dk, float* dv) {
  const int64_t first = ((b * a.T + t) * a.N + n) * a.D, keys = a.keys(t + rows - 1), D = a.D, S = a.S;
  const int64_t* scores = a.score_rows.data();
  if (keys == 0) {
    for (int64_t r = 0; r < rows; ++r) std::fill_n(p.dq + first + a.q_rows[static_cast<size_t>(r)], D, 0.f);
    return;
  }
  const auto clear_rest = [&](float* row, int64_t seen) { std::fill(row + seen, row + keys, 0.f); };
  multiply({p.q + first, a.q_rows.data(), 1, D, room.k_t, D, S, keys, room.p, scores, rows, false});
  float* z = a.drops() ? room.z : room.p;
  // A query that saw no key, by place or by a bias of -inf, has no gradient.
  const auto seen_by = [&](int64_t r) { return p.lse[(b * a.N + n) * a.T + t + r] == -kInf ? 0 : a.keys(t + r); };
  ScoreDraws draws(a, p.seed, p.step, room.words);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t row = (b * a.N + n) * a.T + t + r, seen = seen_by(r);
    const uint32_t* words = a.drops() ? draws.of_row(row) : nullptr;
    float *pr = room.p + r * a.score_step, *zr = z + r * a.score_step;
    score_probabilities(a, p.bias ? a.bias_at(p.bias, b, n, t + r) : nullptr, p.lse[row], words, seen, pr, zr);
    clear_rest(pr, seen);
    if (a.drops()) clear_rest(zr, seen);
  }
  pack_panels(p.dy + first, rows, D, a.N * D, a.block, room.rows);
  multiply({z, a.unit_rows.data(), a.score_step, rows, room.rows, a.block, D, D, dv, a.kv_rows.data(), keys, true});
  multiply({p.dy + first, a.q_rows.data(), 1, D, room.v_t, D, S, keys, room.z, scores, rows, false});
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = first + a.q_rows[static_cast<size_t>(r)], seen = seen_by(r);
    float* dbias = p.dbias ? p.dbias + ((b * a.N + n) * a.T + t + r) * S : nullptr;
    float* zr = room.z + r * a.score_step;
    score_grads(a, row_dot(p.dy + at, p.y + at, D), seen, room.p + r * a.score_step, zr, dbias);
    if (dbias) std::fill(dbias + seen, dbias + S, 0.f);
    clear_rest(zr, seen);
  }
  multiply({room.z, scores, 1, keys, room.k, S, D, D, p.dq + first, a.q_rows.data(), rows, false});
  pack_panels(p.q + first, rows, D, a.N * D, a.block, room.rows);
  multiply(
      {room.z, a.unit_rows.data(), a.score_step, rows, room.rows, a.block, D, D, dk, a.kv_rows.data(), keys, true});
}

void head_back(const Attention& a, const AttentionGradPorts& p, const AttentionGradRoom& room, int64_t b, int64_t m) {
  const int64_t at = a.kv_at(b, m), step = a.M * a.D, shared = a.N / a.M;
  pack_transposed(p.k + at, a.S, a.D, step, room.k_t);
  pack_transposed(p.v + at, a.S, a.D, step, room.v_t);
  pack_panels(p.k + at, a.S, a.D, step, a.S, room.k);
  for (int64_t s = 0; s < a.S; ++s) {
    std::fill_n(p.dk + at + s * step, a.D, 0.f);
    std::fill_n(p.dv + at + s * step, a.D, 0.f);
  }
  for (int64_t n = m * shared; n < (m + 1) * shared; ++n)
    for (int64_t t = 0; t < a.T; t += a.block) {
      if (p.dbias && a.keys(std::min(t + a.block, a.T) - 1) == 0)
        std::fill_n(p.dbias + ((b * a.N + n) * a.T + t) * a.S, std::min(a.block, a.T - t) * a.S, 0.f);
      attend_back(a, p, room, b, n, t, std::min(a.block, a.T - t), p.dk + at, p.dv + at);
    }
}

Kernel make_attention_grad(const NodeView& node, const Env&) {
  const AttentionRef a = attention_of(node, op::attention_grad::q, op::attention_grad::k, op::attention_grad::bias);
  if (suits_pair_attention(node, *a, 1)) return make_pair_attention_grad(node, a);
  const bool dbias = node.has_result(op::attention_grad::out::dbias);
  Kernel k;
  k.threads = threads_for(a->B * a->N * a->T * (a->S + a->D));
  k.thread_scratch_bytes = AttentionGradRoom(*a, nullptr).used;
  k.run = [=](const Call& call) {
    const AttentionGradRoom room(*a, call.thread_scratch);
    AttentionGradPorts p{call.in(op::attention_grad::dy),
                         call.in(op::attention_grad::q),
                         call.in(op::attention_grad::k),
                         call.in(op::attention_grad::v),
                         a->biased ? call.in(op::attention_grad::bias) : nullptr,
                         call.in(op::attention_grad::y),
                         call.in(op::attention_grad::lse),
                         nullptr,
                         nullptr,
                         call.out(op::attention_grad::out::dq),
                         call.out(op::attention_grad::out::dk),
                         call.out(op::attention_grad::out::dv),
                         dbias ? call.out(op::attention_grad::out::dbias) : nullptr};
    if (a->drops())
      p.seed = call.in<int64_t>(op::attention_grad::seed), p.step = call.in<int64_t>(op::attention_grad::step);
    const Slice s = call.share(a->B * a->M);
    for (int64_t u = s.begin; u < s.end; ++u) head_back(*a, p, room, u / a->M, u % a->M);
  };
  return narrowed(node, std::move(k));
}

plugin::Verdict accept_grad(const NodeView& node) {
  const plugin::Verdict v =
      accept_attention(node, op::attention_grad::q, op::attention_grad::k, op::attention_grad::bias);
  if (v.answer != TENON_TAKE || !node.has_result(op::attention_grad::out::dbias)) return v;
  // A repeated bias gathers from many heads: left to a reduction.
  const auto q = node.in(op::attention_grad::q), bias = node.in(op::attention_grad::bias);
  const bool whole = bias.dim(0) == q.dim(0) && bias.dim(1) == q.dim(2) && bias.dim(2) == q.dim(1);
  return whole ? v : plugin::decompose();
}

}  // namespace

void add_attention_grad(KernelTable& table) { table.add("attention_grad", accept_grad, make_attention_grad); }

}  // namespace tenon::cpu::TENON_CPU_ISA

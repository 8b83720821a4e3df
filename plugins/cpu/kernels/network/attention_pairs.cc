// attention and attention_grad of bf16 (attention.cc, attention_grad.cc have the formulas): products go by pairs, of what lies
// in memory as it is; scores, their softmax and all sums are f32. What goes into a product again, probabilities and dS, is
// rounded once.
#include <algorithm>

#include "kernels/bf16.h"
#include "kernels/dtype.h"
#include "kernels/gemm/tiles/matrix_tile.h"
#include "kernels/gemm/narrow.h"
#include "kernels/network/attention.h"
#include "kernels/norm/softmax.h"
#include "kernels/pairs.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Offsets in words, and of rows of f32 results that lie one after the other.
struct PairAttention {
  AttentionRef a;
  std::vector<int64_t> q_rows, half_rows, own_rows;

  explicit PairAttention(const AttentionRef& of) : a(of) {
    for (int64_t r : a->q_rows) q_rows.push_back(r / 2);
    for (int64_t r : a->score_rows) half_rows.push_back(r / 2);
    for (int64_t r = 0; r < std::max(a->block, a->S); ++r) own_rows.push_back(r * a->D);
  }
};
using PairAttentionRef = std::shared_ptr<const PairAttention>;

// This thread's room. Of the gradient alone: k_rows, v_columns, near, z, dk, dv.
struct PairRoom {
  float *k_columns, *v_rows, *scores, *result;
  float *k_rows, *v_columns, *near, *z, *pairs, *dk, *dv;
  uint16_t* halves;  // rows of scores, rounded
  uint32_t* draws;
  uint64_t used;

  PairRoom(const Attention& a, bool gradient, void* at) {
    float* next = static_cast<float*>(at);
    const auto take = [&](int64_t floats) { return std::exchange(next, next + lines(floats)); };
    const int64_t columns = a.D / 2 * packed_columns(a.S), rows = a.S / 2 * packed_columns(a.D);
    k_columns = take(columns);
    (gradient ? v_columns : v_rows) = take(gradient ? columns : rows);
    scores = take(a.block * a.score_step);
    result = take(a.block * a.D);
    halves = reinterpret_cast<uint16_t*>(take(a.block * a.score_step / 2));
    draws = reinterpret_cast<uint32_t*>(take(ScoreDraws::room(a)));
    if (gradient) {
      k_rows = take(rows);
      near = take(a.block / 2 * packed_columns(a.D));
      z = take(a.block * a.score_step);
      pairs = take(a.block / 2 * a.score_step);
      dk = take(a.S * a.D);
      dv = take(a.S * a.D);
    }
    used = static_cast<uint64_t>(next - static_cast<float*>(at)) * 4;
  }
};

const float* words_at(const uint16_t* x) { return reinterpret_cast<const float*>(x); }

void narrow_rows(const float* from, int64_t rows, int64_t n, int64_t step, uint16_t* to) {
  for (int64_t r = 0; r < rows; ++r) narrow_row(from + r * n, n, to + r * step);
}
// Panels of words of two rows of m [rows, n].
void pack_row_pairs(const uint16_t* m, int64_t rows, int64_t n, int64_t step, int64_t depth, float* out) {
  pair_panels(m, m + step, rows / 2, n, 2 * step, depth, out);
}
// Panels of words of two columns of m [n, columns].
void pack_column_pairs(const uint16_t* m, int64_t n, int64_t columns, int64_t step, float* out) {
  pack_transposed(words_at(m), n, columns / 2, step / 2, out);
}
// The first `seen` of a row of scores, then zeros up to the last word of `keys`.
void round_scores(const float* s, int64_t seen, int64_t keys, uint16_t* to) {
  narrow_row(s, seen, to);
  std::fill(to + seen, to + round_up(keys, 2), uint16_t{0});
}

struct PairPorts {
  const uint16_t *dy, *q, *k, *v, *y;
  const float* bias;
  const int64_t *seed, *step;
  uint16_t *out, *dk, *dv;  // y, or dq
  float *lse, *dbias;
};

// ---- forward ----

// Queries [t, t + rows) of head n.
void attend_pairs(const PairAttention& pa, const PairPorts& p, const PairRoom& room, int64_t b, int64_t n, int64_t t,
                  int64_t rows) {
  const Attention& a = *pa.a;
  const int64_t keys = a.keys(t + rows - 1), first = ((b * a.T + t) * a.N + n) * a.D, step = a.N * a.D;
  if (keys > 0)
    multiply({words_at(p.q + first), pa.q_rows.data(), 1, a.D / 2, room.k_columns, a.D / 2, a.S, keys, room.scores,
              a.score_rows.data(), rows, false, true, has_tile_products()});
  ScoreDraws draws(a, p.seed, p.step, room.draws);
  for (int64_t r = 0; r < rows; ++r) {
    float* s = room.scores + r * a.score_step;
    const int64_t seen = a.keys(t + r), row = (b * a.N + n) * a.T + t + r;
    p.lse[row] = softmax_scores(a, p.bias ? a.bias_at(p.bias, b, n, t + r) : nullptr,
                                a.drops() ? draws.of_row(row) : nullptr, seen, s);
    round_scores(s, seen, keys, room.halves + r * a.score_step);
  }
  if (keys > 0)
    multiply({words_at(room.halves), pa.half_rows.data(), 1, ceil_div(keys, 2), room.v_rows, a.S / 2, a.D, a.D,
              room.result, pa.own_rows.data(), rows, false, true, has_tile_products()});
  else
    std::fill_n(room.result, rows * a.D, 0.f);
  narrow_rows(room.result, rows, a.D, step, p.out + first);
}

void run_pairs(const PairAttention& pa, const PairPorts& p, const Call& call) {
  const Attention& a = *pa.a;
  const PairRoom room(a, false, call.thread_scratch);
  const Slice s = call.share(a.B * a.N * a.blocks);
  int64_t packed = -1;  // the keys and values that lie in the room
  for (int64_t u = s.begin; u < s.end; ++u) {
    const int64_t n = u / a.blocks % a.N, b = u / a.blocks / a.N, t = u % a.blocks * a.block;
    const int64_t m = a.head_of(n), at = a.kv_at(b, m);
    if (packed != b * a.M + m) {
      pack_column_pairs(p.k + at, a.S, a.D, a.M * a.D, room.k_columns);
      pack_row_pairs(p.v + at, a.S, a.D, a.M * a.D, a.S / 2, room.v_rows);
      packed = b * a.M + m;
    }
    attend_pairs(pa, p, room, b, n, t, std::min(a.block, a.T - t));
  }
}

// ---- gradient ----

// Queries [t, t + rows) of head n: what their gradients need.
struct QueryBlock {
  int64_t b, n, t, rows, keys, first;
  int64_t row(const Attention& a, int64_t r) const { return (b * a.N + n) * a.T + t + r; }
  // A query that saw no key, by place or by a bias of -inf, has no gradient.
  int64_t seen(const Attention& a, const float* lse, int64_t r) const {
    return lse[row(a, r)] == -kInf ? 0 : a.keys(t + r);
  }
};

// to [keys, D] += rows of s, transposed, times m [rows, D].
void add_transposed(const PairAttention& pa, const PairRoom& room, const QueryBlock& q, const float* s,
                    const uint16_t* m, float* to) {
  const Attention& a = *pa.a;
  for (int64_t r = 0; r < q.rows; r += 2)
    pair_floats(s + r * a.score_step, s + (r + 1) * a.score_step, q.keys, room.pairs + r / 2 * a.score_step);
  pack_row_pairs(m, q.rows, a.D, a.N * a.D, a.block / 2, room.near);
  multiply({room.pairs, a.unit_rows.data(), a.score_step, q.rows / 2, room.near, a.block / 2, a.D, a.D, to,
            pa.own_rows.data(), q.keys, true, true, has_tile_products()});
}

// scores = P, signed by dropout, and z = dropout(P), which is scores itself where nothing drops.
void block_probabilities(const Attention& a, const PairPorts& p, const PairRoom& room, const QueryBlock& q, float* z) {
  ScoreDraws draws(a, p.seed, p.step, room.draws);
  for (int64_t r = 0; r < q.rows; ++r) {
    const int64_t seen = q.seen(a, p.lse, r);
    const uint32_t* words = a.drops() ? draws.of_row(q.row(a, r)) : nullptr;
    float *pr = room.scores + r * a.score_step, *zr = z + r * a.score_step;
    score_probabilities(a, p.bias ? a.bias_at(p.bias, q.b, q.n, q.t + r) : nullptr, p.lse[q.row(a, r)], words, seen, pr,
                        zr);
    std::fill(pr + seen, pr + q.keys, 0.f);
    if (a.drops()) std::fill(zr + seen, zr + q.keys, 0.f);
  }
}

// z: from dP to scale dS, also rounded.
void block_score_grads(const Attention& a, const PairPorts& p, const PairRoom& room, const QueryBlock& q) {
  for (int64_t r = 0; r < q.rows; ++r) {
    const int64_t at = q.first + r * a.N * a.D, seen = q.seen(a, p.lse, r);
    float* dbias = p.dbias ? p.dbias + q.row(a, r) * a.S : nullptr;
    float* zr = room.z + r * a.score_step;
    score_grads(a, row_dot(p.dy + at, p.y + at, a.D), seen, room.scores + r * a.score_step, zr, dbias);
    if (dbias) std::fill(dbias + seen, dbias + a.S, 0.f);
    std::fill(zr + seen, zr + q.keys, 0.f);
    round_scores(zr, seen, q.keys, room.halves + r * a.score_step);
  }
}

void attend_pairs_back(const PairAttention& pa, const PairPorts& p, const PairRoom& room, const QueryBlock& q) {
  const Attention& a = *pa.a;
  const auto scores_of = [&](const uint16_t* x, const float* columns, float* to) {
    multiply({words_at(x + q.first), pa.q_rows.data(), 1, a.D / 2, columns, a.D / 2, a.S, q.keys, to,
              a.score_rows.data(), q.rows, false, true, has_tile_products()});
  };
  float* z = a.drops() ? room.z : room.scores;
  if (q.keys > 0) {
    scores_of(p.q, room.k_columns, room.scores);
    block_probabilities(a, p, room, q, z);
    add_transposed(pa, room, q, z, p.dy + q.first, room.dv);
    scores_of(p.dy, room.v_columns, room.z);
    block_score_grads(a, p, room, q);
    multiply({words_at(room.halves), pa.half_rows.data(), 1, ceil_div(q.keys, 2), room.k_rows, a.S / 2, a.D, a.D,
              room.result, pa.own_rows.data(), q.rows, false, true, has_tile_products()});
    add_transposed(pa, room, q, room.z, p.q + q.first, room.dk);
  } else {
    std::fill_n(room.result, q.rows * a.D, 0.f);
    if (p.dbias) std::fill_n(p.dbias + q.row(a, 0) * a.S, q.rows * a.S, 0.f);
  }
  narrow_rows(room.result, q.rows, a.D, a.N * a.D, p.out + q.first);
}

void head_pairs_back(const PairAttention& pa, const PairPorts& p, const PairRoom& room, int64_t b, int64_t m) {
  const Attention& a = *pa.a;
  const int64_t at = a.kv_at(b, m), step = a.M * a.D, shared = a.N / a.M;
  pack_column_pairs(p.k + at, a.S, a.D, step, room.k_columns);
  pack_column_pairs(p.v + at, a.S, a.D, step, room.v_columns);
  pack_row_pairs(p.k + at, a.S, a.D, step, a.S / 2, room.k_rows);
  std::fill_n(room.dk, a.S * a.D, 0.f);
  std::fill_n(room.dv, a.S * a.D, 0.f);
  for (int64_t n = m * shared; n < (m + 1) * shared; ++n)
    for (int64_t t = 0; t < a.T; t += a.block) {
      const int64_t rows = std::min(a.block, a.T - t);
      attend_pairs_back(pa, p, room, {b, n, t, rows, a.keys(t + rows - 1), ((b * a.T + t) * a.N + n) * a.D});
    }
  narrow_rows(room.dk, a.S, a.D, step, p.dk + at);
  narrow_rows(room.dv, a.S, a.D, step, p.dv + at);
}

}  // namespace

bool suits_pair_attention(const NodeView& node, const Attention& a, int q) {
  for (int i = 0; i < q + 3; ++i)
    if (node.in(i).dtype() != TENON_BF16) return false;
  return a.D % 2 == 0 && a.S % 2 == 0 && a.T % 2 == 0;
}

Kernel make_pair_attention(const NodeView& node, const AttentionRef& a) {
  const auto pa = std::make_shared<const PairAttention>(a);
  Kernel k;
  k.threads = threads_for(a->B * a->N * a->T * (a->S + a->D));
  k.thread_scratch_bytes = PairRoom(*a, false, nullptr).used;
  k.algorithm = "bf16 pairs";
  k.run = [pa](const Call& call) {
    const Attention& a = *pa->a;
    PairPorts p{};
    p.q = call.in<uint16_t>(op::attention::q), p.k = call.in<uint16_t>(op::attention::k),
    p.v = call.in<uint16_t>(op::attention::v);
    if (a.biased) p.bias = call.in(op::attention::bias);
    if (a.drops()) p.seed = call.in<int64_t>(op::attention::seed), p.step = call.in<int64_t>(op::attention::step);
    p.out = call.out<uint16_t>(op::attention::out::y), p.lse = call.out(op::attention::out::lse);
    const FlushSubnormals here;
    run_pairs(*pa, p, call);
  };
  return narrowed(node, std::move(k),
                  {{op::attention::q, op::attention::k, op::attention::v}, {op::attention::out::y}});
}

Kernel make_pair_attention_grad(const NodeView& node, const AttentionRef& a) {
  const auto pa = std::make_shared<const PairAttention>(a);
  const bool dbias = node.has_result(op::attention_grad::out::dbias);
  Kernel k;
  k.threads = threads_for(a->B * a->N * a->T * (a->S + a->D));
  k.thread_scratch_bytes = PairRoom(*a, true, nullptr).used;
  k.algorithm = "bf16 pairs";
  k.run = [pa, dbias](const Call& call) {
    const Attention& a = *pa->a;
    PairPorts p{};
    p.dy = call.in<uint16_t>(op::attention_grad::dy), p.q = call.in<uint16_t>(op::attention_grad::q),
    p.k = call.in<uint16_t>(op::attention_grad::k);
    p.v = call.in<uint16_t>(op::attention_grad::v), p.y = call.in<uint16_t>(op::attention_grad::y),
    p.lse = const_cast<float*>(call.in(op::attention_grad::lse));
    if (a.biased) p.bias = call.in(op::attention_grad::bias);
    if (a.drops())
      p.seed = call.in<int64_t>(op::attention_grad::seed), p.step = call.in<int64_t>(op::attention_grad::step);
    p.out = call.out<uint16_t>(op::attention_grad::out::dq), p.dk = call.out<uint16_t>(op::attention_grad::out::dk),
    p.dv = call.out<uint16_t>(op::attention_grad::out::dv);
    if (dbias) p.dbias = call.out(op::attention_grad::out::dbias);
    const FlushSubnormals here;
    const PairRoom room(a, true, call.thread_scratch);
    const Slice s = call.share(a.B * a.M);
    for (int64_t u = s.begin; u < s.end; ++u) head_pairs_back(*pa, p, room, u / a.M, u % a.M);
  };
  return narrowed(node, std::move(k),
                  {{op::attention_grad::dy, op::attention_grad::q, op::attention_grad::k, op::attention_grad::v,
                    op::attention_grad::y},
                   {op::attention_grad::out::dq, op::attention_grad::out::dk, op::attention_grad::out::dv}});
}

}  // namespace tenon::cpu::TENON_CPU_ISA

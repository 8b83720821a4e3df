// attention(q [B,T,N,D], k, v [B,S,M,D], [bias], [seed], [step]) -> y [B,T,N,D], lse [B,N,T]
//   y = dropout(softmax(scale q k' + bias)) v a head; lse = log(sum exp) of its scores
// A block of queries at a time: its scores stay in the second-level cache, and no T x S matrix exists.
#include "kernels/network/attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/gemm/narrow.h"
#include "kernels/norm/softmax.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Scales scores and adds the bias; returns the largest. A branch between product and sum would leave it to chance whether
// they are one instruction.
template <bool kBias>
float scale_scores(const Attention& a, const float* bias, int64_t n, float* s) {
  Sixteen most = Sixteen::splat(-kInf);
  for (int64_t i = 0; i < n; i += 16)
    for (int w = 0; w < Sixteen::kWays; ++w) {
      const int64_t at = i + w * Lanes::kLanes;
      if (at >= n) break;
      Lanes::Vector v = row<Lanes>(s, at, n, 0) * a.scale;
      if constexpr (kBias) v += row<Lanes>(bias, at, n, 0);
      put<Lanes>(s, at, n, v);
      most.way[w] = vmax_nan(most.way[w], at + Lanes::kLanes <= n ? v : row<Lanes>(s, at, n, -kInf));
    }
  return max_of_lanes(vmax_nan(most.low(), most.high()));
}

}  // namespace

float softmax_scores(const Attention& a, const float* bias, const uint32_t* draws, int64_t n, float* s) {
  using V = Lanes::Vector;
  if (n == 0) return -kInf;
  const float top = bias ? scale_scores<true>(a, bias, n, s) : scale_scores<false>(a, bias, n, s);
  const float max = top == -kInf ? 0.f : top, sum = row_exp(s, n, max, s);
  const V scale = Lanes::splat(sum == 0 ? 1.f : 1.f / sum);
  for (int64_t i = 0; i < n; i += Lanes::kLanes) {
    V v = row<Lanes>(s, i, n, 0) * scale;
    if (draws) v = (Lanes::Ints)(load_as<Lanes::Words>(draws + i) >> 8) >= a.threshold ? v * a.keep_scale : V{};
    put<Lanes>(s, i, n, v);
  }
  return max + std::log(sum);
}

namespace {

// This thread's room.
struct AttentionRoom {
  float *k, *v, *scores;
  uint32_t* words;
  AttentionRoom(const Attention& a, void* at) {
    k = static_cast<float*>(at);
    v = k + lines(a.D * packed_columns(a.S));
    scores = v + lines(a.S * packed_columns(a.D));
    words = reinterpret_cast<uint32_t*>(scores + lines(a.block * a.score_step));
  }
  static uint64_t bytes(const Attention& a) {
    return static_cast<uint64_t>(lines(a.D * packed_columns(a.S)) + lines(a.S * packed_columns(a.D)) +
                                 lines(a.block * a.score_step) + lines(ScoreDraws::room(a))) *
           4;
  }
};

struct AttentionPorts {
  const float *q, *k, *v, *bias;
  const int64_t *seed, *step;
  float *y, *lse;
};

// Queries [t, t + rows) of head n.
void attend(const Attention& a, const AttentionPorts& p, const AttentionRoom& room, int64_t b, int64_t n, int64_t t,
            int64_t rows) {
  const int64_t keys = a.keys(t + rows - 1);
  float* y = p.y + ((b * a.T + t) * a.N + n) * a.D;
  if (keys == 0) {
    for (int64_t r = 0; r < rows; ++r) {
      std::fill_n(y + a.q_rows[static_cast<size_t>(r)], a.D, 0.f);
      p.lse[(b * a.N + n) * a.T + t + r] = -kInf;
    }
    return;
  }
  multiply({a.q_at(p.q, b, t, n), a.q_rows.data(), 1, a.D, room.k, a.D, a.S, keys, room.scores, a.score_rows.data(),
            rows, false});
  ScoreDraws draws(a, p.seed, p.step, room.words);
  for (int64_t r = 0; r < rows; ++r) {
    float* s = room.scores + r * a.score_step;
    const int64_t seen = a.keys(t + r), row = (b * a.N + n) * a.T + t + r;
    p.lse[row] = softmax_scores(a, p.bias ? a.bias_at(p.bias, b, n, t + r) : nullptr,
                                a.drops() ? draws.of_row(row) : nullptr, seen, s);
    std::fill(s + seen, s + keys, 0.f);
  }
  multiply({room.scores, a.score_rows.data(), 1, keys, room.v, a.S, a.D, a.D, y, a.q_rows.data(), rows, false});
}

Kernel make_attention(const NodeView& node, const Env&) {
  const AttentionRef a = attention_of(node, op::attention::q, op::attention::k, op::attention::bias);
  if (suits_pair_attention(node, *a, 0)) return make_pair_attention(node, a);
  if (suits_single_attention(*a)) return make_single_attention(node, a);
  const bool seeded = a->drops();
  Kernel k;
  k.threads = threads_for(a->B * a->N * a->T * (a->S + a->D));
  k.thread_scratch_bytes = AttentionRoom::bytes(*a);
  k.run = [=](const Call& call) {
    const AttentionRoom room(*a, call.thread_scratch);
    const AttentionPorts p{call.in(op::attention::q),
                           call.in(op::attention::k),
                           call.in(op::attention::v),
                           a->biased ? call.in(op::attention::bias) : nullptr,
                           seeded ? call.in<int64_t>(op::attention::seed) : nullptr,
                           seeded ? call.in<int64_t>(op::attention::step) : nullptr,
                           call.out(op::attention::out::y),
                           call.out(op::attention::out::lse)};
    const Slice s = call.share(a->B * a->N * a->blocks);
    int64_t packed = -1;  // the keys and values that lie in the room
    for (int64_t u = s.begin; u < s.end; ++u) {
      const int64_t n = u / a->blocks % a->N, b = u / a->blocks / a->N, t = u % a->blocks * a->block;
      const int64_t m = a->head_of(n), at = a->kv_at(b, m);
      if (packed != b * a->M + m) {
        pack_transposed(p.k + at, a->S, a->D, a->M * a->D, room.k);
        pack_panels(p.v + at, a->S, a->D, a->M * a->D, a->S, room.v);
        packed = b * a->M + m;
      }
      attend(*a, p, room, b, n, t, std::min(a->block, a->T - t));
    }
  };
  return narrowed(node, std::move(k));
}

}  // namespace

AttentionRef attention_of(const NodeView& node, int q, int k, int bias) {
  return attention_of(node, q, node.in(k).dim(1), node.in(k).dim(2), bias);
}

AttentionRef attention_of(const NodeView& node, int q, int64_t keys, int64_t heads, int bias) {
  const auto vq = node.in(q);
  auto a = std::make_shared<Attention>();
  a->B = vq.dim(0), a->T = vq.dim(1), a->N = vq.dim(2), a->D = vq.dim(3);
  a->S = keys, a->M = heads;
  a->block = std::min(kQueryBlock, a->T);
  a->blocks = (a->T + a->block - 1) / a->block;
  a->score_step = packed_columns(a->S) + 8;
  a->causal = node.flag("causal");
  a->scale = static_cast<float>(node.f64("scale", 1));
  a->stream = static_cast<uint32_t>(node.i64("stream"));
  a->before = draws_before(node, a->B * a->N * a->T * a->S);
  const double rate = node.f64("rate");
  a->threshold = static_cast<int32_t>(std::ceil(static_cast<double>(static_cast<float>(rate)) * 0x1p24));
  a->keep_scale = static_cast<float>(1 / (1 - rate));
  a->biased = node.has(bias);
  if (a->biased) {
    const auto v = node.in(bias);
    a->bias_t = v.dim(2) == 1 ? 0 : a->S;
    a->bias_n = v.dim(1) == 1 ? 0 : v.dim(2) * a->S;
    a->bias_b = v.dim(0) == 1 ? 0 : v.dim(1) * v.dim(2) * a->S;
  }
  for (int64_t r = 0; r < a->block; ++r)
    a->q_rows.push_back(r * a->N * a->D), a->score_rows.push_back(r * a->score_step);
  for (int64_t r = 0; r < a->S; ++r) a->kv_rows.push_back(r * a->M * a->D), a->unit_rows.push_back(r);
  return a;
}

plugin::Verdict accept_attention(const NodeView& node, int q, int k, int bias) {
  for (int i : {q, k, k + 1}) {
    if (!plugin::is_float(node.in(i).dtype())) return plugin::refuse("attention: operands must be float");
    if (node.in(i).rank() != 4) return plugin::refuse("attention: q, k and v must be [batch, length, heads, size]");
    if (node.in(i).dtype() == TENON_F64) return plugin::decompose();
  }
  const auto vq = node.in(q), vk = node.in(k);
  if (vq.dim(2) % vk.dim(2)) return plugin::refuse("attention: q's heads must be a multiple of k's");
  if (node.in(k + 1).dim(3) != vq.dim(3)) return plugin::decompose();  // values of another size
  const double rate = node.f64("rate");
  if (!(rate >= 0 && rate < 1)) return plugin::refuse("attention: rate must lie in [0, 1)");
  if (rate > 0 && !(node.has(bias + 1) && node.has(bias + 2)))
    return plugin::refuse("attention: dropout needs seed and step");
  if (vq.elements() / vq.dim(3) * vk.dim(1) > int64_t{1} << 34) return plugin::decompose();
  if (!node.has(bias)) return plugin::take();
  const auto vb = node.in(bias);
  const int64_t want[4] = {vq.dim(0), vq.dim(2), vq.dim(1), vk.dim(1)};
  if (vb.rank() != 4 || vb.dtype() == TENON_F64 || vb.dim(3) != want[3]) return plugin::decompose();
  for (int i = 0; i < 3; ++i)
    if (vb.dim(i) != want[i] && vb.dim(i) != 1) return plugin::decompose();
  return plugin::take();
}

namespace {
constexpr int64_t kDrawsAtATime = 1024;
int64_t rows_at_a_time(const Attention& a) {
  return std::min(a.block, std::max<int64_t>(1, kDrawsAtATime / std::max<int64_t>(1, a.S)));
}
}  // namespace

ScoreDraws::ScoreDraws(const Attention& a, const int64_t* seed, const int64_t* step, uint32_t* room)
    : a_(a), stream_(seed ? *seed : 0, step ? *step : 0, a.stream, a.before), room_(room) {}

// Four words belong to a counter, and the last vectors are made and read whole.
int64_t ScoreDraws::room(const Attention& a) { return rows_at_a_time(a) * a.S + 3 + RandomStream::kDraws; }

const uint32_t* ScoreDraws::of_row(int64_t row) {
  if (row < first_ || row >= end_) {
    first_ = row, end_ = row + rows_at_a_time(a_);
    uint32_t* to = room_;
    for (int64_t e = first_ * a_.S & ~int64_t{3}; e < end_ * a_.S; e += RandomStream::kDraws) {
      Lanes::Words words[4];
      stream_.draw(static_cast<uint32_t>(e >> 2), words);
      std::memcpy(to, words, sizeof words);
      to += RandomStream::kDraws;
    }
  }
  return room_ + (row * a_.S - (first_ * a_.S & ~int64_t{3}));
}

void add_attention(KernelTable& table) {
  table.add(
      "attention",
      [](const NodeView& n) { return accept_attention(n, op::attention::q, op::attention::k, op::attention::bias); },
      make_attention);
  add_attention_grad(table);
  add_attention_rows(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA

// attention of one query a head, as a model that writes a token at a time has it (attention.cc has the formula): keys and values are read
// once where they lie, those of all heads together, and nothing is packed.
#include <algorithm>

#include "kernels/gemm/narrow.h"
#include "kernels/network/attention.h"
#include "kernels/norm/softmax.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// x . y, in an order that no vector's width changes.
TENON_INLINE float dot_row(const float* x, const float* y, int64_t n) {
  Sixteen sums = Sixteen::splat(0);
  for (int64_t i = 0; i < n; i += 16)
    for (int w = 0; w < Sixteen::kWays; ++w) {
      const int64_t at = i + w * Lanes::kLanes;
      if (at < n) sums.way[w] += row<Lanes>(x, at, n, 0) * row<Lanes>(y, at, n, 0);
    }
  return sum8(sums.low() + sums.high());
}

TENON_INLINE void add_row(float factor, const float* x, int64_t n, float* y) {
  const Lanes::Vector f = Lanes::splat(factor);
  for (int64_t i = 0; i < n; i += Lanes::kLanes)
    put<Lanes>(y, i, n, row<Lanes>(y, i, n, 0) + f * row<Lanes>(x, i, n, 0));
}

struct OncePorts {
  const float *q, *k, *v, *bias;
  float *y, *lse;
};

// Heads [from, to) of sentence b.
void attend_once(const Attention& a, const OncePorts& p, float* scores, int64_t b, int64_t from, int64_t to) {
  const auto score = [&](int64_t n) { return scores + (n - from) * a.score_step; };
  const int64_t key_row = a.M * a.D;
  for (int64_t j = 0; j < a.S; ++j)
    for (int64_t n = from; n < to; ++n)
      score(n)[j] = dot_row(a.q_at(p.q, b, 0, n), p.k + a.kv_at(b, a.head_of(n)) + j * key_row, a.D);
  float* y = p.y + (b * a.N + from) * a.D;
  for (int64_t n = from; n < to; ++n)
    p.lse[b * a.N + n] = softmax_scores(a, p.bias ? a.bias_at(p.bias, b, n, 0) : nullptr, nullptr, a.S, score(n));
  std::fill_n(y, (to - from) * a.D, 0.f);
  for (int64_t j = 0; j < a.S; ++j)
    for (int64_t n = from; n < to; ++n)
      add_row(score(n)[j], p.v + a.kv_at(b, a.head_of(n)) + j * key_row, a.D, y + (n - from) * a.D);
}

}  // namespace

bool suits_single_attention(const Attention& a) { return a.T == 1 && !a.drops(); }

Kernel make_single_attention(const NodeView& node, const AttentionRef& a) {
  Kernel k;
  k.threads = threads_for(a->B * a->N * (a->S + a->D));
  k.thread_scratch_bytes = static_cast<uint64_t>(lines(a->N * a->score_step)) * 4;
  k.run = [=](const Call& call) {
    auto* scores = static_cast<float*>(call.thread_scratch);
    const OncePorts p{call.in(op::attention::q),      call.in(op::attention::k),
                      call.in(op::attention::v),      a->biased ? call.in(op::attention::bias) : nullptr,
                      call.out(op::attention::out::y), call.out(op::attention::out::lse)};
    const Slice s = call.share(a->B * a->N);
    for (int64_t u = s.begin; u < s.end;) {
      const int64_t b = u / a->N, end = std::min(s.end, (b + 1) * a->N);
      attend_once(*a, p, scores, b, u - b * a->N, end - b * a->N);
      u = end;
    }
  };
  return narrowed(node, std::move(k));
}

}  // namespace tenon::cpu::TENON_CPU_ISA

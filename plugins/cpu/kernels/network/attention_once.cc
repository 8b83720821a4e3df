// attention of one query a head, as a model that writes a token at a time has it (attention.cc has the formula): keys and values are read
// once where they lie, those of all heads together, and nothing is packed.
#include <algorithm>

#include "kernels/gemm/narrow.h"
#include "kernels/network/attention.h"
#include "kernels/norm/softmax.h"
#include "own_nodes.h"

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

// Where the keys, or values, of all heads lie at a place: row by row, or where indices say; one that is outside is a row of zeros.
struct KeyRows {
  const int32_t* index;  // nullptr: row by row
  int64_t rows;
  const float* zeros;
  int64_t width;

  const float* at(const float* x, int64_t place) const {
    if (!index) return x + place * width;
    const int64_t i = index[place];
    return i >= 0 && i < rows ? x + i * width : zeros;
  }
};

struct OncePorts {
  const float *q, *k, *v, *bias;
  float *y, *lse;
  KeyRows keys;
};

// Heads [from, to) of sentence b.
void attend_once(const Attention& a, const OncePorts& p, float* scores, int64_t b, int64_t from, int64_t to) {
  const auto score = [&](int64_t n) { return scores + (n - from) * a.score_step; };
  for (int64_t j = 0; j < a.S; ++j) {
    const float* key = p.keys.at(p.k, b * a.S + j);
    for (int64_t n = from; n < to; ++n) score(n)[j] = dot_row(a.q_at(p.q, b, 0, n), key + a.head_of(n) * a.D, a.D);
  }
  float* y = p.y + (b * a.N + from) * a.D;
  for (int64_t n = from; n < to; ++n)
    p.lse[b * a.N + n] = softmax_scores(a, p.bias ? a.bias_at(p.bias, b, n, 0) : nullptr, nullptr, a.S, score(n));
  std::fill_n(y, (to - from) * a.D, 0.f);
  for (int64_t j = 0; j < a.S; ++j) {
    const float* value = p.keys.at(p.v, b * a.S + j);
    for (int64_t n = from; n < to; ++n) add_row(score(n)[j], value + a.head_of(n) * a.D, a.D, y + (n - from) * a.D);
  }
}

void attend_all(const Call& call, const Attention& a, const OncePorts& p, float* scores) {
  const Slice s = call.share(a.B * a.N);
  for (int64_t u = s.begin; u < s.end;) {
    const int64_t b = u / a.N, end = std::min(s.end, (b + 1) * a.N);
    attend_once(a, p, scores, b, u - b * a.N, end - b * a.N);
    u = end;
  }
}

int64_t score_room(const Attention& a) { return lines(a.N * a.score_step); }

// cpu.attention_rows(q [B,1,N,D], k, v [rows, M D], [bias], i [B S]; length S, heads M) -> y, lse
//   attention of one query a head whose keys and values are gathered: key j of sentence b is row i[b S + j].
Kernel make_attention_rows(const NodeView& node, const Env&) {
  using at = own::attention_rows;
  const AttentionRef a = attention_of(node, at::q, node.i64("length"), node.i64("heads"), at::bias);
  const int64_t rows = node.in(at::k).dim(0), width = a->M * a->D, room = score_room(*a);
  Kernel k;
  k.threads = threads_for(a->B * a->N * (a->S + a->D));
  k.thread_scratch_bytes = static_cast<uint64_t>(room + width) * 4;
  k.run = [=](const Call& call) {
    auto* scores = static_cast<float*>(call.thread_scratch);
    std::fill_n(scores + room, width, 0.f);
    const OncePorts p{call.in(at::q),
                      call.in(at::k),
                      call.in(at::v),
                      a->biased ? call.in(at::bias) : nullptr,
                      call.out(op::attention::out::y),
                      call.out(op::attention::out::lse),
                      {call.in<int32_t>(at::i), rows, scores + room, width}};
    attend_all(call, *a, p, scores);
  };
  return k;
}

}  // namespace

bool suits_single_attention(const Attention& a) { return a.T == 1 && !a.drops(); }

Kernel make_single_attention(const NodeView& node, const AttentionRef& a) {
  Kernel k;
  k.threads = threads_for(a->B * a->N * (a->S + a->D));
  k.thread_scratch_bytes = static_cast<uint64_t>(score_room(*a)) * 4;
  k.run = [=](const Call& call) {
    auto* scores = static_cast<float*>(call.thread_scratch);
    const OncePorts p{call.in(op::attention::q),         call.in(op::attention::k),
                      call.in(op::attention::v),         a->biased ? call.in(op::attention::bias) : nullptr,
                      call.out(op::attention::out::y),   call.out(op::attention::out::lse),
                      {nullptr, 0, nullptr, a->M * a->D}};
    attend_all(call, *a, p, scores);
  };
  return narrowed(node, std::move(k));
}

void add_attention_rows(KernelTable& table) { table.add_own("cpu.attention_rows", make_attention_rows); }

}  // namespace tenon::cpu::TENON_CPU_ISA

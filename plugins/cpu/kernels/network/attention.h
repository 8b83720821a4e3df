// What attention and its gradient share: shapes, one head's products, the dropout mask.
//
// q, y [B,T,N,D], k, v [B,S,M,D], bias [B|1,N|1,T|1,S], lse [B,N,T]. Query head n reads head n M / N.
#pragma once

#include <memory>
#include <vector>

#include "kernels/element/philox_lanes.h"
#include "kernels/gemm/panel_product.h"
#include "kernels/movement/strided_copy.h"

namespace tenon::cpu::TENON_CPU_ISA {

void add_attention_grad(KernelTable& table);

constexpr int64_t kQueryBlock = 48;  // rows of scores at a time: whole register tiles

struct Attention {
  int64_t B, T, N, D, S, M;
  int64_t block, blocks;  // of T
  int64_t score_step;     // between rows of scores; off the power of two
  bool causal, biased;
  int64_t bias_b, bias_n, bias_t;  // strides; 0 where repeated
  float scale;
  uint32_t stream;
  uint64_t before;    // draws of replicas before this device's
  int32_t threshold;  // a draw below drops
  float keep_scale;   // 1 / (1 - rate)
  // Offsets of rows, for the micro-kernel.
  std::vector<int64_t> q_rows, kv_rows, score_rows, unit_rows;

  bool drops() const { return threshold > 0; }
  int64_t head_of(int64_t n) const { return n / (N / M); }
  const float* q_at(const float* q, int64_t b, int64_t t, int64_t n) const { return q + ((b * T + t) * N + n) * D; }
  int64_t kv_at(int64_t b, int64_t m) const { return (b * S * M + m) * D; }
  const float* bias_at(const float* bias, int64_t b, int64_t n, int64_t t) const {
    return bias + b * bias_b + n * bias_n + t * bias_t;
  }
  // How many keys query t sees.
  int64_t keys(int64_t t) const {
    if (!causal) return S;
    const int64_t n = t + S - T + 1;
    return n < 0 ? 0 : n > S ? S : n;
  }
};
using AttentionRef = std::shared_ptr<const Attention>;

// Operands: q, k, v, bias stand at these places; bias < 0 where there is none.
AttentionRef attention_of(const NodeView& node, int q, int k, int bias);
// The same of so many keys, with so many heads, wherever they lie.
AttentionRef attention_of(const NodeView& node, int q, int64_t keys, int64_t heads, int bias);
plugin::Verdict accept_attention(const NodeView& node, int q, int k, int bias);

// Turns n scores into probabilities, dropped where `draws` (or nullptr) says so; returns log(sum exp).
float softmax_scores(const Attention& a, const float* bias, const uint32_t* draws, int64_t n, float* s);
// Scores become P, negative where `draws` has dropout zero it, and z = dropout(P), which without draws is not touched.
void score_probabilities(const Attention& a, const float* bias, float lse, const uint32_t* draws, int64_t n, float* p,
                         float* z);
// z = dS from P and z = dy v', delta = sum dy y; then scale dS, and dS itself to dbias.
void score_grads(const Attention& a, float delta, int64_t n, const float* p, float* z, float* dbias);

// Whether attention of bf16 goes by products of pairs (attention_pairs.cc): rows and columns must be whole words.
bool suits_pair_attention(const NodeView& node, const Attention& a, int q);
Kernel make_pair_attention(const NodeView& node, const AttentionRef& a);
Kernel make_pair_attention_grad(const NodeView& node, const AttentionRef& a);

// One query a head without dropout, which reads keys and values once (attention_once.cc). So does cpu.attention_rows.
void add_attention_rows(KernelTable& table);
bool suits_single_attention(const Attention& a);
Kernel make_single_attention(const NodeView& node, const AttentionRef& a);

// The draws that decide the dropout of scores, made for several rows at a time.
class ScoreDraws {
 public:
  ScoreDraws(const Attention& a, const int64_t* seed, const int64_t* step, uint32_t* room);
  static int64_t room(const Attention& a);  // words of it

  // Word i decides element i; a vector may be read at any of them. Rows are asked for in ascending order.
  const uint32_t* of_row(int64_t row);

 private:
  const Attention& a_;
  const RandomStream stream_;
  uint32_t* room_;
  int64_t first_ = 0, end_ = 0;  // rows in the room
};

}  // namespace tenon::cpu::TENON_CPU_ISA

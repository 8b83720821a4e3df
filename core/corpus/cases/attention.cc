// Attention and recurrent cells.
#include <array>

#include "base/strings.h"
#include "corpus/corpus.h"
#include "op/op.h"

namespace tenon::corpus {
namespace {

struct AttentionCase {
  Shape q, k;
  Shape bias;  // rank 0: none
  AttentionOptions o;
  std::string what;
  double bias_at = 0;  // the middle of its values
};

const AttentionCase kAttentions[] = {
    {{2, 5, 3, 8}, {2, 5, 3, 8}, {}, {.scale = 0.35}, ""},
    {{1, 1, 1, 1}, {1, 1, 1, 1}, {}, {}, "one"},
    {{2, 7, 4, 5}, {2, 9, 2, 5}, {}, {.scale = 0.5, .causal = true}, "causal, shared heads"},
    {{1, 17, 2, 16}, {1, 13, 2, 16}, {}, {.scale = 0.25, .causal = true}, "causal, rows that see nothing"},
    {{2, 6, 2, 4}, {2, 11, 1, 4}, {1, 2, 6, 11}, {.scale = 0.5}, "bias of heads"},
    {{2, 6, 2, 4}, {2, 11, 1, 4}, {2, 1, 1, 11}, {.scale = 0.5}, "bias of keys"},
    {{1, 33, 2, 8}, {1, 33, 2, 8}, {}, {.scale = 0.3, .rate = 0.25, .stream = 99}, "dropout"},
    {{1, 7, 3, 8}, {1, 9, 3, 8}, {}, {.scale = 0.3, .rate = 0.25, .stream = 99, .first = 3}, "dropout, first 3"},
    {{2, 33, 2, 8}, {2, 64, 2, 8}, {}, {.scale = 0.3, .rate = 0.25, .stream = 99, .first = 5}, "dropout, first 5"},
    {{2, 3, 2, 4}, {2, 67, 2, 4}, {}, {.scale = 0.5, .causal = true}, "causal, few queries"},
};

void add_attention(Cases& cases, DType t, const AttentionCase& c) {
  const Inputs inputs{
      uniform(t, c.q, 1), uniform(t, c.k, 2), uniform(t, c.k, 3), uniform(t, c.bias, 5, c.bias_at - 2, c.bias_at + 2),
      seed_of(5),         step_of(6),         uniform(t, c.q, 4)};
  add_attention(cases, inputs, c.o, cat(name_of(inputs[0]), " ", c.k.str(), c.what.empty() ? "" : " ", c.what));
}

// Sizes of a recurrent layer: batch, steps, inputs, units.
void add_cells(Cases& cases, DType t, const std::array<int64_t, 4>& sizes) {
  const auto [B, T, I, U] = sizes;
  const auto weights = [&, B = B, T = T, I = I, U = U](int64_t gates) {
    return Inputs{uniform(t, {B, T, I}, 1),
                  uniform(t, {B, U}, 2),
                  uniform(t, {B, U}, 3),
                  uniform(t, {I, gates * U}, 4, -0.5, 0.5),
                  uniform(t, {U, gates * U}, 5, -0.5, 0.5),
                  uniform(t, {gates * U}, 6),
                  uniform(t, {gates * U}, 7),
                  uniform(t, {B, T, U}, 8)};
  };
  const std::string what = cat(name_of({t, {B, T, I}}), " units ", U);
  const auto lstm_of = [](const Tensors& x) { return lstm(x[0], x[1], x[2], x[3], x[4], x[5]); };
  const auto gru_of = [](const Tensors& x) { return gru(x[0], x[1], x[3], x[4], x[5], x[6]); };
  add_op(cases, {"lstm", what, weights(4), [=](const Tensors& x) {
                   const Recurrent r = lstm_of(x);
                   return Tensors{r.y, r.c, r.gates};
                 }});
  add_op(cases, {"lstm_grad", what, weights(4), [=](const Tensors& x) {
                   const Recurrent r = lstm_of(x);
                   return emit_all("lstm_grad", {x[7], x[2], x[0], x[1], x[2], x[3], x[4], x[5], r.y, r.gates});
                 }});
  add_op(cases, {"gru", what, weights(3), [=](const Tensors& x) {
                   const Recurrent r = gru_of(x);
                   return Tensors{r.y, r.gates};
                 }});
  add_op(cases, {"gru_grad", what, weights(3), [=](const Tensors& x) {
                   const Recurrent r = gru_of(x);
                   return emit_all("gru_grad", {x[7], x[0], x[1], x[3], x[4], x[5], x[6], r.y, r.gates});
                 }});
}

// [B,N,T,S] with 1 where it repeats: all sixteen, each with other company.
void add_repeated_biases(Cases& cases) {
  const Shape full{2, 4, 5, 9};
  for (int repeats = 0; repeats < 16; ++repeats) {
    Shape bias = full;
    for (int i = 0; i < 4; ++i)
      if (repeats >> i & 1) bias.set(i, 1);
    const bool causal = repeats % 3 == 1, drops = repeats % 3 == 2;
    const AttentionOptions o{.scale = 0.5, .causal = causal, .rate = drops ? 0.25 : 0, .stream = drops ? 7 : 0};
    const AttentionCase c{{2, 5, 4, 3},
                          {2, 9, 2, 3},
                          bias,
                          o,
                          cat("bias ", bias.str(), causal ? " causal" : "", drops ? " dropout" : "")};
    add_attention(cases, DType::kF32, c);
    if (repeats % 5 == 3) add_attention(cases, DType::kBF16, c);
  }
}

// Exponentials that would overflow, or all vanish, but for the largest one taken off.
void add_far_scores(Cases& cases) {
  for (double at : {-300.0, 300.0})
    for (bool causal : {false, true})
      add_attention(cases, DType::kF32,
                    {{2, 7, 2, 8},
                     {2, 9, 2, 8},
                     {2, 2, 7, 9},
                     {.scale = 0.5, .causal = causal},
                     cat("scores about ", at, causal ? " causal" : ""),
                     at});
}

}  // namespace

void add_attention(Cases& cases, const Inputs& inputs, const AttentionOptions& o, const std::string& what) {
  const bool biased = inputs[3].type.shape.rank() > 0, dropped = o.rate > 0;
  // A bias that is one for all keys changes nothing: its gradient would be rounding alone.
  const bool rounding = biased && inputs[3].type.shape[-1] == 1 && inputs[1].type.shape[1] > 1;
  const auto masks = [=](const Tensors& x) {
    const Tensor none;
    return std::array<Tensor, 3>{biased ? x[3] : none, dropped ? x[4] : none, dropped ? x[5] : none};
  };
  const auto forward = [=](const Tensors& x) {
    const auto [bias, seed, step] = masks(x);
    return attention(x[0], x[1], x[2], bias, seed, step, o);
  };
  add_op(cases, {"attention", what, inputs, [=](const Tensors& x) {
                   const Attended r = forward(x);
                   return Tensors{r.y, r.lse};
                 }});
  add_op(cases, {"attention_grad", what, inputs, [=](const Tensors& x) {
                   const Attended r = forward(x);
                   const auto [bias, seed, step] = masks(x);
                   const AttentionGrad g = attention_grad(x[6], x[0], x[1], x[2], bias, seed, step, r.y, r.lse, o);
                   return Tensors{g.dq, g.dk, g.dv, rounding ? Tensor() : g.dbias};
                 }});
}

void add_attention_cases(Cases& cases) {
  add_repeated_biases(cases);
  add_far_scores(cases);
  for (DType t : kFloats)
    for (const AttentionCase& c : kAttentions) add_attention(cases, t, c);
}

void add_recurrent_cases(Cases& cases) {
  for (DType t : kFloats)
    for (const auto& sizes : {std::array<int64_t, 4>{2, 3, 5, 4}, {1, 1, 1, 1}, {3, 5, 7, 8}, {5, 4, 9, 17}})
      add_cells(cases, t, sizes);
}

}  // namespace tenon::corpus

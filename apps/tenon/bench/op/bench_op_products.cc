// Products: dot, convolutions and their gradients, attention, recurrent layers.
#include <algorithm>
#include <cmath>

#include "bench/op/bench_op_case.h"
#include "output.h"
#include "tenon/variables.h"

namespace tenon::runner {
namespace {

enum ConvSize { kN, kH, kW, kC, kK, kO, kStride, kGroups };

int64_t strided(int64_t size, const Sizes& s) { return (size + s[kStride] - 1) / s[kStride]; }

// SAME.
ConvOptions conv_options(const Sizes& s) {
  ConvOptions o;
  o.strides = {s[kStride], s[kStride]};
  o.groups = s[kGroups];
  for (const int64_t size : {s[kH], s[kW]}) {
    const int64_t pads = std::max<int64_t>((strided(size, s) - 1) * s[kStride] + s[kK] - size, 0);
    o.low.push_back(pads / 2);
    o.high.push_back(pads - pads / 2);
  }
  return o;
}

Shape filter(const Sizes& s) { return {s[kK], s[kK], s[kC] / s[kGroups], s[kO]}; }
Shape filtered(const Sizes& s) { return {s[kN], strided(s[kH], s), strided(s[kW], s), s[kO]}; }

std::string wrong_groups(const Sizes& s) {
  if (s[kC] % s[kGroups] == 0 && s[kO] % s[kGroups] == 0) return "";
  return format("%lld groups; expected a divisor of C = %lld and O = %lld", static_cast<long long>(s[kGroups]),
                static_cast<long long>(s[kC]), static_cast<long long>(s[kO]));
}

Tensors conv_of(Tensor x, const Sizes& s, Operands& more) { return {conv(x, more("w", filter(s)), conv_options(s))}; }

Tensors conv_grad_input_of(Tensor dy, const Sizes& s, Operands& more) {
  return {conv_grad_input(dy, more("w", filter(s)), {s[kH], s[kW]}, conv_options(s))};
}

Tensors conv_grad_filter_of(Tensor x, const Sizes& s, Operands& more) {
  return {conv_grad_filter(x, more("dy", filtered(s)), {s[kK], s[kK]}, conv_options(s))};
}

// M K N BATCH.
Shape factors(const Sizes& s) { return s[3] == 1 ? matrix(s) : Shape{s[3], s[0], s[1]}; }

Tensors dot_of(Tensor a, const Sizes& s, Operands& more) {
  return {dot(a, more("b", s[3] == 1 ? Shape{s[1], s[2]} : Shape{s[3], s[1], s[2]}))};
}

// B T HEADS D RATE QUERIES: T keys and, where QUERIES is not 0, so many queries.
Shape queries(const Sizes& s) { return {s[0], s[5] ? s[5] : s[1], s[2], s[3]}; }

AttentionOptions attention_options(const Sizes& s) {
  return {.scale = 1 / std::sqrt(static_cast<double>(s[3])), .rate = static_cast<double>(s[4]) / 100, .stream = 1};
}

Tensors attention_of(Tensor q, const Sizes& s, Operands& more) {
  const Tensor seed = s[4] ? seed_input(*q.graph()) : Tensor(), step = s[4] ? global_step(*q.graph()) : Tensor();
  const Attended a = attention(q, more("k", image(s)), more("v", image(s)), Tensor(), seed, step, attention_options(s));
  return {a.y, a.lse};
}

Tensors attention_grad_of(Tensor dy, const Sizes& s, Operands& more) {
  const Tensor seed = s[4] ? seed_input(*dy.graph()) : Tensor(), step = s[4] ? global_step(*dy.graph()) : Tensor();
  const Tensor q = more("q", queries(s)), k = more("k", image(s)), v = more("v", image(s)), y = more("y", queries(s));
  const Tensor lse = more.positive("lse", {s[0], s[2], queries(s)[1]});
  const AttentionGrad g = attention_grad(dy, q, k, v, Tensor(), seed, step, y, lse, attention_options(s));
  return {g.dq, g.dk, g.dv};
}

std::string wrong_attention_rate(const Sizes& s) { return wrong_rate(Sizes(s.begin(), s.begin() + 5)); }

// B T I U.
Shape steps(const Sizes& s) { return {s[0], s[1], s[2]}; }
Shape states(const Sizes& s) { return {s[0], s[1], s[3]}; }

Recurrent lstm_on(Tensor x, const Sizes& s, Operands& more) {
  const int64_t units = s[3];
  return lstm(x, more.weights("h", {s[0], units}), more.weights("c", {s[0], units}),
              more.weights("w", {s[2], 4 * units}), more.weights("r", {units, 4 * units}),
              more.weights("b", {4 * units}));
}

Recurrent gru_on(Tensor x, const Sizes& s, Operands& more) {
  const int64_t units = s[3];
  return gru(x, more.weights("h", {s[0], units}), more.weights("w", {s[2], 3 * units}),
             more.weights("r", {units, 3 * units}), more.weights("b", {3 * units}), more.weights("rb", {3 * units}));
}

Tensors lstm_of(Tensor x, const Sizes& s, Operands& more) {
  const Recurrent r = lstm_on(x, s, more);
  return {r.y, r.c, r.gates};
}

Tensors gru_of(Tensor x, const Sizes& s, Operands& more) {
  const Recurrent r = gru_on(x, s, more);
  return {r.y, r.gates};
}

// Their gradients are to all of their operands.
Tensors lstm_loss(Tensor dy, const Sizes& s, Operands& more) {
  return {reduce_sum(lstm_on(more.weights("x", steps(s)), s, more).y * dy)};
}

Tensors gru_loss(Tensor dy, const Sizes& s, Operands& more) {
  return {reduce_sum(gru_on(more.weights("x", steps(s)), s, more).y * dy)};
}

// Weights stay what they are, so that no loss grows.
Optimizer still() { return SGD(0.0); }

const char* const kConv = "NxHxWxCxKxO[xSTRIDE[xGROUPS]]";
const char* const kImageWords =
    "16x56x56x64x3x64,16x28x28x128x3x128,16x14x14x256x3x256,16x56x56x64x1x256,128x32x32x16x3x16,"
    "16x56x56x128x3x128x1x32,16x56x56x128x3x128x1x128,16x56x56x128x3x128x2x128,16x14x14x512x5x512x1x512";
const char* const kDots = "64x64x64,256x256x256,1024x1024x1024,2048x512x512,2048x512x8000,32x4096x4096";
const char* const kHeads = "64x32x4x32,32x32x8x64,4x512x8x64,4x512x8x64x10,1x2048x8x64";
const char* const kAttention = "BxTxHEADSxD[xRATE[xQUERIES]]";
const char* const kUnrolled = "64x32x128x128,32x128x256x256,16x64x512x512";

const OpCase kProducts[] = {
    {"dot", "MxKxN[xBATCH]", {1}, factors, dot_of, kDots},
    {"conv", kConv, {1, 1}, image, conv_of, kImageWords, wrong_groups},
    {"conv_grad_input", kConv, {1, 1}, filtered, conv_grad_input_of, kImageWords, wrong_groups},
    {"conv_grad_filter", kConv, {1, 1}, image, conv_grad_filter_of, kImageWords, wrong_groups},
    {"attention", kAttention, {0, 0}, queries, attention_of, kHeads, wrong_attention_rate},
    {"attention_grad", kAttention, {0, 0}, queries, attention_grad_of, kHeads, wrong_attention_rate},
    {"lstm", "BxTxIxU", {}, steps, lstm_of, kUnrolled},
    {"lstm_grad", "BxTxIxU", {}, states, lstm_loss, kUnrolled, nullptr, still},
    {"gru", "BxTxIxU", {}, steps, gru_of, kUnrolled},
    {"gru_grad", "BxTxIxU", {}, states, gru_loss, kUnrolled, nullptr, still},
};

}  // namespace

std::span<const OpCase> product_cases() { return kProducts; }

}  // namespace tenon::runner

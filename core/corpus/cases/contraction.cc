// Products of matrices, convolutions, their gradients and epilogues.
#include "base/strings.h"
#include "corpus/corpus.h"

namespace tenon::corpus {
namespace {

constexpr Activation kEpilogues[] = {Activation::kNone, Activation::kRelu, Activation::kLeakyRelu, Activation::kTanh,
                                     Activation::kGelu};

const int64_t kSizes[][3] = {{1, 1, 1},    {1, 7, 1},    {5, 3, 2},  {17, 33, 9}, {16, 64, 32},
                             {67, 31, 65}, {1, 100, 33}, {6, 1, 16}, {64, 130, 1}};

void add_dots_of(Cases& cases, DType t, int64_t m, int64_t k, int64_t n, int flags) {
  const DotOptions o{.ta = (flags & 1) != 0, .tb = (flags & 2) != 0};
  const Input a = uniform(t, o.ta ? Shape{k, m} : Shape{m, k}, 1), b = uniform(t, o.tb ? Shape{n, k} : Shape{k, n}, 2);
  const std::string what = cat(name_of(a), o.ta ? "' " : " ", name_of(b), o.tb ? "'" : "");
  add_op(cases, {"dot", what, {a, b}, [=](const Tensors& x) { return Tensors{dot(x[0], x[1], o)}; }});
  if (flags == 1) return;
  for (Activation act : kEpilogues) {
    if (t != DType::kF32 && act != Activation::kTanh) continue;
    add_op(cases,
           {"dot_bias_act",
            cat(what, " ", activation_name(act)),
            {a, b, uniform(t, {n}, 3), uniform(t, {m, n}, 4)},
            [=](const Tensors& x) {
              return Tensors{dot_bias_act(x[0], x[1], x[2], act == Activation::kTanh ? x[3] : Tensor(), act, 0.1, o)};
            }});
  }
}

// A zero meets an infinity at each place of a sum in turn, whose result is NaN there and infinite elsewhere: no kernel, no
// block and no tail may skip zeros.
void add_zeros_times_infinity(Cases& cases) {
  constexpr int64_t n = 19;
  Doubles zeros(n * n, 1), infinite(n * n, 1);
  for (int64_t i = 0; i < n; ++i)
    zeros[static_cast<size_t>(i * n + i)] = 0, infinite[static_cast<size_t>(i * n + i)] = kInf;
  for (const DType t : {DType::kF32, DType::kF64})
    for (const bool left : {true, false})
      for (const bool ta : {false, true})
        for (const bool tb : {false, true})
          add_op(cases, {"dot",
                         cat("0 times infinity ", dtype_name(t), left ? " zeros left" : " zeros right", ta ? " ta" : "",
                             tb ? " tb" : ""),
                         {values(t, {n, n}, left ? zeros : infinite), values(t, {n, n}, left ? infinite : zeros)},
                         [=](const Tensors& x) { return Tensors{dot(x[0], x[1], {.ta = ta, .tb = tb})}; }});
}

void add_dots(Cases& cases) {
  for (const auto& [m, k, n] : kSizes)
    for (int flags = 0; flags < 4; ++flags)
      for (DType t : kFloats) add_dots_of(cases, t, m, k, n, flags);
  const Input a = uniform(DType::kF32, {2, 3, 5, 7}, 1), b = uniform(DType::kF32, {2, 3, 7, 9}, 2);
  add_op(cases, {"dot", "batches", {a, b}, [](const Tensors& x) { return Tensors{dot(x[0], x[1])}; }});
  add_op(cases, {"dot",
                 "batches transposed",
                 {uniform(DType::kF32, {3, 7, 5}, 1), uniform(DType::kF32, {3, 9, 7}, 2)},
                 [](const Tensors& x) { return Tensors{dot(x[0], x[1], {.ta = true, .tb = true})}; }});
  add_op(cases, {"dot",
                 "rank 8",
                 {uniform(DType::kF32, {2, 1, 2, 1, 2, 1, 3, 5}, 1), uniform(DType::kF32, {2, 1, 2, 1, 2, 1, 5, 4}, 2)},
                 [](const Tensors& x) { return Tensors{dot(x[0], x[1])}; }});
  add_op(cases, {"dot_bias_act", "residual alone", {a, b, uniform(DType::kF32, {2, 3, 5, 9}, 3)}, [](const Tensors& x) {
                   return Tensors{dot_bias_act(x[0], x[1], {}, x[2], Activation::kRelu)};
                 }});
  add_op(cases, {"dot_bias_act", "neither", {a, b}, [](const Tensors& x) {
                   return Tensors{dot_bias_act(x[0], x[1], {}, {}, Activation::kSigmoid)};
                 }});
  for (DType t : {DType::kBF16, DType::kF16})
    add_op(cases, {"dot",
                   cat("out f32 of ", dtype_name(t)),
                   {uniform(t, {5, 37}, 1), uniform(t, {37, 6}, 2)},
                   [](const Tensors& x) { return Tensors{dot(x[0], x[1], {.out = DType::kF32})}; }});
  for (DType t : kFloats)
    add_op(cases, {"dot",
                   cat("NaN ", dtype_name(t)),
                   {values(t, {5, 7}, {1, 2, 0, kNaN, 3, -1, 2, 4, 1, kInf, 0}), values(t, {7, 4}, {1, 0, 2, -3})},
                   [](const Tensors& x) { return Tensors{dot(x[0], x[1])}; }});
  add_zeros_times_infinity(cases);
  // Sums that f16 or bf16 would not hold: they accumulate in f32.
  for (DType t : {DType::kBF16, DType::kF16})
    add_op(cases, {"dot",
                   cat("long sums of ", dtype_name(t)),
                   {values(t, {3, 3001}, {1}), values(t, {3001, 2}, {1, 0.5})},
                   [](const Tensors& x) { return Tensors{dot(x[0], x[1], {.out = DType::kF32})}; }});
  static const char* const kPrecisions[] = {"default", "high", "highest"};
  for (int p = 0; p < 3; ++p)
    cases.push_back(op_case_as_built(
        {"dot",
         cat("precision ", kPrecisions[p]),
         {uniform(DType::kF32, {9, 67}, 1), uniform(DType::kF32, {67, 5}, 2)},
         [=](const Tensors& x) { return Tensors{dot(x[0], x[1], {.precision = static_cast<MathPrecision>(p)})}; }}));
}

struct ConvCase {
  Shape x, w;
  ConvOptions o;
  std::string what;
};

std::vector<ConvCase> convs() {
  return {
      {{2, 7, 7, 3}, {3, 3, 3, 5}, {}, "valid"},
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {}, "one"},
      {{2, 9, 6, 1}, {3, 3, 1, 32}, {.low = {1, 1}, .high = {1, 1}}, "same"},
      {{2, 8, 8, 16}, {3, 3, 16, 24}, {.low = {1, 1}, .high = {1, 1}}, "same"},
      {{2, 13, 18, 16}, {3, 3, 16, 32}, {.low = {1, 1}, .high = {1, 1}}, "whole vectors"},
      {{2, 9, 12, 8}, {3, 3, 8, 16}, {.strides = {2, 2}, .low = {1, 0}, .high = {1, 2}}, "whole vectors, strides"},
      {{2, 11, 7, 5}, {5, 2, 5, 9}, {.strides = {2, 3}, .low = {2, 0}, .high = {1, 1}}, "strides"},
      {{3, 6, 6, 8}, {1, 1, 8, 13}, {.strides = {2, 2}}, "strides beyond the filter"},
      {{1, 13, 13, 4}, {3, 3, 4, 6}, {.low = {2, 1}, .high = {2, 3}, .dilation = {2, 3}}, "dilation"},
      {{1, 12, 11, 3},
       {2, 3, 3, 4},
       {.strides = {2, 1}, .low = {0, 2}, .high = {1, 2}, .dilation = {3, 2}},
       "strides and dilation"},
      {{2, 7, 7, 6}, {3, 3, 2, 9}, {.low = {1, 1}, .high = {1, 1}, .groups = 3}, "groups"},
      {{2, 9, 9, 16}, {3, 3, 1, 16}, {.low = {1, 1}, .high = {1, 1}, .groups = 16}, "depthwise"},
      {{2, 9, 9, 7},
       {3, 3, 1, 14},
       {.strides = {2, 2}, .low = {0, 1}, .high = {1, 1}, .groups = 7},
       "depthwise, two filters a channel"},
      {{2, 15, 14, 18},
       {3, 3, 1, 18},
       {.strides = {2, 2}, .high = {1, 1}, .groups = 18},
       "depthwise, strides and odd sizes"},
      {{1, 10, 17, 20}, {5, 5, 1, 20}, {.low = {2, 2}, .high = {2, 2}, .groups = 20}, "depthwise 5x5"},
      {{1, 12, 13, 9},
       {3, 5, 1, 9},
       {.strides = {1, 2}, .low = {2, 4}, .high = {3, 1}, .dilation = {2, 1}, .groups = 9},
       "depthwise, strides, dilation and uneven pads"},
      {{2, 6, 7, 4}, {3, 3, 1, 12}, {.low = {1, 1}, .high = {1, 1}, .groups = 4}, "depthwise, three filters a channel"},
      {{1, 8, 9, 32}, {3, 3, 8, 32}, {.low = {1, 1}, .high = {1, 1}, .groups = 4}, "wide groups"},
      {{1, 17, 17, 3}, {7, 7, 3, 8}, {.strides = {2, 2}, .low = {2, 2}, .high = {3, 3}}, "stem"},
      {{1, 5, 4, 2}, {3, 3, 2, 3}, {.low = {4, 0}, .high = {0, 3}}, "pads beyond the filter"},
      {{3, 19, 5}, {4, 5, 6}, {.strides = {2}, .low = {3}}, "causal"},
      {{2, 23, 4},
       {3, 1, 4},
       {.low = {4}, .high = {0}, .dilation = {2}, .groups = 4},
       "1 dimension, dilated depthwise"},
      {{2, 5, 4, 6, 3}, {2, 3, 3, 3, 4}, {.strides = {1, 2, 1}, .low = {0, 1, 1}, .high = {1, 1, 1}}, "3 dimensions"},
  };
}

Shape conv_shape(const Shape& x, const Shape& w, const ConvOptions& o) {
  Graph g;
  return conv(Tensor(&g, g.add_input({DType::kF32, x}, Role::kFeed, "x")),
              Tensor(&g, g.add_input({DType::kF32, w}, Role::kFeed, "w")), o)
      .shape();
}

void add_conv(Cases& cases, const ConvCase& c, DType t) {
  const Input x = uniform(t, c.x, 1), w = uniform(t, c.w, 2);
  const std::string what = cat(name_of(x), " ", c.w.str(), " ", c.what);
  const ConvOptions o = c.o;
  const Shape y = conv_shape(c.x, c.w, o);
  const int spatial = c.x.rank() - 2;
  const Ints size(c.x.begin() + 1, c.x.begin() + 1 + spatial), window(c.w.begin(), c.w.begin() + spatial);
  const Input dy = uniform(t, y, 3), bias = uniform(t, {y[-1]}, 4);
  add_op(cases, {"conv", what, {x, w}, [=](const Tensors& in) { return Tensors{conv(in[0], in[1], o)}; }});
  add_op(cases, {"conv_grad_input", what, {dy, w}, [=](const Tensors& in) {
                   return Tensors{conv_grad_input(in[0], in[1], size, o)};
                 }});
  add_op(cases, {"conv_grad_filter", what, {x, dy}, [=](const Tensors& in) {
                   return Tensors{conv_grad_filter(in[0], in[1], window, o)};
                 }});
  for (Activation act : kEpilogues) {
    if (t != DType::kF32 && act != Activation::kRelu) continue;
    add_op(cases, {"conv_bias_act", cat(what, " ", activation_name(act)), {x, w, bias, dy}, [=](const Tensors& in) {
                     return Tensors{
                         conv_bias_act(in[0], in[1], in[2], act == Activation::kRelu ? in[3] : Tensor(), act, 0.1, o)};
                   }});
  }
}

// Algorithms that the default precision allows. Whole numbers, as that precision may round operands.
struct WholeCase {
  Shape x, w;
  ConvOptions o;
  const char* what;
};

void add_default_precision_of(Cases& cases, const WholeCase& c) {
  const Input x = uniform(DType::kI32, c.x, 1), w = uniform(DType::kI32, c.w, 2);
  const Input dy = uniform(DType::kI32, conv_shape(c.x, c.w, c.o), 3);
  const auto whole = [](Tensor t) { return cast(t, DType::kF32); };
  const std::string what = cat("default precision, ", c.what);
  cases.push_back(op_case_as_built(
      {"conv", what, {x, w}, [=](const Tensors& in) { return Tensors{conv(whole(in[0]), whole(in[1]), c.o)}; }}));
  cases.push_back(
      op_case_as_built({"conv_grad_input", what, {dy, w}, [=](const Tensors& in) {
                          return Tensors{conv_grad_input(whole(in[0]), whole(in[1]), {c.x[1], c.x[2]}, c.o)};
                        }}));
  cases.push_back(
      op_case_as_built({"conv_grad_filter", what, {x, dy}, [=](const Tensors& in) {
                          return Tensors{conv_grad_filter(whole(in[0]), whole(in[1]), {c.w[0], c.w[1]}, c.o)};
                        }}));
}

void add_default_precision(Cases& cases) {
  add_default_precision_of(cases, {{1, 13, 14, 16}, {3, 3, 16, 32}, {.low = {1, 1}, .high = {1, 1}}, "3 x 3"});
  add_default_precision_of(
      cases, {{2, 11, 10, 16}, {3, 3, 16, 32}, {.low = {0, 2}, .high = {1, 1}}, "3 x 3, other pads on each side"});
  // With an activation's parameter; most results are below 0.
  for (Activation act : {Activation::kLeakyRelu, Activation::kElu})
    cases.push_back(op_case_as_built({"conv_bias_act",
                                      cat("default precision, alpha of ", activation_name(act)),
                                      {uniform(DType::kI32, {2, 13, 18, 16}, 1),
                                       uniform(DType::kI32, {3, 3, 16, 32}, 2), values(DType::kF32, {32}, {-3, -5})},
                                      [=](const Tensors& x) {
                                        return Tensors{conv_bias_act(cast(x[0], DType::kF32), cast(x[1], DType::kF32),
                                                                     x[2], {}, act, 0.3,
                                                                     {.low = {1, 1}, .high = {1, 1}})};
                                      }}));
}

void add_convs(Cases& cases) {
  for (const ConvCase& c : convs())
    for (DType t : kFloats) add_conv(cases, c, t);
  const Input x = uniform(DType::kBF16, {2, 6, 5, 3}, 1), w = uniform(DType::kBF16, {3, 3, 3, 4}, 2);
  add_op(cases, {"conv", "out f32 of bf16", {x, w}, [](const Tensors& in) {
                   return Tensors{conv(in[0], in[1], {.out = DType::kF32})};
                 }});
  const Input nan = values(DType::kF32, {1, 5, 5, 2}, {1, 2, 0, 3, kNaN, 1, 0, -1, 2, 4, 5, 1, 2, 3, kInf, 1, 2, 5, 1});
  add_op(cases, {"conv", "NaN", {nan, values(DType::kF32, {2, 2, 2, 3}, {1, 0, 2, -3, 1})}, [](const Tensors& in) {
                   return Tensors{conv(in[0], in[1], {.low = {1, 1}})};
                 }});
  add_op(cases,
         {"conv_bias_act",
          "neither bias nor residual",
          {uniform(DType::kF32, {2, 6, 5, 3}, 1), uniform(DType::kF32, {3, 3, 3, 4}, 2)},
          [](const Tensors& in) { return Tensors{conv_bias_act(in[0], in[1], {}, {}, Activation::kRelu, 0, {})}; }});
  add_default_precision(cases);
  static const char* const kPrecisions[] = {"default", "high", "highest"};
  for (int p = 0; p < 3; ++p)
    cases.push_back(op_case_as_built(
        {"conv",
         cat("precision ", kPrecisions[p]),
         {uniform(DType::kF32, {2, 6, 5, 7}, 1), uniform(DType::kF32, {3, 3, 7, 4}, 2)},
         [=](const Tensors& x) { return Tensors{conv(x[0], x[1], {.precision = static_cast<MathPrecision>(p)})}; }}));
}

void add_bias_grads(Cases& cases) {
  for (DType t : kFloats)
    for (Activation act : {Activation::kNone, Activation::kRelu, Activation::kTanh, Activation::kGelu})
      for (const Shape& s : {Shape{7}, Shape{5, 3}, Shape{33, 17}, Shape{2, 3, 5, 16}, Shape{200, 40}}) {
        if (t != DType::kF32 && s.elements() > 600) continue;
        add_op(cases, {"bias_act_grad",
                       cat(name_of({t, s}), " ", activation_name(act)),
                       {uniform(t, s, 1), uniform(t, s, 2)},
                       [=](const Tensors& x) {
                         const Tensor y = gradient_from_result(act) ? activation(x[1], act) : x[1];
                         const BiasActGrad g = bias_act_grad(x[0], y, act);
                         return Tensors{g.dz, g.dbias};
                       }});
      }
  add_op(cases, {"bias_act_grad",
                 "relu of NaN",
                 {uniform(DType::kF32, {5, 33}, 1), values(DType::kF32, {5, 33}, {1, kNaN, 0, 2, -1})},
                 [](const Tensors& x) {
                   const BiasActGrad g = bias_act_grad(x[0], x[1], Activation::kRelu);
                   return Tensors{g.dz, g.dbias};
                 }});
}

}  // namespace

void add_contraction_cases(Cases& cases) {
  add_dots(cases);
  add_convs(cases);
  add_bias_grads(cases);
}

}  // namespace tenon::corpus

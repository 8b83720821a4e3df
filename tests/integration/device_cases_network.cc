#include "integration/device_cases.h"

namespace tenon::device_testing {
namespace {

Feed i64_scalar(double v) { return op_testing::of(DType::kI64, {}, {v}); }

void add_batch_norms(Cases& cases) {
  for (DType t : kFloats)
    for (const Shape& s : {Shape{4, 1}, Shape{16, 7}, Shape{3, 5, 5, 16}, Shape{2, 9, 7, 33}, Shape{130, 8}}) {
      const DType stat = t == DType::kF64 ? DType::kF64 : DType::kF32;
      const Shape c{s[-1]};
      const Feed x = random_feed(t, s, 1, -1, 3), gamma = random_feed(stat, c, 2, 0.5, 2), beta = random_feed(stat, c, 3), mean = random_feed(stat, c, 4),
                 var = random_feed(stat, c, 5, 0.5, 2), dy = random_feed(t, s, 6), residual = random_feed(t, s, 7);
      for (Activation act : {Activation::kNone, Activation::kRelu, Activation::kTanh})
        for (bool with : {false, true}) {
          if (t != DType::kF32 && (act != Activation::kRelu || !with)) continue;
          const NormOptions o{.act = act};
          const std::string what = name_of(x.type) + " " + std::string(activation_name(act)) + (with ? " residual" : "");
          cases.push_back({"batch_norm", what, {x, gamma, beta, residual}, [=](const Tensors& in) {
                             const Normalized r = batch_norm(in[0], in[1], in[2], with ? in[3] : Tensor(), o);
                             return Tensors{r.y, r.mean, r.var};
                           }});
          cases.push_back({"batch_norm_apply", what, {x, gamma, beta, mean, var, residual}, [=](const Tensors& in) {
                             return Tensors{batch_norm_apply(in[0], in[1], in[2], in[3], in[4], with ? in[5] : Tensor(), o)};
                           }});
          cases.push_back({"batch_norm_grad", what, {x, gamma, beta, residual, dy}, [=](const Tensors& in) {
                             const Normalized r = batch_norm(in[0], in[1], in[2], with ? in[3] : Tensor(), o);
                             const BatchNormGrad g = batch_norm_grad(in[4], in[0], in[1], r.mean, r.var, act == Activation::kNone ? Tensor() : r.y, with, o);
                             return Tensors{g.dx, g.dgamma, g.dbeta, g.dresidual};
                           }});
        }
    }
}

void add_layer_norms(Cases& cases) {
  struct Layer {
    Shape x, gamma;
    Ints axes;
  };
  const Layer kLayers[] = {{{5, 7}, {7}, {1}}, {{33, 64}, {64}, {1}}, {{2, 3, 17}, {17}, {2}}, {{4, 3, 8}, {3, 8}, {1, 2}}, {{2, 5, 6, 9}, {9}, {1, 2}}, {{3, 1}, {1}, {1}}};
  for (DType t : kFloats)
    for (const Layer& l : kLayers)
      for (bool center : {true, false})
        for (bool with_beta : {true, false}) {
          const DType stat = t == DType::kF64 ? DType::kF64 : DType::kF32;
          const Ints axes = l.axes;
          const Feed x = random_feed(t, l.x, 1, -1, 3), gamma = random_feed(stat, l.gamma, 2, 0.5, 2), beta = random_feed(stat, l.gamma, 3), dy = random_feed(t, l.x, 4);
          const std::string what = name_of(x.type) + (center ? " centred" : "") + (with_beta ? " beta" : "");
          cases.push_back({"layer_norm", what, {x, gamma, beta}, [=](const Tensors& in) {
                             const Normalized r = layer_norm(in[0], in[1], with_beta ? in[2] : Tensor(), axes, 1e-3, center);
                             return Tensors{r.y, r.mean, r.var};
                           }});
          cases.push_back({"layer_norm_grad", what, {x, gamma, dy}, [=](const Tensors& in) {
                             const Normalized r = layer_norm(in[0], in[1], {}, axes, 1e-3, center);
                             const LayerNormGrad g = layer_norm_grad(in[2], in[0], in[1], r.mean, r.var, axes, 1e-3, center, with_beta);
                             return Tensors{g.dx, g.dgamma, g.dbeta};
                           }});
        }
}

void add_softmaxes(Cases& cases) {
  for (DType t : kFloats)
    for (const Shape& s : {Shape{7}, Shape{5, 33}, Shape{3, 1}, Shape{2, 3, 17}, Shape{4, 1000}})
      for (int64_t axis = 0; axis < s.rank(); ++axis) {
        const Feed x = random_feed(t, s, 1, -6, 6), dy = random_feed(t, s, 2);
        const std::string what = name_of(x.type) + " axis " + std::to_string(axis);
        cases.push_back({"softmax", what, {x}, [=](const Tensors& in) { return Tensors{softmax(in[0], axis)}; }});
        cases.push_back({"log_softmax", what, {x}, [=](const Tensors& in) { return Tensors{log_softmax(in[0], axis)}; }});
        cases.push_back({"softmax_grad", what, {dy, x}, [=](const Tensors& in) { return Tensors{softmax_grad(in[0], softmax(in[1], axis), axis)}; }});
        cases.push_back({"log_softmax_grad", what, {dy, x}, [=](const Tensors& in) { return Tensors{log_softmax_grad(in[0], log_softmax(in[1], axis), axis)}; }});
      }
  const double inf = op_testing::kInf, nan = op_testing::kNaN;
  const Feed odd = op_testing::f32({5, 3}, {1e30, 0, 1e30, -inf, 0, 1, -inf, -inf, -inf, nan, 0, 1, inf, 0, 1});
  cases.push_back({"softmax", "edges", {odd}, [](const Tensors& in) { return Tensors{softmax(in[0])}; }});
  cases.push_back({"log_softmax", "edges", {op_testing::f32({3, 3}, {1e30, 0, 1e30, nan, 0, 1, 1000, 0, -1000})}, [](const Tensors& in) { return Tensors{log_softmax(in[0])}; }});
}

void add_cross_entropies(Cases& cases) {
  const auto add = [&](const Feed& x, const Feed& label, const CrossEntropyOptions& o) {
    Shape rows(x.type.shape.dims().first(static_cast<size_t>(x.type.shape.rank() - 1)));
    const Feed dloss = random_feed(x.type.dtype == DType::kF64 ? DType::kF64 : DType::kF32, rows, 5);
    const std::string what = name_of(x.type) + " " + name_of(label.type);
    cases.push_back({"softmax_cross_entropy", what, {x, label}, [=](const Tensors& in) {
                       const CrossEntropy r = softmax_cross_entropy_per_example(in[0], in[1], o);
                       return Tensors{r.loss, r.lse};
                     }});
    cases.push_back({"softmax_cross_entropy_grad", what, {x, label, dloss}, [=](const Tensors& in) {
                       const CrossEntropy r = softmax_cross_entropy_per_example(in[0], in[1], o);
                       return Tensors{softmax_cross_entropy_grad(in[2], in[0], in[1], r.lse, o)};
                     }});
  };
  for (DType t : kFloats)
    for (const Shape& s : {Shape{5, 10}, Shape{3, 1}, Shape{2, 3, 33}, Shape{4, 1000}}) {
      Shape rows(s.dims().first(static_cast<size_t>(s.rank() - 1)));
      const Feed x = random_feed(t, s, 1, -5, 5);
      for (DType i : {DType::kI32, DType::kI64}) {
        add(x, random_feed(i, rows, 2, 0, static_cast<double>(s[-1])), {});
        add(x, random_feed(i, rows, 2, -2, static_cast<double>(s[-1] + 2)), {.on = 0.9, .off = 0.01, .ignore = -1});
      }
      add(x, random_feed(t, s, 3, 0, 1), {});
    }
}

void add_dropouts(Cases& cases) {
  for (DType t : kFloats)
    for (const Shape& s : {Shape{}, Shape{3}, Shape{67}, Shape{33, 65}})
      for (double rate : {0.0, 0.25, 0.9, 1.0})
        for (bool with : {false, true})
          cases.push_back({"dropout", name_of({t, s}) + " " + std::to_string(rate), {random_feed(t, s, 1, 1, 2), i64_scalar(77), i64_scalar(-3), random_feed(t, s, 2)},
                           [=](const Tensors& x) { return Tensors{dropout(x[0], x[1], x[2], with ? x[3] : Tensor(), rate, 0x12345678)}; }});
}

struct AttentionCase {
  Shape q, k;
  Shape bias;  // rank 0: none
  AttentionOptions o;
};

void add_attentions(Cases& cases) {
  const AttentionCase kAttentions[] = {
      {{2, 5, 3, 8}, {2, 5, 3, 8}, {}, {.scale = 0.35}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {}, {}},
      {{2, 7, 4, 5}, {2, 9, 2, 5}, {}, {.scale = 0.5, .causal = true}},
      {{1, 17, 2, 16}, {1, 13, 2, 16}, {}, {.scale = 0.25, .causal = true}},
      {{2, 6, 2, 4}, {2, 11, 1, 4}, {1, 2, 6, 11}, {.scale = 0.5}},
      {{2, 6, 2, 4}, {2, 11, 1, 4}, {2, 1, 1, 11}, {.scale = 0.5}},
      {{1, 33, 2, 8}, {1, 33, 2, 8}, {}, {.scale = 0.3, .rate = 0.25, .stream = 99}},
  };
  for (DType t : kFloats)
    for (const AttentionCase& c : kAttentions) {
      const AttentionOptions o = c.o;
      const bool biased = c.bias.rank() > 0, dropped = o.rate > 0;
      const Feed q = random_feed(t, c.q, 1), k = random_feed(t, c.k, 2), v = random_feed(t, c.k, 3), dy = random_feed(t, c.q, 4),
                 bias = biased ? random_feed(t, c.bias, 5) : random_feed(t, {}, 5);
      const std::string what = name_of(q.type) + " " + c.k.str() + " bias " + c.bias.str();
      const std::vector<Feed> feeds{q, k, v, bias, i64_scalar(5), i64_scalar(6), dy};
      const auto forward = [=](const Tensors& x) {
        return attention(x[0], x[1], x[2], biased ? x[3] : Tensor(), dropped ? x[4] : Tensor(), dropped ? x[5] : Tensor(), o);
      };
      cases.push_back({"attention", what, feeds, [=](const Tensors& x) {
                         const Attention r = forward(x);
                         return Tensors{r.y, r.lse};
                       }});
      cases.push_back({"attention_grad", what, feeds, [=](const Tensors& x) {
                         const Attention r = forward(x);
                         const AttentionGrad g = attention_grad(x[6], x[0], x[1], x[2], biased ? x[3] : Tensor(), dropped ? x[4] : Tensor(),
                                                                dropped ? x[5] : Tensor(), r.y, r.lse, o);
                         return Tensors{g.dq, g.dk, g.dv, g.dbias};
                       },
                       !biased});  // a bias that repeats gathers from many heads: left to a reduction
    }
}

void add_recurrent(Cases& cases) {
  for (DType t : kFloats)
    for (const auto& [B, T, I, U] : {std::array<int64_t, 4>{2, 3, 5, 4}, {1, 1, 1, 1}, {3, 5, 7, 8}, {5, 4, 9, 17}}) {
      const auto weights = [&, B = B, T = T, I = I, U = U](int64_t gates) {
        return std::vector<Feed>{random_feed(t, {B, T, I}, 1),     random_feed(t, {B, U}, 2),         random_feed(t, {B, U}, 3),  random_feed(t, {I, gates * U}, 4, -0.5, 0.5),
                                 random_feed(t, {U, gates * U}, 5, -0.5, 0.5), random_feed(t, {gates * U}, 6), random_feed(t, {gates * U}, 7), random_feed(t, {B, T, U}, 8)};
      };
      const std::string what = name_of({t, {B, T, I}});
      cases.push_back({"lstm", what, weights(4), [](const Tensors& x) {
                         const Recurrent r = lstm(x[0], x[1], x[2], x[3], x[4], x[5]);
                         return Tensors{r.y, r.c, r.gates};
                       }});
      cases.push_back({"lstm_grad", what, weights(4), [](const Tensors& x) {
                         const Recurrent r = lstm(x[0], x[1], x[2], x[3], x[4], x[5]);
                         return emit_all("lstm_grad", {x[7], x[2], x[0], x[1], x[2], x[3], x[4], x[5], r.y, r.gates});
                       }});
      cases.push_back({"gru", what, weights(3), [](const Tensors& x) {
                         const Recurrent r = gru(x[0], x[1], x[3], x[4], x[5], x[6]);
                         return Tensors{r.y, r.gates};
                       }});
      cases.push_back({"gru_grad", what, weights(3), [](const Tensors& x) {
                         const Recurrent r = gru(x[0], x[1], x[3], x[4], x[5], x[6]);
                         return emit_all("gru_grad", {x[7], x[0], x[1], x[3], x[4], x[5], x[6], r.y, r.gates});
                       }});
    }
}

void add_images(Cases& cases) {
  for (DType t : kFloats)
    for (const auto& [from, h, w] : {std::tuple<Shape, int64_t, int64_t>{{2, 5, 7, 3}, 10, 4}, {{1, 1, 1, 1}, 3, 2}, {{2, 6, 4, 8}, 3, 8}, {{1, 5, 5, 2}, 1, 1}})
      for (int method = 0; method < 2; ++method)
        for (int coords = 0; coords < 3; ++coords) {
          const int64_t H = h, W = w;
          cases.push_back({"resize", name_of({t, from}) + " method " + std::to_string(method) + " coords " + std::to_string(coords), {random_feed(t, from, 1)},
                           [=](const Tensors& x) { return Tensors{resize(x[0], H, W, static_cast<ResizeMethod>(method), static_cast<Coordinates>(coords))}; }});
        }
  // Turned, sheared and moved by steps that f32 holds, so that no pixel lies on an edge by rounding alone.
  const Feed theta = repeated(DType::kF32, {2, 8}, {0.9375, -0.21875, 1.34375, 0.21875, 0.9375, -2.15625, 0, 0, 1.28125, 0, -3.28125, 0.125, 0.78125, 0.40625, 0.0078125, 0});
  for (DType t : kAll)
    for (int method = 0; method < 2; ++method)
      for (int fill = 0; fill < 4 && !(t == DType::kBool && method == 1); ++fill)
        cases.push_back({"affine_image", std::string(dtype_name(t)) + " method " + std::to_string(method) + " fill " + std::to_string(fill),
                         {random_feed(t, {2, 7, 9, 3}, 1, t == DType::kU8 ? 0 : -100, 100), theta}, [=](const Tensors& x) {
                           return Tensors{affine_image(x[0], x[1], 6, 8, static_cast<ResizeMethod>(method), static_cast<FillMode>(fill))};
                         }});
  for (DType t : kAll)
    for (DType i : {DType::kI32, DType::kI64})
      cases.push_back({"crop_flip", std::string(dtype_name(t)), {random_feed(t, {5, 7, 9, 3}, 1, 0, 100), random_feed(i, {5}, 2, -2, 5), random_feed(i, {5}, 3, -2, 6), random_feed(DType::kBool, {5}, 4, -1, 1)},
                       [](const Tensors& x) { return Tensors{crop_flip(x[0], x[1], x[2], x[3], 4, 5)}; }});
}

}  // namespace

void add_network_cases(Cases& cases) {
  add_batch_norms(cases);
  add_layer_norms(cases);
  add_softmaxes(cases);
  add_cross_entropies(cases);
  add_dropouts(cases);
  add_attentions(cases);
  add_recurrent(cases);
  add_images(cases);
}

}  // namespace tenon::device_testing

// One to three shapes of every op that has a gradient. Small: each element is moved by itself to check it.
#include "base/strings.h"
#include "corpus/corpus.h"
#include "corpus/gradient.h"

namespace tenon::corpus {
namespace {

constexpr DType kF32 = DType::kF32;

using One = std::function<Tensor(const Tensors&)>;

void add_one(Cases& cases, const char* op, const std::string& name, const Inputs& inputs, const One& f) {
  add_gradient(cases, {op, name, inputs, [f](const Tensors& x) { return Tensors{f(x)}; }});
}

struct UnaryOp {
  const char* op;
  Tensor (*f)(Tensor);
  double low, high;
};
const UnaryOp kUnaryOps[] = {{"neg", neg, -2, 2},     {"abs", abs, -2, 2},  {"exp", exp, -2, 2},
                             {"expm1", expm1, -2, 2}, {"log", log, 0.1, 4}, {"log1p", log1p, -0.8, 3},
                             {"sqrt", sqrt, 0.1, 4},  {"sin", sin, -3, 3},  {"cos", cos, -3, 3},
                             {"tanh", tanh, -3, 3},   {"erf", erf, -2, 2},  {"erfc", erfc, -2, 2}};

struct BinaryOp {
  const char* op;
  Tensor (*f)(Tensor, Tensor);
  double low, high;
};
const BinaryOp kBinaryOps[] = {{"add", add, -2, 2},  {"sub", sub, -2, 2},     {"mul", mul, -2, 2},
                               {"div", div, 0.5, 2}, {"max", maximum, -2, 2}, {"min", minimum, -2, 2},
                               {"pow", pow, 0.2, 3}, {"atan2", atan2, 0.2, 2}};

void add_elementwise_gradients(Cases& cases) {
  for (const UnaryOp& u : kUnaryOps)
    for (const auto& [t, s] : {std::pair<DType, Shape>{kF32, {3, 5}}, {DType::kF64, {7}}, {DType::kBF16, {7}}})
      add_one(cases, u.op, name_of({t, s}), {uniform(t, s, 1, u.low, u.high)},
              [f = u.f](const Tensors& x) { return f(x[0]); });
  for (const BinaryOp& b : kBinaryOps) {
    const auto add = [&](DType t, const Shape& p, const Shape& q) {
      add_one(cases, b.op, cat(name_of({t, p}), " ", name_of({t, q})),
              {uniform(t, p, 1, b.low, b.high), uniform(t, q, 2, b.low, b.high)},
              [f = b.f](const Tensors& x) { return f(x[0], x[1]); });
    };
    add(kF32, {3, 5}, {3, 5});
    add(kF32, {}, {7});
    add(kF32, {7}, {});
    add(DType::kF64, {5}, {5});
  }
  const Input c = uniform(DType::kBool, {3, 5}, 9, -1, 1);
  add_one(cases, "select", "f32[3,5]", {c, uniform(kF32, {3, 5}, 1), uniform(kF32, {3, 5}, 2)},
          [](const Tensors& x) { return select(x[0], x[1], x[2]); });
  add_one(cases, "select", "scalar", {c, uniform(kF32, {}, 1), uniform(kF32, {3, 5}, 2)},
          [](const Tensors& x) { return select(x[0], x[1], x[2]); });
  add_one(cases, "cast", "f32 to f64", {uniform(kF32, {7}, 1)},
          [](const Tensors& x) { return cast(x[0], DType::kF64); });
  add_one(cases, "cast", "bf16 to f32", {uniform(DType::kBF16, {7}, 1)},
          [](const Tensors& x) { return cast(x[0], kF32); });
}

void add_movement_gradients(Cases& cases) {
  const auto add = [&](const char* op, const std::string& name, const Shape& s, Tensor (*f)(Tensor)) {
    add_one(cases, op, name, {uniform(kF32, s, 1)}, [f](const Tensors& x) { return f(x[0]); });
  };
  add("reshape", "f32[4,6]", {4, 6}, [](Tensor x) { return reshape(x, {3, 8}); });
  add("transpose", "f32[2,3,5]", {2, 3, 5}, [](Tensor x) { return transpose(x, {2, 0, 1}); });
  add("broadcast", "f32[3,1]", {3, 1}, [](Tensor x) { return broadcast(x, {2, 3, 5}, {1, 2}); });
  add("broadcast", "scalar", {}, [](Tensor x) { return broadcast(x, {7}, {}); });
  add("slice", "f32[7,5]", {7, 5}, [](Tensor x) { return slice(x, {1, 0}, {6, 4}, {2, 3}); });
  add("pad", "f32[3,4]", {3, 4}, [](Tensor x) { return pad(x, {1, 0}, {0, 2}, {2, 1}, 3); });
  add("reverse", "f32[3,5]", {3, 5}, [](Tensor x) { return reverse(x, {1}); });
  add("sort", "f32[3,7]", {3, 7}, [](Tensor x) { return sort(x, 4, true).values; });
  add("cumsum", "f32[3,7]", {3, 7}, [](Tensor x) { return cumsum(x, 1); });
  add("cumsum", "exclusive reverse", {5, 3}, [](Tensor x) { return cumsum(x, 0, true, true); });
  add("all_gather", "f32[3,2]", {3, 2}, [](Tensor x) { return all_gather(x, 0); });
  add("reduce_scatter", "f32[3,2]", {3, 2}, [](Tensor x) { return reduce_scatter(x, 0); });
  add("resize", "bilinear", {1, 3, 4, 2},
      [](Tensor x) { return resize(x, 5, 6, ResizeMethod::kBilinear, Coordinates::kHalfPixel); });
  add("resize", "nearest", {1, 3, 4, 2},
      [](Tensor x) { return resize(x, 5, 6, ResizeMethod::kNearest, Coordinates::kLegacy); });
  add_one(cases, "concat", "f32[2,3]", {uniform(kF32, {2, 3}, 1), uniform(kF32, {2, 1}, 2), uniform(kF32, {2, 4}, 3)},
          [](const Tensors& x) {
            return concat({x[0], x[1], x[2], x[1]}, 1);
          });
  add_gradient(cases, {"all_reduce", "sum", {uniform(kF32, {3}, 1), uniform(kF32, {2, 2}, 2)}, [](const Tensors& x) {
                         return all_reduce(x, ReduceKind::kSum);
                       }});
  add_one(cases, "crop_flip", "f32[3,5,6,2]",
          {uniform(kF32, {3, 5, 6, 2}, 1), values(DType::kI32, {3}, {0, 2, -1}), values(DType::kI32, {3}, {1, -2, 4}),
           values(DType::kBool, {3}, {0, 1, 1})},
          [](const Tensors& x) { return crop_flip(x[0], x[1], x[2], x[3], 4, 3); });
}

void add_indexed_gradients(Cases& cases) {
  const Input x = uniform(kF32, {5, 3}, 1), i = values(DType::kI32, {6}, {4, 0, -1, 4, 5, 2});
  add_one(cases, "gather", "rows", {x, i}, [](const Tensors& in) { return gather(in[0], in[1], 0); });
  add_one(cases, "gather", "batch", {uniform(kF32, {2, 4, 3}, 1), values(DType::kI64, {2, 3}, {3, 3, 0, 1, -1, 4})},
          [](const Tensors& in) { return gather(in[0], in[1], 1, 1); });
  add_one(cases, "scatter", "add", {x, i, uniform(kF32, {6, 3}, 2)},
          [](const Tensors& in) { return scatter(in[0], in[1], in[2], 0, 0, ScatterKind::kAdd); });
  add_one(cases, "scatter", "set", {x, values(DType::kI32, {4}, {3, 0, -1, 1}), uniform(kF32, {4, 3}, 2)},
          [](const Tensors& in) { return scatter(in[0], in[1], in[2], 0, 0, ScatterKind::kSet); });
}

void add_reduction_gradients(Cases& cases) {
  static const char* const kKinds[] = {"sum", "prod", "max", "min"};
  for (int kind = 0; kind < 4; ++kind)
    for (const Ints& axes : {Ints{1}, Ints{0, 2}})
      add_one(cases, "reduce", cat(kKinds[kind], axes.size() > 1 ? " of two axes" : ""),
              {uniform(kF32, {3, 4, 2}, 1, 0.5, 2)},
              [=](const Tensors& x) { return reduce(x[0], axes, static_cast<ReduceKind>(kind)); });
  add_one(cases, "global_norm", "of two", {uniform(kF32, {7}, 1), uniform(kF32, {2, 3}, 2)},
          [](const Tensors& x) { return global_norm(x); });
}

void add_contraction_gradients(Cases& cases) {
  for (int flags = 0; flags < 4; ++flags) {
    const DotOptions o{.ta = (flags & 1) != 0, .tb = (flags & 2) != 0};
    add_one(cases, "dot", cat("flags ", flags),
            {uniform(kF32, o.ta ? Shape{2, 4, 3} : Shape{2, 3, 4}, 1),
             uniform(kF32, o.tb ? Shape{2, 5, 4} : Shape{2, 4, 5}, 2)},
            [=](const Tensors& x) { return dot(x[0], x[1], o); });
  }
  const Input a = uniform(kF32, {3, 4}, 1), b = uniform(kF32, {4, 5}, 2), bias = uniform(kF32, {5}, 3),
              residual = uniform(kF32, {3, 5}, 4);
  for (Activation act : {Activation::kNone, Activation::kRelu, Activation::kTanh, Activation::kGelu})
    add_one(cases, "dot_bias_act", std::string(activation_name(act)), {a, b, bias, residual}, [=](const Tensors& x) {
      return dot_bias_act(x[0], x[1], x[2], act == Activation::kRelu ? x[3] : Tensor(), act);
    });
  struct Conv {
    const char* name;
    Shape x, w;
    ConvOptions o;
  };
  const Conv kConvs[] = {{"same", {1, 4, 5, 2}, {3, 3, 2, 3}, {.low = {1, 1}, .high = {1, 1}}},
                         {"strides", {1, 6, 5, 2}, {3, 2, 2, 2}, {.strides = {2, 3}, .low = {1, 0}, .high = {0, 1}}},
                         {"dilation", {1, 6, 6, 1}, {2, 3, 1, 2}, {.low = {1, 1}, .high = {0, 1}, .dilation = {3, 2}}},
                         {"groups", {1, 4, 4, 4}, {3, 3, 2, 4}, {.low = {1, 1}, .high = {1, 1}, .groups = 2}},
                         {"depthwise", {1, 4, 4, 3}, {2, 2, 1, 3}, {.groups = 3}},
                         {"1 dimension", {2, 6, 2}, {3, 2, 2}, {.low = {2}}},
                         {"3 dimensions", {1, 3, 3, 3, 1}, {2, 2, 2, 1, 2}, {.strides = {1, 2, 1}}}};
  for (const Conv& c : kConvs) {
    const Input x = uniform(kF32, c.x, 1), w = uniform(kF32, c.w, 2);
    const ConvOptions o = c.o;
    add_one(cases, "conv", c.name, {x, w}, [=](const Tensors& in) { return conv(in[0], in[1], o); });
    add_one(cases, "conv_bias_act", c.name, {x, w, uniform(kF32, {c.w[-1]}, 3)},
            [=](const Tensors& in) { return conv_bias_act(in[0], in[1], in[2], {}, Activation::kTanh, 0, o); });
  }
  const ConvOptions o{.strides = {2, 2}, .low = {1, 1}, .high = {1, 1}};
  add_one(cases, "conv_grad_input", "strides", {uniform(kF32, {1, 3, 3, 2}, 1), uniform(kF32, {3, 3, 2, 2}, 2)},
          [=](const Tensors& x) {
            return conv_grad_input(x[0], x[1], {5, 5}, o);
          });
  add_one(cases, "conv_grad_filter", "strides", {uniform(kF32, {1, 5, 5, 2}, 1), uniform(kF32, {1, 3, 3, 2}, 2)},
          [=](const Tensors& x) {
            return conv_grad_filter(x[0], x[1], {3, 3}, o);
          });
}

void add_network_gradients(Cases& cases) {
  const PoolOptions overlap{.window = {3, 2}, .strides = {2, 1}, .low = {1, 0}, .high = {1, 1}},
      disjoint{.window = {2, 2}, .strides = {2, 2}};
  for (const auto& [name, o] : {std::pair{"overlapping", overlap}, {"disjoint", disjoint}}) {
    add_one(cases, "max_pool", name, {uniform(kF32, {1, 4, 6, 2}, 1)},
            [o = o](const Tensors& x) { return max_pool(x[0], o); });
    add_one(cases, "avg_pool", name, {uniform(kF32, {1, 4, 6, 2}, 1)},
            [o = o](const Tensors& x) { return avg_pool(x[0], o); });
    const int64_t rows = 2, columns = o.low.empty() ? 3 : 6;
    add_one(cases, "avg_pool_grad", name, {uniform(kF32, {1, rows, columns, 2}, 1)}, [o = o](const Tensors& x) {
      return avg_pool_grad(x[0], {4, 6}, o);
    });
  }
  const Input gamma = uniform(kF32, {3}, 2, 0.5, 2), beta = uniform(kF32, {3}, 3), x = uniform(kF32, {2, 3, 2, 3}, 1),
              residual = uniform(kF32, {2, 3, 2, 3}, 4);
  for (Activation act : {Activation::kNone, Activation::kRelu})
    for (bool with : {false, true}) {
      const NormOptions o{.act = act};
      const std::string name = cat(activation_name(act), with ? " residual" : "");
      add_one(cases, "batch_norm", name, {x, gamma, beta, residual},
              [=](const Tensors& in) { return batch_norm(in[0], in[1], in[2], with ? in[3] : Tensor(), o).y; });
      add_one(cases, "batch_norm_apply", name,
              {x, gamma, beta, uniform(kF32, {3}, 5), uniform(kF32, {3}, 6, 0.5, 2), residual}, [=](const Tensors& in) {
                return batch_norm_apply(in[0], in[1], in[2], in[3], in[4], with ? in[5] : Tensor(), o);
              });
    }
  for (bool center : {true, false})
    add_one(cases, "layer_norm", center ? "centred" : "root mean square",
            {uniform(kF32, {4, 7}, 1), uniform(kF32, {7}, 2, 0.5, 2), uniform(kF32, {7}, 3)}, [=](const Tensors& in) {
              return layer_norm(in[0], in[1], center ? in[2] : Tensor(), {1}, 1e-3, center).y;
            });
  add_one(cases, "layer_norm", "group",
          {uniform(kF32, {2, 3, 4}, 1), uniform(kF32, {4}, 2, 0.5, 2), uniform(kF32, {4}, 3)}, [=](const Tensors& in) {
            return layer_norm(in[0], in[1], in[2], {1, 2}, 1e-3).y;
          });
  for (int64_t axis : {0, 1}) {
    add_one(cases, "softmax", cat("axis ", axis), {uniform(kF32, {4, 5}, 1)},
            [=](const Tensors& in) { return softmax(in[0], axis); });
    add_one(cases, "log_softmax", cat("axis ", axis), {uniform(kF32, {4, 5}, 1)},
            [=](const Tensors& in) { return log_softmax(in[0], axis); });
  }
  for (const Ints& axes : {Ints{1}, Ints{0, 2}})
    add_one(cases, "logsumexp", axes.size() > 1 ? "of two axes" : "of one", {uniform(kF32, {3, 4, 2}, 1)},
            [=](const Tensors& in) { return logsumexp(in[0], axes); });
  const auto loss = [](const Tensors& in) { return softmax_cross_entropy_per_example(in[0], in[1]).loss; };
  add_one(cases, "softmax_cross_entropy", "labels", {uniform(kF32, {4, 5}, 1), values(DType::kI32, {4}, {0, 4, 2, 2})},
          loss);
  add_one(cases, "softmax_cross_entropy", "smoothed, one ignored",
          {uniform(kF32, {4, 5}, 1), values(DType::kI64, {4}, {0, 4, -1, 2})}, [](const Tensors& in) {
            return softmax_cross_entropy_per_example(in[0], in[1], {.on = 0.9, .off = 0.025, .ignore = -1}).loss;
          });
  add_one(cases, "softmax_cross_entropy", "soft labels", {uniform(kF32, {4, 5}, 1), uniform(kF32, {4, 5}, 2, 0, 1)},
          loss);
  add_one(cases, "dropout", "rate 0.4", {uniform(kF32, {5, 7}, 1), seed_of(3), step_of(4)},
          [](const Tensors& in) { return dropout(in[0], in[1], in[2], {}, 0.4, 77); });
  add_one(cases, "dropout", "rate 0.4, first 3", {uniform(kF32, {5, 7}, 1), seed_of(3), step_of(4)},
          [](const Tensors& in) { return dropout(in[0], in[1], in[2], {}, 0.4, 77, 3); });
  add_one(cases, "dropout", "residual", {uniform(kF32, {5, 7}, 1), uniform(kF32, {5, 7}, 2), seed_of(3), step_of(4)},
          [](const Tensors& in) { return dropout(in[0], in[2], in[3], in[1], 0.4, 77); });
}

void add_activation_gradients(Cases& cases) {
  for (Activation act :
       {Activation::kRelu, Activation::kRelu6, Activation::kLeakyRelu, Activation::kElu, Activation::kSelu,
        Activation::kSigmoid, Activation::kTanh, Activation::kSoftplus, Activation::kGelu, Activation::kGeluTanh,
        Activation::kSilu, Activation::kMish, Activation::kHardSigmoid, Activation::kHardSwish}) {
    const double alpha = act == Activation::kLeakyRelu ? 0.2 : act == Activation::kElu ? 0.7 : 0;
    add_one(cases, "activation", std::string(activation_name(act)), {uniform(kF32, {31}, 1, -7, 8)},
            [=](const Tensors& x) { return activation(x[0], act, alpha); });
  }
}

void add_attention_gradients(Cases& cases) {
  const auto inputs = [](const Shape& q, const Shape& k, const Shape& bias) {
    return Inputs{uniform(kF32, q, 1),    uniform(kF32, k, 2), uniform(kF32, k, 3),
                  uniform(kF32, bias, 4), seed_of(5),          step_of(6)};
  };
  add_one(cases, "attention", "plain", inputs({1, 3, 2, 4}, {1, 4, 2, 4}, {}),
          [](const Tensors& x) { return attention(x[0], x[1], x[2], {}, {}, {}, {.scale = 0.5}).y; });
  add_one(cases, "attention", "causal, shared heads", inputs({1, 4, 4, 2}, {1, 4, 2, 2}, {}),
          [](const Tensors& x) { return attention(x[0], x[1], x[2], {}, {}, {}, {.scale = 0.7, .causal = true}).y; });
  add_one(cases, "attention", "bias", inputs({2, 3, 2, 2}, {2, 3, 2, 2}, {1, 2, 3, 3}),
          [](const Tensors& x) { return attention(x[0], x[1], x[2], x[3], {}, {}, {.scale = 0.7}).y; });
  add_one(cases, "attention", "dropout", inputs({1, 4, 2, 2}, {1, 5, 2, 2}, {}), [](const Tensors& x) {
    return attention(x[0], x[1], x[2], {}, x[4], x[5], {.scale = 0.7, .rate = 0.3, .stream = 9}).y;
  });
  add_one(cases, "attention", "dropout, first 3", inputs({1, 4, 2, 2}, {1, 5, 2, 2}, {}), [](const Tensors& x) {
    return attention(x[0], x[1], x[2], {}, x[4], x[5], {.scale = 0.7, .rate = 0.3, .stream = 9, .first = 3}).y;
  });
  for (int64_t units : {1, 4}) {
    const auto of = [&](int64_t gates) {
      return Inputs{uniform(kF32, {2, 3, 3}, 1),
                    uniform(kF32, {2, units}, 2),
                    uniform(kF32, {2, units}, 3),
                    uniform(kF32, {3, gates * units}, 4),
                    uniform(kF32, {units, gates * units}, 5),
                    uniform(kF32, {gates * units}, 6),
                    uniform(kF32, {gates * units}, 7)};
    };
    add_gradient(cases, {"lstm", cat("units ", units), of(4), [](const Tensors& x) {
                           const Recurrent r = lstm(x[0], x[1], x[2], x[3], x[4], x[5]);
                           return Tensors{r.y, r.c};
                         }});
    add_one(cases, "gru", cat("units ", units), of(3),
            [](const Tensors& x) { return gru(x[0], x[1], x[3], x[4], x[5], x[6]).y; });
  }
}

}  // namespace

void add_gradient_cases(Cases& cases) {
  add_elementwise_gradients(cases);
  add_movement_gradients(cases);
  add_indexed_gradients(cases);
  add_reduction_gradients(cases);
  add_contraction_gradients(cases);
  add_network_gradients(cases);
  add_activation_gradients(cases);
  add_attention_gradients(cases);
}

}  // namespace tenon::corpus

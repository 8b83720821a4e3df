#include "integration/device_cases.h"

namespace tenon::device_testing {
namespace {

using op_testing::kInf;
using op_testing::kNaN;

constexpr Activation kEpilogues[] = {Activation::kNone, Activation::kRelu, Activation::kLeakyRelu, Activation::kTanh, Activation::kGelu};

void add_dots(Cases& cases) {
  const int64_t kSizes[][3] = {{1, 1, 1}, {1, 7, 1}, {5, 3, 2}, {17, 33, 9}, {16, 64, 32}, {67, 31, 65}, {1, 100, 33}, {6, 1, 16}, {64, 130, 1}};
  for (const auto& [m, k, n] : kSizes)
    for (int flags = 0; flags < 4; ++flags)
      for (DType t : kFloats) {
        const DotOptions o{.ta = (flags & 1) != 0, .tb = (flags & 2) != 0};
        const Feed a = random_feed(t, o.ta ? Shape{k, m} : Shape{m, k}, 1), b = random_feed(t, o.tb ? Shape{n, k} : Shape{k, n}, 2);
        const std::string what = name_of(a.type) + " " + name_of(b.type) + " flags " + std::to_string(flags);
        cases.push_back({"dot", what, {a, b}, [=](const Tensors& x) { return Tensors{dot(x[0], x[1], o)}; }});
        if (flags == 1) continue;
        for (Activation act : kEpilogues) {
          if (t != DType::kF32 && act != Activation::kTanh) continue;
          cases.push_back({"dot_bias_act", what + " " + std::string(activation_name(act)), {a, b, random_feed(t, {n}, 3), random_feed(t, {m, n}, 4)},
                           [=](const Tensors& x) { return Tensors{dot_bias_act(x[0], x[1], x[2], act == Activation::kTanh ? x[3] : Tensor(), act, 0.1, o)}; }});
        }
      }
  const Feed a = random_feed(DType::kF32, {2, 3, 5, 7}, 1), b = random_feed(DType::kF32, {2, 3, 7, 9}, 2);
  cases.push_back({"dot", "batches", {a, b}, [](const Tensors& x) { return Tensors{dot(x[0], x[1])}; }});
  cases.push_back({"dot_bias_act", "residual alone", {a, b, random_feed(DType::kF32, {2, 3, 5, 9}, 3)},
                   [](const Tensors& x) { return Tensors{dot_bias_act(x[0], x[1], {}, x[2], Activation::kRelu)}; }});
  for (DType t : {DType::kBF16, DType::kF16})
    cases.push_back({"dot", "out f32", {random_feed(t, {5, 37}, 1), random_feed(t, {37, 6}, 2)},
                     [](const Tensors& x) { return Tensors{dot(x[0], x[1], {.out = DType::kF32})}; }});
}

struct ConvCase {
  Shape x, w;
  ConvOptions o;
};

std::vector<ConvCase> convs() {
  return {
      {{2, 7, 7, 3}, {3, 3, 3, 5}, {}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
      {{2, 9, 6, 1}, {3, 3, 1, 32}, {.low = {1, 1}, .high = {1, 1}}},
      {{2, 8, 8, 16}, {3, 3, 16, 24}, {.low = {1, 1}, .high = {1, 1}}},
      {{2, 11, 7, 5}, {5, 2, 5, 9}, {.strides = {2, 3}, .low = {2, 0}, .high = {1, 1}}},
      {{3, 6, 6, 8}, {1, 1, 8, 13}, {.strides = {2, 2}}},
      {{1, 13, 13, 4}, {3, 3, 4, 6}, {.low = {2, 1}, .high = {2, 3}, .dilation = {2, 3}}},
      {{2, 7, 7, 6}, {3, 3, 2, 9}, {.low = {1, 1}, .high = {1, 1}, .groups = 3}},
      {{2, 9, 9, 16}, {3, 3, 1, 16}, {.low = {1, 1}, .high = {1, 1}, .groups = 16}},
      {{2, 9, 9, 7}, {3, 3, 1, 14}, {.strides = {2, 2}, .low = {0, 1}, .high = {1, 1}, .groups = 7}},
      {{1, 17, 17, 3}, {7, 7, 3, 8}, {.strides = {2, 2}, .low = {2, 2}, .high = {3, 3}}},
      {{3, 19, 5}, {4, 5, 6}, {.strides = {2}, .low = {3}}},
      {{2, 5, 4, 6, 3}, {2, 3, 3, 3, 4}, {.strides = {1, 2, 1}, .low = {0, 1, 1}, .high = {1, 1, 1}}},
  };
}

void add_convs(Cases& cases) {
  for (const ConvCase& c : convs())
    for (DType t : kFloats) {
      const Feed x = random_feed(t, c.x, 1), w = random_feed(t, c.w, 2);
      const std::string what = name_of(x.type) + " * " + name_of(w.type);
      const ConvOptions o = c.o;
      Shape y;
      {
        Graph g;
        const Tensor a(&g, g.add_input(x.type, Role::kFeed, "x")), b(&g, g.add_input(w.type, Role::kFeed, "w"));
        y = conv(a, b, o).shape();
      }
      const int spatial = c.x.rank() - 2;
      const Ints size(c.x.begin() + 1, c.x.begin() + 1 + spatial), window(c.w.begin(), c.w.begin() + spatial);
      const Feed dy = random_feed(t, y, 3), bias = random_feed(t, {y[-1]}, 4);
      cases.push_back({"conv", what, {x, w}, [=](const Tensors& in) { return Tensors{conv(in[0], in[1], o)}; }});
      cases.push_back({"conv_grad_input", what, {dy, w}, [=](const Tensors& in) { return Tensors{conv_grad_input(in[0], in[1], size, o)}; }});
      cases.push_back({"conv_grad_filter", what, {x, dy}, [=](const Tensors& in) { return Tensors{conv_grad_filter(in[0], in[1], window, o)}; }});
      for (Activation act : kEpilogues) {
        if (t != DType::kF32 && act != Activation::kRelu) continue;
        cases.push_back({"conv_bias_act", what + " " + std::string(activation_name(act)), {x, w, bias, dy},
                         [=](const Tensors& in) { return Tensors{conv_bias_act(in[0], in[1], in[2], act == Activation::kRelu ? in[3] : Tensor(), act, 0.1, o)}; }});
      }
    }
}

void add_bias_grads(Cases& cases) {
  for (DType t : kFloats)
    for (Activation act : {Activation::kNone, Activation::kRelu, Activation::kTanh, Activation::kGelu})
      for (const Shape& s : {Shape{7}, Shape{5, 3}, Shape{33, 17}, Shape{2, 3, 5, 16}, Shape{200, 40}})
        cases.push_back({"bias_act_grad", name_of({t, s}) + " " + std::string(activation_name(act)), {random_feed(t, s, 1), random_feed(t, s, 2)}, [=](const Tensors& x) {
                           const Tensor y = gradient_from_result(act) ? activation(x[1], act) : x[1];
                           const BiasActGrad g = bias_act_grad(x[0], y, act);
                           return Tensors{g.dz, g.dbias};
                         }});
}

struct PoolCase {
  Shape x;
  PoolOptions o;
};

void add_pool(Cases& cases, const PoolCase& c, const Feed& x, const std::string& what) {
  const PoolOptions o = c.o;
  const Ints size(c.x.begin() + 1, c.x.end() - 1);
  const DType t = x.type.dtype;
  Shape y;
  {
    Graph g;
    y = max_pool(Tensor(&g, g.add_input(x.type, Role::kFeed, "x")), o).shape();
  }
  const Feed dy = random_feed(t, y, 7);
  cases.push_back({"max_pool", what, {x}, [=](const Tensors& in) { return Tensors{max_pool(in[0], o)}; }});
  cases.push_back({"max_pool_grad", what, {x, dy}, [=](const Tensors& in) { return Tensors{max_pool_grad(in[0], max_pool(in[0], o), in[1], o)}; }});
  for (bool count : {false, true}) {
    PoolOptions p = o;
    p.count_pad = count;
    cases.push_back({"avg_pool", what, {x}, [=](const Tensors& in) { return Tensors{avg_pool(in[0], p)}; }});
    cases.push_back({"avg_pool_grad", what, {dy}, [=](const Tensors& in) { return Tensors{avg_pool_grad(in[0], size, p)}; }});
  }
}

void add_pools(Cases& cases) {
  const PoolCase kPools[] = {
      {{2, 6, 6, 3}, {.window = {2, 2}, .strides = {2, 2}}},
      {{1, 1, 1, 1}, {.window = {1, 1}}},
      {{2, 7, 9, 16}, {.window = {3, 3}, .strides = {2, 2}, .low = {1, 1}, .high = {1, 1}}},
      {{2, 7, 5, 33}, {.window = {3, 2}, .strides = {1, 1}, .low = {2, 0}, .high = {1, 1}}},
      {{1, 8, 8, 8}, {.window = {8, 8}}},
      {{1, 9, 9, 5}, {.window = {2, 2}, .strides = {3, 3}}},
      {{2, 13, 7}, {.window = {3}, .strides = {2}, .low = {1}}},
      {{1, 4, 5, 6, 3}, {.window = {2, 2, 3}, .strides = {2, 1, 2}, .high = {0, 1, 1}}},
  };
  for (const PoolCase& c : kPools) {
    for (DType t : kFloats) add_pool(cases, c, random_feed(t, c.x, 1), name_of({t, c.x}));
    add_pool(cases, c, repeated(DType::kF32, c.x, {0, 1, 0, -1, 1}), "ties " + c.x.str());
    add_pool(cases, c, repeated(DType::kF32, c.x, {0, kNaN, 1, 2, -kInf, kInf, -1, 3, 4, 5, 6}), "NaN " + c.x.str());
  }
}

Feed numbers(DType t, const Shape& s, int seed) { return random_feed(t, s, seed, is_float(t) ? -2 : -9, is_float(t) ? 2 : 9); }

void add_reductions(Cases& cases) {
  const std::pair<Shape, Ints> kReduced[] = {{{7}, {0}}, {{1031}, {0}}, {{5, 33}, {0}}, {{5, 33}, {1}}, {{5, 33}, {0, 1}}, {{3, 5, 17}, {1}}, {{3, 5, 17}, {0, 2}},
                                             {{2, 3, 4, 5}, {0, 1, 2}}, {{2, 3, 4, 5}, {1, 3}}, {{1, 1}, {0}}, {{6, 8}, {}}, {{300, 9}, {0}}};
  for (int kind = 0; kind < 4; ++kind)
    for (const auto& [shape, axes] : kReduced) {
      const Ints a = axes;
      const Build build = [=](const Tensors& x) { return Tensors{reduce(x[0], a, static_cast<ReduceKind>(kind))}; };
      const std::string name = "kind " + std::to_string(kind) + " ";
      for (DType t : kNumbers) {
        const bool product = kind == 1 && is_float(t);
        const Feed x = product ? random_feed(t, shape, 1, 0.97, 1.03) : numbers(t, shape, 1);
        cases.push_back({"reduce", name + name_of(x.type), {x}, build});
      }
      if (kind >= 2) cases.push_back({"reduce", name + "bool", {random_feed(DType::kBool, shape, 1, -1, 1)}, build});
      if (kind >= 2) cases.push_back({"reduce", name + "NaN", {repeated(DType::kF32, shape, {1, 2, -kInf, kInf, 3, kNaN, 0, 1, 5, 7, 8})}, build});
    }
}

void add_order(Cases& cases) {
  for (DType t : kNumbers)
    for (const Shape& s : {Shape{1}, Shape{7}, Shape{3, 16}, Shape{2, 3, 33}, Shape{1, 301}})
      for (bool descending : {false, true})
        for (int64_t k : {int64_t{1}, (s[-1] + 1) / 2, s[-1]}) {
          const Build build = [=](const Tensors& x) {
            const Sorted r = sort(x[0], k, descending);
            return Tensors{r.values, r.indices};
          };
          cases.push_back({"sort", name_of({t, s}) + " k " + std::to_string(k), {numbers(t, s, 1)}, build});
          if (t == DType::kF32) cases.push_back({"sort", "edges " + s.str(), {repeated(t, s, {1, kNaN, 0, kInf, 1, -kInf, kNaN, -0.0, 3, 1, 0})}, build});
        }
  for (DType t : kNumbers)
    for (const Shape& s : {Shape{1}, Shape{67}, Shape{5, 33}, Shape{3, 5, 7}})
      for (int64_t axis = 0; axis < s.rank(); ++axis) {
        for (ReduceKind kind : {ReduceKind::kMax, ReduceKind::kMin}) {
          const Build build = [=](const Tensors& x) { return Tensors{argmax(x[0], axis, kind)}; };
          cases.push_back({"argmax", name_of({t, s}), {numbers(t, s, 1)}, build});
          cases.push_back({"argmax", "ties " + name_of({t, s}), {repeated(t, s, {1, 0, 1, 0})}, build});
          if (t == DType::kF32) cases.push_back({"argmax", "NaN " + s.str(), {repeated(t, s, {1, kInf, 0, kNaN, -kInf, kNaN, 2})}, build});
        }
        for (int flags = 0; flags < 4; ++flags)
          cases.push_back({"cumsum", name_of({t, s}), {numbers(t, s, 1)},
                           [=](const Tensors& x) { return Tensors{cumsum(x[0], axis, (flags & 1) != 0, (flags & 2) != 0)}; }, true, 8});
      }
  for (DType t : kFloats)
    cases.push_back({"global_norm", std::string(dtype_name(t)), {random_feed(t, {7}, 1), random_feed(t, {33, 65}, 2), random_feed(t, {}, 3)},
                     [](const Tensors& x) { return Tensors{global_norm(x)}; }});
}

}  // namespace

void add_contraction_cases(Cases& cases) {
  add_dots(cases);
  add_convs(cases);
  add_bias_grads(cases);
  add_pools(cases);
  add_reductions(cases);
  add_order(cases);
}

}  // namespace tenon::device_testing

// Pools and their gradients.
#include "base/strings.h"
#include "corpus/corpus.h"

namespace tenon::corpus {
namespace {

struct PoolCase {
  Shape x;
  PoolOptions o;
};

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

Shape pooled(const PoolCase& c) {
  Graph g;
  return max_pool(Tensor(&g, g.add_input({DType::kF32, c.x}, Role::kFeed, "x")), c.o).shape();
}

void add_pool(Cases& cases, const PoolCase& c, const Input& x, const std::string& what) {
  const PoolOptions o = c.o;
  const Ints size(c.x.begin() + 1, c.x.end() - 1);
  const Input dy = uniform(x.type.dtype, pooled(c), 7);
  add_op(cases, {"max_pool", what, {x}, [=](const Tensors& in) { return Tensors{max_pool(in[0], o)}; }});
  add_op(cases, {"max_pool_grad", what, {x, dy}, [=](const Tensors& in) {
                   return Tensors{max_pool_grad(in[0], max_pool(in[0], o), in[1], o)};
                 }});
  for (bool count : {false, true}) {
    PoolOptions p = o;
    p.count_pad = count;
    const std::string name = cat(what, count ? " counting pads" : "");
    add_op(cases, {"avg_pool", name, {x}, [=](const Tensors& in) { return Tensors{avg_pool(in[0], p)}; }});
    if (x.fill.kind != Fill::kUniform) continue;
    add_op(cases,
           {"avg_pool_grad", name, {dy}, [=](const Tensors& in) { return Tensors{avg_pool_grad(in[0], size, p)}; }});
  }
}

// A convolution, then a pool of 2 x 2, which backends make one node of, as they do their gradients; NaN among what is
// pooled. With a ReLU its gradient is behind the pool's, as the core puts it.
struct ConvPoolCase {
  Shape x, w;
  int64_t low;
};

const ConvPoolCase kConvPools[] = {
    {{2, 8, 9, 1}, {3, 3, 1, 32}, 0},
    {{2, 12, 13, 3}, {3, 3, 3, 16}, 1},
    {{2, 14, 12, 8}, {5, 5, 8, 16}, 2},
    {{2, 15, 17, 10}, {5, 5, 10, 20}, 0},
};

// y's pool, and what the convolution's operands get of its gradient.
struct ConvPool {
  Tensor pooled, dx, dw;
};

ConvPool conv_pool(const ConvPoolCase& c, const Tensors& in, Activation act) {
  const ConvOptions o{.low = {c.low, c.low}, .high = {c.low, c.low}};
  const PoolOptions half{.window = {2, 2}, .strides = {2, 2}};
  const Tensor x = in[0], w = in[1];
  const Tensor map = conv_bias_act(x, w, in[2], {}, act, 0, o), pooled = max_pool(map, half);
  const Tensor dmap = max_pool_grad(map, pooled, activation_grad(in[3], pooled, act), half);
  return {pooled, conv_grad_input(dmap, w, {c.x[1], c.x[2]}, o), conv_grad_filter(x, dmap, {c.w[0], c.w[1]}, o)};
}

void add_conv_pools(Cases& cases) {
  for (const ConvPoolCase& c : kConvPools)
    for (const Activation act : {Activation::kNone, Activation::kRelu}) {
      const std::string what = cat(c.x.str(), " by ", c.w.str(), ' ', activation_name(act));
      const Shape pooled{c.x[0], (c.x[1] + 2 * c.low - c.w[0] + 1) / 2, (c.x[2] + 2 * c.low - c.w[1] + 1) / 2, c.w[3]};
      const Inputs inputs{uniform(DType::kF32, c.x, 1), uniform(DType::kF32, c.w, 2),
                          values(DType::kF32, {c.w[3]}, {0.25, -1, kNaN, 0.5, -0.125}),
                          uniform(DType::kF32, pooled, 3)};
      // Channels of NaN alone: the first element of each window wins.
      add_op(cases, {"max_pool_grad", "NaN biases of conv " + what, inputs, [=](const Tensors& in) {
                       const ConvPool r = conv_pool(c, in, act);
                       return Tensors{r.pooled, r.dx, r.dw};
                     }});
      // Points that see a NaN of x, at each place of a window. dw would have NaN of it or, from winners alone, not.
      Inputs spoilt = inputs;
      spoilt[2] = uniform(DType::kF32, {c.w[3]}, 4);
      Doubles rare(43, 0);
      rare[29] = kNaN;
      spoilt.push_back(values(DType::kF32, c.x, rare));
      add_op(cases, {"max_pool_grad", "NaN in x of conv " + what, spoilt, [=](const Tensors& in) {
                       const ConvPool r = conv_pool(c, {in[0] + in[4], in[1], in[2], in[3]}, act);
                       return Tensors{r.pooled, r.dx};
                     }});
    }
}

}  // namespace

void add_pooling_cases(Cases& cases) {
  for (const PoolCase& c : kPools) {
    for (DType t : kFloats) add_pool(cases, c, uniform(t, c.x, 1), name_of({t, c.x}));
    add_pool(cases, c, values(DType::kF32, c.x, {0, 1, 0, -1, 1}), cat("ties ", c.x.str()));
    add_pool(cases, c, values(DType::kF32, c.x, {-0.0, 0, -0.0, 0, 0}), cat("zeros ", c.x.str()));
    add_pool(cases, c, values(DType::kF32, c.x, {0, kNaN, 1, 2, -kInf, kInf, -1, 3, 4, 5, 6}), cat("NaN ", c.x.str()));
    add_pool(cases, c, values(DType::kF32, c.x, {kInf, kNaN, kNaN, 1, 0}), cat("NaNs ", c.x.str()));
  }
  add_conv_pools(cases);
}

}  // namespace tenon::corpus

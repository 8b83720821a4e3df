// Composites on shapes by chance, a fixed sequence: around the widths where kernels branch, which a list by hand forgets.
// tenon-conform --seed varies the values; what it draws itself are primitives (sdk/conformance/sample/sampler.h).
#include <vector>

#include "base/strings.h"
#include "corpus/corpus.h"

namespace tenon::corpus {
namespace {

class Chance {
 public:
  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool even() { return below(2) == 0; }
  int64_t size(int64_t most) {
    static const std::vector<int64_t> sizes{1,  2,  3,  5,  7,  8,  9,  13, 15,  16,  17,
                                            31, 32, 33, 47, 63, 64, 65, 97, 127, 128, 129};
    for (;;)
      if (const int64_t n = sizes[static_cast<size_t>(below(static_cast<int64_t>(sizes.size())))]; n <= most) return n;
  }
  Shape shape(int rank, int64_t elements) {
    Ints dims(static_cast<size_t>(rank), 1);
    for (size_t i = dims.size(); i-- > 0; elements /= dims[i]) dims[i] = size(std::max<int64_t>(1, elements));
    return Shape(dims);
  }
  DType dtype() { return kFloats[below(4)]; }

 private:
  uint64_t state_ = 20260;
};

DType moments_of(DType t) { return t == DType::kF64 ? DType::kF64 : DType::kF32; }

void draw_softmax(Cases& cases, Chance& c, const std::string& tag) {
  const DType t = c.dtype();
  const Shape s = c.shape(static_cast<int>(c.between(1, 4)), 600);
  const int64_t axis = c.below(s.rank());
  const double at = static_cast<double>(c.between(-50, 50));
  const Input x = uniform(t, s, 1, at - 6, at + 6);
  add_softmax(cases, x, axis, cat(tag, name_of(x), " axis ", axis));
}

void draw_attention(Cases& cases, Chance& c, const std::string& tag) {
  const DType t = c.dtype();
  const int64_t b = c.between(1, 2), heads = c.between(1, 3), shared = c.between(1, 2);
  const int64_t rows = c.size(33), keys = c.size(33), width = c.size(17), out = c.size(9);
  Shape bias{b, heads * shared, rows, keys};
  for (int i = 0; i < 3; ++i)  // one for all keys would have no gradient
    if (c.even()) bias.set(i, 1);
  const bool biased = c.even();
  const AttentionOptions o{.scale = 0.25 * static_cast<double>(c.between(1, 8)), .causal = c.even()};
  const Inputs inputs{uniform(t, {b, rows, heads * shared, width}, 1),
                      uniform(t, {b, keys, heads, width}, 2),
                      uniform(t, {b, keys, heads, out}, 3),
                      uniform(t, biased ? bias : Shape(), 4),
                      seed_of(5),
                      step_of(6),
                      uniform(t, {b, rows, heads * shared, out}, 5)};
  add_attention(cases, inputs, o,
                cat(tag, name_of(inputs[0]), " ", inputs[2].type.shape.str(), biased ? cat(" bias ", bias.str()) : "",
                    o.causal ? " causal" : ""));
}

void draw_pool(Cases& cases, Chance& c, const std::string& tag) {
  const DType t = c.dtype();
  const int spatial = static_cast<int>(c.between(1, 3));
  PoolOptions o;
  Ints dims{c.between(1, 3)};
  for (int i = 0; i < spatial; ++i) {
    o.window.push_back(c.between(1, 4));
    o.strides.push_back(c.between(1, 4));
    o.low.push_back(c.below(o.window.back()));
    o.high.push_back(c.below(o.window.back()));
    dims.push_back(o.window.back() + c.below(spatial == 3 ? 4 : 9));
  }
  dims.push_back(c.size(33));
  // All below 0, so that a pad of 0 would win.
  const Input x = uniform(t, Shape(dims), 1, -9, -1);
  const std::string what = cat(tag, name_of(x), " window ", Shape(o.window).str(), " strides ", Shape(o.strides).str());
  Graph g;
  const Shape y = max_pool(Tensor(&g, g.add_input(x.type, Role::kFeed, "x")), o).shape();
  const Input dy = uniform(t, y, 2);
  o.count_pad = c.even();
  add_op(cases, {"max_pool", what, {x}, [=](const Tensors& in) { return Tensors{max_pool(in[0], o)}; }});
  add_op(cases, {"max_pool_grad", what, {x, dy}, [=](const Tensors& in) {
                   return Tensors{max_pool_grad(in[0], max_pool(in[0], o), in[1], o)};
                 }});
  add_op(cases, {"avg_pool", what, {x}, [=](const Tensors& in) { return Tensors{avg_pool(in[0], o)}; }});
  const Ints size(dims.begin() + 1, dims.end() - 1);
  add_op(cases,
         {"avg_pool_grad", what, {dy}, [=](const Tensors& in) { return Tensors{avg_pool_grad(in[0], size, o)}; }});
}

void draw_norms(Cases& cases, Chance& c, const std::string& tag) {
  const DType t = c.dtype(), stat = moments_of(t);
  const Shape s = c.shape(static_cast<int>(c.between(2, 4)), 900), channels{s[-1]};
  const Input x = uniform(t, s, 1, -1, 3), gamma = uniform(stat, channels, 2, 0.5, 2),
              beta = uniform(stat, channels, 3), dy = uniform(t, s, 4);
  const std::string what = cat(tag, name_of(x));
  add_op(cases, {"batch_norm", what, {x, gamma, beta}, [=](const Tensors& in) {
                   const Normalized r = batch_norm(in[0], in[1], in[2], {}, {});
                   return Tensors{r.y, r.mean, r.var};
                 }});
  add_op(cases, {"batch_norm_grad", what, {x, gamma, beta, dy}, [=](const Tensors& in) {
                   const Normalized r = batch_norm(in[0], in[1], in[2], {}, {});
                   const BatchNormGrad g = batch_norm_grad(in[3], in[0], in[1], r.mean, r.var, {}, false, {});
                   return Tensors{g.dx, g.dgamma, g.dbeta};
                 }});
  const Ints axes{s.rank() - 1};
  const bool center = c.even();
  add_op(cases, {"layer_norm", cat(what, center ? " centred" : ""), {x, gamma, beta}, [=](const Tensors& in) {
                   const Normalized r = layer_norm(in[0], in[1], in[2], axes, 1e-3, center);
                   return Tensors{r.y, r.mean, r.var};
                 }});
  add_op(cases, {"layer_norm_grad", cat(what, center ? " centred" : ""), {x, gamma, dy}, [=](const Tensors& in) {
                   const Normalized r = layer_norm(in[0], in[1], {}, axes, 1e-3, center);
                   const LayerNormGrad g =
                       layer_norm_grad(in[2], in[0], in[1], r.mean, r.var, axes, 1e-3, center, true);
                   return Tensors{g.dx, g.dgamma, g.dbeta};
                 }});
}

void draw_epilogue(Cases& cases, Chance& c, const std::string& tag) {
  static constexpr Activation kActs[] = {Activation::kNone, Activation::kRelu, Activation::kTanh, Activation::kGelu,
                                         Activation::kSilu};
  const DType t = c.dtype();
  const Activation act = kActs[c.below(5)];
  const int64_t m = c.size(33), k = c.size(65), n = c.size(65);
  const DotOptions o{.ta = c.even(), .tb = c.even()};
  const bool bias = c.even(), residual = c.even();
  const Inputs inputs{uniform(t, o.ta ? Shape{k, m} : Shape{m, k}, 1), uniform(t, o.tb ? Shape{n, k} : Shape{k, n}, 2),
                      uniform(t, {n}, 3), uniform(t, {m, n}, 4)};
  const std::string what =
      cat(tag, name_of(inputs[0]), o.ta ? "' " : " ", inputs[1].type.shape.str(), o.tb ? "' " : " ",
          activation_name(act), bias ? " bias" : "", residual ? " residual" : "");
  add_op(cases,
         {"dot_bias_act", what, inputs, [=](const Tensors& x) {
            return Tensors{dot_bias_act(x[0], x[1], bias ? x[2] : Tensor(), residual ? x[3] : Tensor(), act, 0.1, o)};
          }});
}

// Where activations change from one formula to another, and beside 0.
void draw_activation(Cases& cases, Chance& c, const std::string& tag) {
  const DType t = c.dtype();
  const auto act = static_cast<Activation>(c.between(1, 14));
  const double alpha = act == Activation::kLeakyRelu ? 0.2 : act == Activation::kElu ? 0.7 : 0;
  const double reach = c.even() ? 40 : 1e-3;
  const Shape s = c.shape(static_cast<int>(c.between(1, 3)), 500);
  const Input x = uniform(t, s, 1, -reach, reach), g = uniform(t, s, 2);
  const std::string what = cat(tag, activation_name(act), " ", name_of(x), " within ", reach);
  add_op(cases, {"activation", what, {x}, [=](const Tensors& in) { return Tensors{activation(in[0], act, alpha)}; }});
  add_op(cases, {"activation_grad", what, {g, x}, [=](const Tensors& in) {
                   const Tensor y = gradient_from_result(act) ? activation(in[1], act, alpha) : in[1];
                   return Tensors{activation_grad(in[0], y, act, alpha)};
                 }});
}

}  // namespace

void add_drawn_cases(Cases& cases) {
  Chance chance;
  constexpr int kOfEach = 12;
  for (const auto draw : {draw_softmax, draw_attention, draw_pool, draw_norms, draw_epilogue, draw_activation})
    for (int k = 1; k <= kOfEach; ++k) draw(cases, chance, cat("drawn ", k, ": "));
}

}  // namespace tenon::corpus

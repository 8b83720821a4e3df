// Batch and layer normalisation.
#include "base/strings.h"
#include "corpus/corpus.h"

namespace tenon::corpus {
namespace {

DType moments_of(DType t) { return t == DType::kF64 ? DType::kF64 : DType::kF32; }

void add_batch_norm(Cases& cases, DType t, const Shape& s, Activation act, bool with) {
  const DType stat = moments_of(t);
  const Shape c{s[-1]};
  const Input x = uniform(t, s, 1, -1, 3), gamma = uniform(stat, c, 2, 0.5, 2), beta = uniform(stat, c, 3),
              mean = uniform(stat, c, 4), var = uniform(stat, c, 5, 0.5, 2), dy = uniform(t, s, 6),
              residual = uniform(t, s, 7);
  const NormOptions o{.act = act};
  const std::string what = cat(name_of(x), " ", activation_name(act), with ? " residual" : "");
  add_op(cases, {"batch_norm", what, {x, gamma, beta, residual}, [=](const Tensors& in) {
                   const Normalized r = batch_norm(in[0], in[1], in[2], with ? in[3] : Tensor(), o);
                   return Tensors{r.y, r.mean, r.var};
                 }});
  add_op(cases, {"batch_norm_apply", what, {x, gamma, beta, mean, var, residual}, [=](const Tensors& in) {
                   return Tensors{batch_norm_apply(in[0], in[1], in[2], in[3], in[4], with ? in[5] : Tensor(), o)};
                 }});
  add_op(cases, {"batch_norm_grad", what, {x, gamma, beta, residual, dy}, [=](const Tensors& in) {
                   const Normalized r = batch_norm(in[0], in[1], in[2], with ? in[3] : Tensor(), o);
                   const BatchNormGrad g = batch_norm_grad(in[4], in[0], in[1], r.mean, r.var,
                                                           act == Activation::kNone ? Tensor() : r.y, with, o);
                   return Tensors{g.dx, g.dgamma, g.dbeta, g.dresidual};
                 }});
}

void add_batch_norms(Cases& cases) {
  for (DType t : kFloats)
    for (const Shape& s : {Shape{4, 1}, Shape{16, 7}, Shape{3, 5, 5, 16}, Shape{2, 9, 7, 33}, Shape{130, 8}})
      for (Activation act : {Activation::kNone, Activation::kRelu, Activation::kTanh})
        for (bool with : {false, true})
          if (t == DType::kF32 || (act == Activation::kRelu && with)) add_batch_norm(cases, t, s, act, with);
  // A variance of 0, which epsilon alone keeps from dividing by 0.
  add_op(cases,
         {"batch_norm",
          "equal rows",
          {values(DType::kF32, {8, 3}, {2, -5, 1e-3}), uniform(DType::kF32, {3}, 1), uniform(DType::kF32, {3}, 2)},
          [](const Tensors& in) {
            const Normalized r = batch_norm(in[0], in[1], in[2], {}, {});
            return Tensors{r.y, r.mean, r.var};
          }});
  // A mean that is large beside the deviation: a variance as the difference of two large numbers would be lost.
  add_op(cases,
         {"batch_norm",
          "far from 0",
          {uniform(DType::kF32, {64, 5}, 1, 255, 257), uniform(DType::kF32, {5}, 2), uniform(DType::kF32, {5}, 3)},
          [](const Tensors& in) {
            const Normalized r = batch_norm(in[0], in[1], in[2], {}, {});
            return Tensors{r.mean, r.var};
          }});
}

struct Layer {
  Shape x, gamma;
  Ints axes;
};
const Layer kLayers[] = {{{5, 7}, {7}, {1}},          {{33, 64}, {64}, {1}},       {{2, 3, 17}, {17}, {2}},
                         {{4, 3, 8}, {3, 8}, {1, 2}}, {{2, 5, 6, 9}, {9}, {1, 2}}, {{3, 1}, {1}, {1}}};

void add_layer_norm(Cases& cases, DType t, const Layer& l, bool center, bool with_beta) {
  const DType stat = moments_of(t);
  const Ints axes = l.axes;
  const Input x = uniform(t, l.x, 1, -1, 3), gamma = uniform(stat, l.gamma, 2, 0.5, 2),
              beta = uniform(stat, l.gamma, 3), dy = uniform(t, l.x, 4);
  const std::string what =
      cat(name_of(x), " gamma ", l.gamma.str(), center ? " centred" : "", with_beta ? " beta" : "");
  add_op(cases, {"layer_norm", what, {x, gamma, beta}, [=](const Tensors& in) {
                   const Normalized r = layer_norm(in[0], in[1], with_beta ? in[2] : Tensor(), axes, 1e-3, center);
                   return Tensors{r.y, r.mean, r.var};
                 }});
  add_op(cases, {"layer_norm_grad", what, {x, gamma, dy}, [=](const Tensors& in) {
                   const Normalized r = layer_norm(in[0], in[1], {}, axes, 1e-3, center);
                   const LayerNormGrad g =
                       layer_norm_grad(in[2], in[0], in[1], r.mean, r.var, axes, 1e-3, center, with_beta);
                   return Tensors{g.dx, g.dgamma, g.dbeta};
                 }});
}

}  // namespace

void add_normalization_cases(Cases& cases) {
  add_batch_norms(cases);
  for (DType t : kFloats)
    for (const Layer& l : kLayers)
      for (bool center : {true, false})
        for (bool with_beta : {true, false}) add_layer_norm(cases, t, l, center, with_beta);
}

}  // namespace tenon::corpus

// Softmax, cross entropy, dropout.
#include <algorithm>

#include "base/strings.h"
#include "corpus/corpus.h"

namespace tenon::corpus {

void add_softmax(Cases& cases, const Input& x, int64_t axis, const std::string& what) {
  const Input dy = uniform(x.type.dtype, x.type.shape, 2);
  add_op(cases, {"softmax", what, {x}, [=](const Tensors& in) { return Tensors{softmax(in[0], axis)}; }});
  add_op(cases, {"log_softmax", what, {x}, [=](const Tensors& in) { return Tensors{log_softmax(in[0], axis)}; }});
  add_op(cases, {"softmax_grad", what, {dy, x}, [=](const Tensors& in) {
                   return Tensors{softmax_grad(in[0], softmax(in[1], axis), axis)};
                 }});
  add_op(cases, {"log_softmax_grad", what, {dy, x}, [=](const Tensors& in) {
                   return Tensors{log_softmax_grad(in[0], log_softmax(in[1], axis), axis)};
                 }});
}

namespace {

void add_softmaxes(Cases& cases) {
  for (DType t : kFloats)
    for (const Shape& s : {Shape{7}, Shape{5, 33}, Shape{3, 1}, Shape{2, 3, 17}, Shape{4, 1000}})
      for (int64_t axis = 0; axis < s.rank(); ++axis)
        add_softmax(cases, uniform(t, s, 1, -6, 6), axis, cat(name_of({t, s}), " axis ", axis));
  const Input odd =
      values(DType::kF32, {5, 3}, {1e30, 0, 1e30, -kInf, 0, 1, -kInf, -kInf, -kInf, kNaN, 0, 1, kInf, 0, 1});
  add_op(cases, {"softmax", "edges", {odd}, [](const Tensors& in) { return Tensors{softmax(in[0])}; }});
  const Input far = values(DType::kF32, {3, 3}, {1e30, 0, 1e30, kNaN, 0, 1, 1000, 0, -1000});
  add_op(cases, {"log_softmax", "edges", {far}, [](const Tensors& in) { return Tensors{log_softmax(in[0])}; }});
  // Exponentials that would overflow but for the largest one taken off.
  for (DType t : kFloats)
    for (const Shape& s : {Shape{3, 40}, Shape{2, 17, 5}})
      for (int64_t axis = 0; axis < s.rank(); ++axis)
        for (double sign : {1.0, -1.0})
          add_softmax(cases, uniform(t, s, 3, std::min(sign * 300, sign * 340), std::max(sign * 300, sign * 340)), axis,
                      cat("far from 0, ", sign * 320, ", ", name_of({t, s}), " axis ", axis));
}

void add_logsumexp(Cases& cases, const Input& x, const Ints& axes, const std::string& what) {
  std::string at = " axes";
  for (int64_t a : axes) at += cat(" ", a);
  add_op(cases, {"logsumexp", cat(what, axes.empty() ? " no axes" : at), {x}, [=](const Tensors& in) {
                   return emit_all("logsumexp", in, {{"axes", axes}});
                 }});
}

void add_logsumexps(Cases& cases) {
  const std::pair<Shape, Ints> kFolded[] = {
      {{}, {}},          {{5, 3}, {}},     {{7}, {0}},        {{5, 33}, {0}},        {{5, 33}, {1}},
      {{5, 33}, {0, 1}}, {{3, 1}, {1}},    {{3, 5, 17}, {1}}, {{3, 5, 17}, {0, 2}},  {{3, 5, 17}, {1, 2}},
      {{4, 1000}, {1}},  {{1000, 4}, {0}}, {{2, 9000}, {1}},  {{2, 3, 4, 5}, {1, 2}}};
  for (DType t : kFloats) {
    for (const auto& [s, axes] : kFolded) add_logsumexp(cases, uniform(t, s, 1, -6, 6), axes, name_of({t, s}));
    for (double middle : {320.0, -320.0})
      for (int64_t axis : {0, 1})
        add_logsumexp(cases, uniform(t, {3, 40}, 3, middle - 20, middle + 20), {axis},
                      cat("far from 0, ", middle, ", ", dtype_name(t)));
  }
  const Doubles odd{1e30, 0, 1e30, -kInf, 0, 1, -kInf, -kInf, -kInf, kNaN, 0, 1, kInf, 0, 1, kInf, -kInf, kNaN};
  for (DType t : {DType::kF32, DType::kBF16, DType::kF64})
    for (int64_t axis : {0, 1}) add_logsumexp(cases, values(t, {6, 3}, odd), {axis}, cat("edges ", dtype_name(t)));
}

void add_cross_entropy(Cases& cases, const Input& x, const Input& label, const CrossEntropyOptions& o,
                       const std::string& what) {
  const Shape rows(x.type.shape.dims().first(static_cast<size_t>(x.type.shape.rank() - 1)));
  const Input dloss = uniform(x.type.dtype == DType::kF64 ? DType::kF64 : DType::kF32, rows, 5);
  const std::string name = cat(name_of(x), " ", name_of(label), what);
  add_op(cases, {"softmax_cross_entropy", name, {x, label}, [=](const Tensors& in) {
                   const CrossEntropy r = softmax_cross_entropy_per_example(in[0], in[1], o);
                   return Tensors{r.loss, r.lse};
                 }});
  add_op(cases, {"softmax_cross_entropy_grad", name, {x, label, dloss}, [=](const Tensors& in) {
                   const CrossEntropy r = softmax_cross_entropy_per_example(in[0], in[1], o);
                   return Tensors{softmax_cross_entropy_grad(in[2], in[0], in[1], r.lse, o)};
                 }});
}

void add_cross_entropies(Cases& cases) {
  for (DType t : kFloats)
    for (const Shape& s : {Shape{7}, Shape{5, 10}, Shape{3, 1}, Shape{2, 3, 33}, Shape{4, 1000}}) {
      const Shape rows(s.dims().first(static_cast<size_t>(s.rank() - 1)));
      const Input x = uniform(t, s, 1, -5, 5);
      const double v = static_cast<double>(s[-1]);
      for (DType i : {DType::kI32, DType::kI64}) {
        add_cross_entropy(cases, x, uniform(i, rows, 2, 0, v), {}, "");
        add_cross_entropy(cases, x, uniform(i, rows, 2, -2, v + 2), {.on = 0.9, .off = 0.01, .ignore = -1},
                          " smoothed, some outside, -1 ignored");
      }
      add_cross_entropy(cases, x, uniform(t, s, 3, 0, 1), {}, "");
    }
  for (DType t : kFloats)
    for (double at : {-320.0, 320.0})
      add_cross_entropy(cases, uniform(t, {5, 10}, 1, at - 20, at + 20), uniform(DType::kI32, {5}, 2, 0, 10), {},
                        cat(" far from 0, ", at));
  // A class that is ignored, and those that only fewer bits would take for one.
  add_cross_entropy(cases, uniform(DType::kF32, {8, 10}, 1, -5, 5),
                    values(DType::kI64, {8}, {3, 4294967299.0, -4294967293.0, 10, -1, 9, 0, -9223372036854775808.0}),
                    {.ignore = 3}, " 3 ignored, far outside");
}

void add_dropouts(Cases& cases) {
  for (DType t : kFloats)
    for (const Shape& s : {Shape{}, Shape{3}, Shape{67}, Shape{33, 65}})
      for (double rate : {0.0, 0.25, 0.9, 1.0})
        for (bool with : {false, true})
          add_op(cases, {"dropout",
                         cat(name_of({t, s}), " rate ", rate, with ? " residual" : ""),
                         {uniform(t, s, 1, 1, 2), seed_of(77), step_of(3), uniform(t, s, 2)},
                         [=](const Tensors& x) {
                           return Tensors{dropout(x[0], x[1], x[2], with ? x[3] : Tensor(), rate, 0x12345678)};
                         }});
  // What replicas before this device's drew ends within four numbers or not.
  for (DType t : kFloats)
    for (const Shape& s : {Shape{67}, Shape{33, 64}})
      for (int64_t first : {int64_t{3}, int64_t{1} << 30})
        add_op(cases,
               {"dropout",
                cat(name_of({t, s}), " first ", first),
                {uniform(t, s, 1, 1, 2), seed_of(77), step_of(3), uniform(t, s, 2)},
                [=](const Tensors& x) { return Tensors{dropout(x[0], x[1], x[2], x[3], 0.25, 0x12345678, first)}; }});
  for (double seed : {-1.0, 4294967297.0})
    add_op(cases, {"dropout",
                   cat("seed ", seed),
                   {uniform(DType::kF32, {67}, 1, 1, 2), seed_of(seed), step_of(4294967296.0)},
                   [=](const Tensors& x) { return Tensors{dropout(x[0], x[1], x[2], {}, 0.5, 0xfedcba98)}; }});
}

}  // namespace

void add_softmax_cases(Cases& cases) {
  add_softmaxes(cases);
  add_logsumexps(cases);
  add_cross_entropies(cases);
  add_dropouts(cases);
}

}  // namespace tenon::corpus

// Reductions, sorts and running sums.
#include <set>

#include "base/strings.h"
#include "corpus/corpus.h"
#include "op/op.h"

namespace tenon::corpus {
namespace {

Input numbers(DType t, const Shape& s, uint64_t seed) {
  return uniform(t, s, seed, is_float(t) ? -2 : -9, is_float(t) ? 2 : 9);
}

const std::pair<Shape, Ints> kReduced[] = {
    {{7}, {0}},
    {{1031}, {0}},
    {{5, 33}, {0}},
    {{5, 33}, {1}},
    {{5, 33}, {0, 1}},
    {{3, 5, 17}, {1}},
    {{3, 5, 17}, {0, 2}},
    {{2, 3, 4, 5}, {0, 1, 2}},
    {{2, 3, 4, 5}, {1, 3}},
    {{1, 1}, {0}},
    {{6, 8}, {}},
    {{300, 9}, {0}},
    {{2, 3, 1, 2, 3, 2, 1, 2}, {1, 4, 6}},
};

constexpr const char* kKinds[] = {"sum", "prod", "max", "min"};

void add_reduce(Cases& cases, int kind, const Shape& shape, const Ints& axes) {
  std::string at = " axes";
  for (int64_t a : axes) at += cat(" ", a);
  const auto add = [&](const std::string& what, const Input& x) {
    add_op(cases, {"reduce", cat(kKinds[kind], " ", what, axes.empty() ? " no axes" : at), {x}, [=](const Tensors& in) {
                     return emit_all("reduce", in, {{"axes", axes}, {"kind", Enum{kind}}});
                   }});
  };
  for (DType t : kNumbers) {
    const bool product = kind == 1 && is_float(t);
    add(name_of({t, shape}), product ? uniform(t, shape, 1, 0.97, 1.03) : numbers(t, shape, 1));
  }
  if (kind >= 2) add(name_of({DType::kBool, shape}), uniform(DType::kBool, shape, 1, -1, 1));
  if (kind >= 2) add(cat("NaN ", shape.str()), values(DType::kF32, shape, {1, 2, -kInf, kInf, 3, kNaN, 0, 1, 5, 7, 8}));
}

void add_reductions(Cases& cases) {
  for (int kind = 0; kind < 4; ++kind)
    for (const auto& [shape, axes] : kReduced) add_reduce(cases, kind, shape, axes);
  const auto over = [&](const std::string& what, ReduceKind kind, const Input& x) {
    add_op(cases, {"reduce", what, {x}, [=](const Tensors& in) { return Tensors{reduce(in[0], {0}, kind)}; }});
  };
  over("sum of rows of 8192", ReduceKind::kSum, uniform(DType::kF32, {100, 8192}, 1));
  over("sum wraps i32", ReduceKind::kSum, values(DType::kI32, {7}, {2147483647, 1, 5}));
  over("sum wraps i64", ReduceKind::kSum, values(DType::kI64, {7}, {9.2e18, 1, 5}));
  over("prod wraps i32", ReduceKind::kProd, values(DType::kI32, {9}, {65537, 3, -7}));
  over("sum of NaN and infinities", ReduceKind::kSum,
       values(DType::kF32, {5, 4}, {1, kInf, kInf, kNaN, 2, -kInf, kInf, 3}));
  over("sum to infinity f16", ReduceKind::kSum, values(DType::kF16, {100, 3}, {1000, -1000, 600}));
  for (DType t : {DType::kBF16, DType::kF16})  // what the dtype would lose, f32 keeps
    over(cat("long sum ", dtype_name(t)), ReduceKind::kSum, values(t, {5000, 2}, {1, 0.5}));
  over("max of lowest", ReduceKind::kMax, values(DType::kF32, {5}, {-kInf}));
  over("min of highest", ReduceKind::kMin, values(DType::kF32, {5}, {kInf}));
  over("max of i64 that f64 does not hold", ReduceKind::kMax,
       values(DType::kI64, {6}, {9007199254740992.0, -9223372036854775808.0, 9007199254740990.0}));
}

void add_sorts(Cases& cases) {
  const auto add = [&](const std::string& what, const Input& x, int64_t k, bool descending) {
    add_op(cases, {"sort", cat(what, " k ", k, descending ? " descending" : ""), {x}, [=](const Tensors& in) {
                     const Sorted r = sort(in[0], k, descending);
                     return Tensors{r.values, r.indices};
                   }});
  };
  for (const Shape& s : {Shape{1}, Shape{7}, Shape{3, 16}, Shape{2, 3, 33}, Shape{1, 301}})
    for (bool descending : {false, true})
      for (int64_t k : std::set<int64_t>{1, (s[-1] + 1) / 2, s[-1]}) {
        for (DType t : kNumbers) add(name_of({t, s}), numbers(t, s, 1), k, descending);
        add(cat("edges ", s.str()), values(DType::kF32, s, {1, kNaN, 0, kInf, 1, -kInf, kNaN, -0.0, 3, 1, 0}), k,
            descending);
        add(cat("equal ", s.str()), values(DType::kF32, s, {2}), k, descending);
      }
}

void add_argmaxes(Cases& cases) {
  for (const Shape& s : {Shape{1}, Shape{67}, Shape{5, 33}, Shape{3, 5, 7}})
    for (int64_t axis = 0; axis < s.rank(); ++axis)
      for (ReduceKind kind : {ReduceKind::kMax, ReduceKind::kMin}) {
        const auto add = [&](const std::string& what, const Input& x) {
          add_op(cases, {"argmax",
                         cat(kKinds[static_cast<int>(kind)], " ", what, s.str(), " axis ", axis),
                         {x},
                         [=](const Tensors& in) { return Tensors{argmax(in[0], axis, kind)}; }});
        };
        for (DType t : kNumbers) {
          add(std::string(dtype_name(t)), numbers(t, s, 1));
          add(cat("ties ", dtype_name(t)), values(t, s, {1, 0, 1, 0}));
        }
        for (DType t : {DType::kI32, DType::kI64}) add(cat("powers ", dtype_name(t)), powers(t, s, 7));
        add("NaN f32", values(DType::kF32, s, {1, kInf, 0, kNaN, -kInf, kNaN, 2}));
        add("infinities f32", values(DType::kF32, s, {kind == ReduceKind::kMax ? -kInf : kInf}));
      }
}

void add_cumsums(Cases& cases) {
  for (DType t : kNumbers)
    for (const Shape& s : {Shape{1}, Shape{67}, Shape{5, 33}, Shape{3, 5, 7}})
      for (int64_t axis = 0; axis < s.rank(); ++axis)
        for (int flags = 0; flags < 4; ++flags) {
          const bool exclusive = (flags & 1) != 0, reversed = (flags & 2) != 0;
          const auto add = [&](const std::string& what, const Input& input) {
            add_op(cases, {"cumsum",
                           cat(name_of(input), what, " axis ", axis, exclusive ? " exclusive" : "",
                               reversed ? " reverse" : ""),
                           {input},
                           [=](const Tensors& x) { return Tensors{cumsum(x[0], axis, exclusive, reversed)}; },
                           8});
          };
          add("", numbers(t, s, 1));
          if (!is_float(t)) add(" powers", powers(t, s, 7));
        }
}

void add_norms(Cases& cases) {
  for (DType t : kFloats)
    add_op(cases, {"global_norm",
                   cat("of three ", dtype_name(t)),
                   {uniform(t, {7}, 1), uniform(t, {33, 65}, 2), uniform(t, {}, 3)},
                   [](const Tensors& x) { return Tensors{global_norm(x)}; }});
  add_op(cases, {"global_norm",
                 "of zeros",
                 {values(DType::kF32, {7}, {0}), values(DType::kF32, {2, 3}, {0})},
                 [](const Tensors& x) { return Tensors{global_norm(x)}; }});
  add_op(cases, {"global_norm", "of NaN", {values(DType::kF32, {7}, {1, kNaN})}, [](const Tensors& x) {
                   return Tensors{global_norm(x)};
                 }});
  add_op(cases, {"global_norm",
                 "of infinities",
                 {values(DType::kF32, {7}, {1, -kInf}), values(DType::kF32, {3}, {1})},
                 [](const Tensors& x) { return Tensors{global_norm(x)}; }});
}

}  // namespace

void add_reduction_cases(Cases& cases) {
  add_reductions(cases);
  add_sorts(cases);
  add_argmaxes(cases);
  add_cumsums(cases);
  add_norms(cases);
}

}  // namespace tenon::corpus

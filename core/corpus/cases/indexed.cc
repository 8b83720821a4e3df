// Gather, scatter and what replicas exchange.
#include "base/strings.h"
#include "corpus/corpus.h"

namespace tenon::corpus {
namespace {

struct Shapes {
  Shape x, i;
  int64_t axis, batch;

  // What gather gives and scatter takes.
  Shape gathered() const {
    Ints dims(x.begin(), x.begin() + axis);
    dims.insert(dims.end(), i.begin() + batch, i.end());
    dims.insert(dims.end(), x.begin() + axis + 1, x.end());
    return Shape(dims);
  }
};

const Shapes kIndexed[] = {
    {{7}, {5}, 0, 0},
    {{7}, {}, 0, 0},
    {{5, 6}, {4, 3}, 0, 0},
    {{5, 6}, {9}, 1, 0},
    {{3, 5, 7}, {4}, 1, 0},
    {{3, 5, 7}, {3, 4}, 1, 1},
    {{3, 5, 7}, {3, 4}, 2, 1},
    {{2, 3, 5, 4}, {2, 3, 6}, 2, 2},
    {{11, 33}, {2, 17}, 0, 0},
    {{1, 1}, {3}, 0, 0},
    {{2, 1, 3, 1, 2, 4, 1, 2}, {2, 3}, 5, 1},
};

void add_pair(Cases& cases, DType t, const Shapes& s, const std::string& what, const Input& i) {
  const auto [x, dims, axis, batch] = s;
  const std::string name = cat(name_of({t, x}), " by ", what, " axis ", axis, batch ? cat(" batch ", batch) : "");
  add_op(cases, {"gather", name, {any(t, x), i}, [=](const Tensors& in) {
                   return Tensors{gather(in[0], in[1], axis, batch)};
                 }});
  for (ScatterKind kind : {ScatterKind::kAdd, ScatterKind::kSet}) {
    if (kind == ScatterKind::kAdd && (t == DType::kU8 || t == DType::kBool)) continue;
    add_op(cases, {"scatter",
                   cat(name, kind == ScatterKind::kAdd ? " add" : " set"),
                   {any(t, x), i, any(t, s.gathered(), 5)},
                   [=](const Tensors& in) { return Tensors{scatter(in[0], in[1], in[2], axis, batch, kind)}; }});
  }
}

void add_indexed(Cases& cases) {
  for (DType t : kAll)
    for (const Shapes& s : kIndexed) {
      const DType index = (s.x.elements() + static_cast<int64_t>(t)) % 2 ? DType::kI32 : DType::kI64;
      const double n = static_cast<double>(s.x[static_cast<int>(s.axis)]);
      add_pair(cases, t, s, name_of({index, s.i}), uniform(index, s.i, 3, -2, n + 2));  // some outside, some twice
    }
  for (DType t : {DType::kF32, DType::kBF16, DType::kI32}) {
    const Shapes s{{5, 3}, {17}, 0, 0};
    add_pair(cases, t, s, "one index", values(DType::kI32, {17}, {2}));  // all updates into one row
    add_pair(cases, t, s, "nothing inside",
             values(DType::kI64, {17}, {-1, 5, 6, -5, 1e18, -9223372036854775808.0, 4294967296.0, 4294967297.0}));
    add_pair(cases, t, s, "the largest i32", values(DType::kI32, {17}, {2147483647, 0, -2147483648.0, 4, -1}));
    add_pair(cases, t, s, "in order", values(DType::kI64, {17}, {0, 1, 2, 3, 4}));
  }
  // Many updates of a few rows, and wide rows.
  add_pair(cases, DType::kF32, {{3, 1}, {1000}, 0, 0}, "i32[1000]", uniform(DType::kI32, {1000}, 4, -1, 4));
  add_pair(cases, DType::kF32, {{67, 129}, {40}, 0, 0}, "i32[40]", uniform(DType::kI32, {40}, 4, -1, 68));
  const Input nan = values(DType::kF32, {3, 4}, {1, kNaN, -kInf, -0.0, 1e-40, kInf, 2});
  const Input i = values(DType::kI32, {4}, {2, -1, 0, 3});
  add_op(cases, {"gather", "bits", {nan, i}, [](const Tensors& x) { return Tensors{gather(x[0], x[1], 0)}; }});
  add_op(cases, {"scatter",
                 "bits set",
                 {nan, i, values(DType::kF32, {4, 4}, {kNaN, 1e-40, -0.0, 3, kInf})},
                 [](const Tensors& x) { return Tensors{scatter(x[0], x[1], x[2], 0, 0, ScatterKind::kSet)}; }});
  add_op(cases, {"scatter", "NaN add", {nan, i, values(DType::kF32, {4, 4}, {1, 2, 3, kInf, 5})}, [](const Tensors& x) {
                   return Tensors{scatter(x[0], x[1], x[2], 0, 0, ScatterKind::kAdd)};
                 }});
}

void add_collectives(Cases& cases) {
  static const char* const kNames[] = {"sum", "prod", "max", "min"};
  for (DType t : kNumbers) {
    const Input x = any(t, {6, 5}), y = any(t, {3}, 2);
    add_op(cases, {"all_gather", name_of(x), {x}, [](const Tensors& in) { return Tensors{all_gather(in[0], 0)}; }});
    add_op(cases, {"all_gather", cat(name_of(x), " axis 1"), {x}, [](const Tensors& in) {
                     return Tensors{all_gather(in[0], 1)};
                   }});
    add_op(cases,
           {"reduce_scatter", name_of(x), {x}, [](const Tensors& in) { return Tensors{reduce_scatter(in[0], 0)}; }});
    for (int kind = 0; kind < 4; ++kind)
      add_op(cases, {"all_reduce", cat(kNames[kind], " ", name_of(x)), {x, y}, [=](const Tensors& in) {
                       return all_reduce(in, static_cast<ReduceKind>(kind));
                     }});
  }
  for (DType t : {DType::kU8, DType::kBool})
    add_op(cases, {"all_gather", name_of({t, {3}}), {any(t, {3})}, [](const Tensors& in) {
                     return Tensors{all_gather(in[0], 0)};
                   }});
  for (int64_t first : {int64_t{0}, int64_t{5}, int64_t{1} << 30})
    add_op(cases, {"replica_id", first ? cat("first ", first) : "", {any(DType::kI32, {1})}, [=](const Tensors& in) {
                     return Tensors{add(replica_id(*in[0].graph(), first), in[0])};
                   }});
}

}  // namespace

void add_indexed_cases(Cases& cases) {
  add_indexed(cases);
  add_collectives(cases);
}

}  // namespace tenon::corpus

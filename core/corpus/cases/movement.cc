// Values that come from nowhere or only change their place.
#include "base/strings.h"
#include "corpus/corpus.h"
#include "op/op.h"

namespace tenon::corpus {
namespace {

// Bits that arithmetic would change: subnormals, both zeros, no numbers.
Input bits(DType t, const Shape& s) {
  return values(t, s, {1e-40, -0.0, kNaN, -1e-40, kInf, 0, 6e-8, -kInf, 1, 1e-45, -3});
}

using Move = std::function<Tensor(Tensor)>;

void add_move(Cases& cases, const char* op, const std::string& what, const Input& x, const Move& f) {
  add_op(cases, {op, cat(what, what.empty() ? "" : " ", name_of(x)), {x}, [f](const Tensors& in) {
                   return Tensors{f(in[0])};
                 }});
}

// The same movement in every dtype.
void add_all(Cases& cases, const char* op, const std::string& what, const Shape& shape, const Move& f) {
  for (DType t : kAll) add_move(cases, op, what, any(t, shape), f);
}

// One dtype of each size: for shapes, which kernels treat alike whatever the dtype.
void add_sizes(Cases& cases, const char* op, const std::string& what, const Shape& shape, const Move& f) {
  for (DType t : {DType::kF32, DType::kBF16, DType::kI64, DType::kU8}) add_move(cases, op, what, any(t, shape), f);
}

void add_sources(Cases& cases) {
  for (DType t : kNumbers)
    for (const auto& [shape, axis] : {std::pair<Shape, int64_t>{{3, 7, 5}, 0},
                                      {{3, 7, 5}, 1},
                                      {{3, 7, 5}, 2},
                                      {{1}, 0},
                                      {{1031}, 0},
                                      {{2, 1, 3, 1, 2, 1, 2, 2}, 6}})
      add_op(cases, {"iota",
                     cat(name_of({t, shape}), " axis ", axis),
                     {any(t, {1})},
                     [=, shape = shape, axis = axis](const Tensors& x) {
                       return Tensors{iota(*x[0].graph(), t, shape, axis), neg(x[0])};
                     }});
  for (DType t : kAll) {
    std::string bytes;
    for (int64_t i = 0; i < 15 * dtype_bytes(t); ++i) bytes += static_cast<char>(t == DType::kBool ? i % 2 : 1 + i % 3);
    add_op(cases, {"constant", cat("dense ", dtype_name(t)), {any(t, {3, 5})}, [=](const Tensors& x) {
                     return Tensors{concat({constant(*x[0].graph(), {t, {3, 5}}, bytes), x[0]}, 0)};
                   }});
    add_op(cases, {"constant", cat("splat ", dtype_name(t)), {any(t, {3, 5, 7})}, [=](const Tensors& x) {
                     return Tensors{concat({full(*x[0].graph(), t, {3, 5, 7}, 1), x[0]}, 1)};
                   }});
  }
  add_op(cases, {"constant", "result f32[7,13]", {any(DType::kF32, {2})}, [](const Tensors& x) {
                   return Tensors{full(*x[0].graph(), DType::kF32, {7, 13}, 2.5), neg(x[0])};
                 }});
}

void add_randoms(Cases& cases) {
  const auto add = [&](const std::string& name, const Shape& s, int64_t stream, double seed, double step,
                       bool per_replica, int64_t first = 0) {
    add_op(cases, {"random", name, {seed_of(seed), step_of(step)}, [=](const Tensors& x) {
                     return Tensors{random(x[0], x[1], stream, s, per_replica, first)};
                   }});
  };
  for (const Shape& s : {Shape{}, Shape{1}, Shape{3}, Shape{4}, Shape{67}, Shape{16, 33}, Shape{1000, 7}})
    for (bool per_replica : {false, true})
      add(cat(s.str(), per_replica ? " per replica" : ""), s, 0x80000001, -123456789012.0, 4294967298.0, per_replica);
  for (const Shape& s : {Shape{}, Shape{3}, Shape{67}, Shape{16, 33}})
    for (int64_t first : {int64_t{1}, int64_t{3}, int64_t{1} << 30})
      add(cat(s.str(), " per replica, first ", first), s, 7, 5, 6, true, first);
  add("[37], first 3 of all replicas", {37}, 7, 5, 6, false, 3);
  for (double seed : {0.0, 1.0, -1.0, 4294967296.0}) add(cat("seed ", seed), {37}, 7, seed, 0, false);
  for (double step : {0.0, 1.0, 4294967295.0, 4294967296.0}) add(cat("step ", step), {37}, 7, 5, step, false);
  for (int64_t stream : {int64_t{0}, int64_t{1}, int64_t{0x7fffffff}, int64_t{0xffffffff}})
    add(cat("stream ", stream), {37}, stream, 5, 6, false);
}

void add_reshapes(Cases& cases) {
  add_all(cases, "reshape", "", {4, 6, 5}, [](Tensor x) { return reshape(x, {5, 24}); });
  add_all(cases, "reshape", "to a scalar", {1, 1}, [](Tensor x) { return reshape(x, {}); });
  add_sizes(cases, "reshape", "from a scalar", {}, [](Tensor x) { return reshape(x, {1, 1, 1}); });
  add_sizes(cases, "reshape", "to rank 8", {6, 35}, [](Tensor x) { return reshape(x, {2, 1, 3, 1, 5, 1, 7, 1}); });
  for (DType t : kFloats)
    add_move(cases, "reshape", "bits", bits(t, {33}), [](Tensor x) { return reshape(x, {3, 11}); });
}

void add_transposes(Cases& cases) {
  for (const Ints& perm : {Ints{1, 0, 2}, Ints{2, 1, 0}, Ints{0, 2, 1}, Ints{1, 2, 0}, Ints{2, 0, 1}}) {
    const std::string name = cat("perm ", perm[0], perm[1], perm[2]);
    add_all(cases, "transpose", name, {5, 7, 13}, [=](Tensor x) { return transpose(x, perm); });
    add_sizes(cases, "transpose", cat(name, " ones"), {1, 7, 1}, [=](Tensor x) { return transpose(x, perm); });
  }
  add_all(cases, "transpose", "", {33, 65}, [](Tensor x) { return transpose(x, {1, 0}); });
  add_sizes(cases, "transpose", "same", {7}, [](Tensor x) { return transpose(x, {0}); });
  add_sizes(cases, "transpose", "heads", {2, 3, 5, 16}, [](Tensor x) { return transpose(x, {0, 2, 1, 3}); });
  add_sizes(cases, "transpose", "", {2, 3, 2, 5, 1, 3}, [](Tensor x) { return transpose(x, {5, 0, 3, 1, 4, 2}); });
  add_all(cases, "transpose", "", {2, 3, 2, 1, 3, 2, 1, 2}, [](Tensor x) {
    return transpose(x, {7, 5, 0, 3, 1, 6, 4, 2});
  });
  for (DType t : kFloats)
    add_move(cases, "transpose", "bits", bits(t, {3, 11}), [](Tensor x) { return transpose(x, {1, 0}); });
}

void add_broadcasts(Cases& cases) {
  add_all(cases, "broadcast", "scalar", {}, [](Tensor x) { return broadcast(x, {3, 17}, {}); });
  add_all(cases, "broadcast", "rows", {17}, [](Tensor x) { return broadcast(x, {5, 17}, {1}); });
  add_all(cases, "broadcast", "columns", {5}, [](Tensor x) { return broadcast(x, {5, 17}, {0}); });
  add_sizes(cases, "broadcast", "middle", {3, 1, 4}, [](Tensor x) { return broadcast(x, {3, 6, 4}, {0, 1, 2}); });
  add_sizes(cases, "broadcast", "ends", {3, 4}, [](Tensor x) { return broadcast(x, {2, 3, 5, 4, 2}, {1, 3}); });
  add_sizes(cases, "broadcast", "ones", {1, 1}, [](Tensor x) { return broadcast(x, {7, 9}, {0, 1}); });
  add_sizes(cases, "broadcast", "same", {7}, [](Tensor x) {
    return emit1("broadcast", {x}, {{"shape", Ints{7}}, {"dims", Ints{0}}});
  });
  add_all(cases, "broadcast", "to rank 8", {3, 1, 2}, [](Tensor x) {
    return broadcast(x, {2, 3, 1, 5, 2, 1, 2, 2}, {1, 3, 6});
  });
}

void add_slices(Cases& cases) {
  add_all(cases, "slice", "strided", {31}, [](Tensor x) { return slice(x, {3}, {30}, {4}); });
  add_all(cases, "slice", "", {7, 13}, [](Tensor x) { return slice(x, {1, 2}, {6, 13}, {1, 1}); });
  add_all(cases, "slice", "strided", {7, 13, 3}, [](Tensor x) { return slice(x, {0, 1, 1}, {7, 12, 3}, {3, 2, 1}); });
  add_sizes(cases, "slice", "last", {5, 5}, [](Tensor x) { return slice(x, {4, 4}, {5, 5}, {1, 1}); });
  add_sizes(cases, "slice", "first", {5, 5}, [](Tensor x) { return slice(x, {0, 0}, {1, 1}, {1, 1}); });
  add_sizes(cases, "slice", "all", {5, 5}, [](Tensor x) { return slice(x, {0, 0}, {5, 5}, {1, 1}); });
  add_sizes(cases, "slice", "stride beyond the end", {5, 6}, [](Tensor x) { return slice(x, {2, 1}, {5, 6}, {9, 5}); });
  add_sizes(cases, "slice", "odd start", {1031}, [](Tensor x) { return slice(x, {1}, {1030}, {1}); });
  add_all(cases, "slice", "", {2, 3, 2, 1, 3, 2, 1, 4}, [](Tensor x) {
    return slice(x, {0, 1, 0, 0, 2, 1, 0, 1}, {2, 3, 2, 1, 3, 2, 1, 4}, {1, 1, 1, 1, 1, 1, 1, 2});
  });
}

void add_pads(Cases& cases) {
  add_all(cases, "pad", "", {5}, [](Tensor x) { return pad(x, {2}, {3}, {0}, 1); });
  add_all(cases, "pad", "interior", {3, 5}, [](Tensor x) { return pad(x, {0, 1}, {2, 0}, {2, 1}, 0); });
  add_all(cases, "pad", "images", {2, 5, 7, 3}, [](Tensor x) {
    return pad(x, {0, 1, 2, 0}, {0, 1, 1, 0}, {0, 0, 0, 0}, 0);
  });
  add_sizes(cases, "pad", "low alone", {7}, [](Tensor x) { return pad(x, {3}, {0}, {0}, 5); });
  add_sizes(cases, "pad", "high alone", {7}, [](Tensor x) { return pad(x, {0}, {3}, {0}, 5); });
  add_sizes(cases, "pad", "one, interior", {1, 3}, [](Tensor x) { return pad(x, {1, 0}, {0, 1}, {4, 3}, 7); });
  add_sizes(cases, "pad", "nothing", {3, 5}, [](Tensor x) { return pad(x, {0, 0}, {0, 0}, {0, 0}, 7); });
  add_sizes(cases, "pad", "interior", {2, 1, 2, 1, 3, 2, 1, 2}, [](Tensor x) {
    return pad(x, {0, 1, 0, 0, 1, 0, 0, 1}, {1, 0, 0, 1, 0, 0, 0, 0}, {0, 0, 1, 0, 1, 0, 0, 2}, 3);
  });
  for (double value : {-kInf, kInf, kNaN, -0.0, 0.1})
    for (DType t : kFloats)
      add_move(cases, "pad", cat("with ", value), any(t, {2, 3}), [=](Tensor x) {
        return pad(x, {1, 0}, {0, 2}, {0, 1}, value);
      });
}

void add_reverses(Cases& cases) {
  add_all(cases, "reverse", "", {37}, [](Tensor x) { return reverse(x, {0}); });
  for (const Ints& axes : {Ints{0}, Ints{1}, Ints{2}, Ints{0, 2}, Ints{0, 1, 2}})
    add_sizes(cases, "reverse", cat("axes ", axes[0], axes.size() > 1 ? cat(" and ", axes.size() - 1, " more") : ""),
              {3, 5, 9}, [=](Tensor x) { return reverse(x, axes); });
  add_all(cases, "reverse", "", {2, 3, 2, 1, 3, 2, 1, 2}, [](Tensor x) { return reverse(x, {1, 4, 7}); });
}

void add_concats(Cases& cases) {
  for (DType t : kAll)
    for (int64_t axis = 0; axis < 3; ++axis) {
      Shape a{2, 3, 5}, b = a, c = a;
      b.set(static_cast<int>(axis), 1), c.set(static_cast<int>(axis), 7);
      add_op(cases, {"concat",
                     cat(name_of({t, a}), " axis ", axis),
                     {any(t, a, 1), any(t, b, 2), any(t, c, 3)},
                     [=](const Tensors& x) {
                       return Tensors{concat({x[0], x[1], x[2], x[1]}, axis)};
                     }});
    }
  for (DType t : {DType::kF32, DType::kBF16, DType::kU8}) {
    add_op(cases, {"concat", cat("one ", dtype_name(t)), {any(t, {7})}, [](const Tensors& x) {
                     return emit_all("concat", x, {{"axis", int64_t{0}}});
                   }});
    add_op(cases, {"concat",
                   cat("of ones ", dtype_name(t)),
                   {any(t, {1}, 1), any(t, {1}, 2), any(t, {1}, 3)},
                   [](const Tensors& x) { return Tensors{concat(x, 0)}; }});
    const Shape s{2, 1, 2, 1, 3, 2, 1, 2};
    add_op(cases, {"concat", cat("rank 8 ", dtype_name(t)), {any(t, s, 1), any(t, s, 2)}, [](const Tensors& x) {
                     return Tensors{concat(x, 5)};
                   }});
  }
  Inputs many;
  for (uint64_t i = 0; i < 33; ++i) many.push_back(any(DType::kF32, {3, static_cast<int64_t>(1 + i % 3)}, i));
  add_op(cases, {"concat", "33 operands", many, [](const Tensors& x) { return Tensors{concat(x, 1)}; }});
  add_op(cases, {"concat", "bits", {bits(DType::kF32, {11}), bits(DType::kF32, {5})}, [](const Tensors& x) {
                   return Tensors{concat(x, 0)};
                 }});
}

}  // namespace

void add_movement_cases(Cases& cases) {
  add_sources(cases);
  add_randoms(cases);
  add_reshapes(cases);
  add_transposes(cases);
  add_broadcasts(cases);
  add_slices(cases);
  add_pads(cases);
  add_reverses(cases);
  add_concats(cases);
}

}  // namespace tenon::corpus

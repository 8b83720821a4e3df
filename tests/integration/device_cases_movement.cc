#include "integration/device_cases.h"

namespace tenon::device_testing {
namespace {

// One dtype of each size, and those that a kernel might treat apart.
constexpr DType kSizes[] = {DType::kF32, DType::kBF16, DType::kF64, DType::kI32, DType::kI64, DType::kU8, DType::kBool};

Feed any(DType t, const Shape& s, int seed = 1) { return random_feed(t, s, seed, t == DType::kU8 ? 0 : -100, 100); }

// The same movement in every dtype.
void add_all(Cases& cases, const char* op, const std::string& what, const Shape& shape, const std::function<Tensor(Tensor)>& f) {
  for (DType t : kSizes)
    cases.push_back({op, what + " " + name_of({t, shape}), {any(t, shape)}, [f](const Tensors& x) { return Tensors{f(x[0])}; }});
}

void add_sources(Cases& cases) {
  for (DType t : kNumbers) {
    for (int64_t axis = 0; axis < 3; ++axis)
      cases.push_back({"iota", std::string(dtype_name(t)) + " axis " + std::to_string(axis), {any(t, {1})},
                       [=](const Tensors& x) { return Tensors{iota(*x[0].graph(), t, {3, 7, 5}, axis)}; }});
  }
  for (DType t : kSizes) {
    const std::string bytes(static_cast<size_t>(15 * dtype_bytes(t)), '\1');
    cases.push_back({"constant", "dense " + std::string(dtype_name(t)), {any(t, {1})},
                     [=](const Tensors& x) { return Tensors{constant(*x[0].graph(), {t, {3, 5}}, bytes)}; }});
    cases.push_back({"constant", "splat " + std::string(dtype_name(t)), {any(t, {1})},
                     [=](const Tensors& x) { return Tensors{full(*x[0].graph(), t, {3, 5, 7}, 1)}; }});
  }
  for (const Shape& s : {Shape{}, Shape{1}, Shape{3}, Shape{4}, Shape{67}, Shape{16, 33}, Shape{1000, 7}})
    for (bool per_replica : {false, true}) {
      const Feed seed = op_testing::of(DType::kI64, {}, {-123456789012.0}), step = op_testing::of(DType::kI64, {}, {4294967298.0});
      cases.push_back({"random", s.str(), {seed, step}, [=](const Tensors& x) { return Tensors{random(x[0], x[1], 0x80000001, s, per_replica)}; }});
    }
}

void add_layout(Cases& cases) {
  add_all(cases, "reshape", "", {4, 6, 5}, [](Tensor x) { return reshape(x, {5, 24}); });
  add_all(cases, "reshape", "to a scalar", {1, 1}, [](Tensor x) { return reshape(x, {}); });
  for (const Ints& perm : {Ints{1, 0, 2}, Ints{2, 1, 0}, Ints{0, 2, 1}, Ints{1, 2, 0}, Ints{2, 0, 1}}) {
    add_all(cases, "transpose", "3", {5, 7, 13}, [=](Tensor x) { return transpose(x, perm); });
    add_all(cases, "transpose", "ones", {1, 7, 1}, [=](Tensor x) { return transpose(x, perm); });
  }
  add_all(cases, "transpose", "2", {33, 65}, [](Tensor x) { return transpose(x, {1, 0}); });
  add_all(cases, "transpose", "4", {2, 3, 5, 16}, [](Tensor x) { return transpose(x, {0, 2, 1, 3}); });
  add_all(cases, "transpose", "6", {2, 3, 2, 5, 1, 3}, [](Tensor x) { return transpose(x, {5, 0, 3, 1, 4, 2}); });
  add_all(cases, "broadcast", "scalar", {}, [](Tensor x) { return broadcast(x, {3, 17}, {}); });
  add_all(cases, "broadcast", "rows", {17}, [](Tensor x) { return broadcast(x, {5, 17}, {1}); });
  add_all(cases, "broadcast", "columns", {5}, [](Tensor x) { return broadcast(x, {5, 17}, {0}); });
  add_all(cases, "broadcast", "middle", {3, 1, 4}, [](Tensor x) { return broadcast(x, {3, 6, 4}, {0, 1, 2}); });
  add_all(cases, "broadcast", "ends", {3, 4}, [](Tensor x) { return broadcast(x, {2, 3, 5, 4, 2}, {1, 3}); });
  add_all(cases, "slice", "1", {31}, [](Tensor x) { return slice(x, {3}, {30}, {4}); });
  add_all(cases, "slice", "2", {7, 13}, [](Tensor x) { return slice(x, {1, 2}, {6, 13}, {1, 1}); });
  add_all(cases, "slice", "strided", {7, 13, 3}, [](Tensor x) { return slice(x, {0, 1, 1}, {7, 12, 3}, {3, 2, 1}); });
  add_all(cases, "slice", "one", {5, 5}, [](Tensor x) { return slice(x, {4, 4}, {5, 5}, {1, 1}); });
  add_all(cases, "pad", "1", {5}, [](Tensor x) { return pad(x, {2}, {3}, {0}, 1); });
  add_all(cases, "pad", "interior", {3, 5}, [](Tensor x) { return pad(x, {0, 1}, {2, 0}, {2, 1}, 0); });
  add_all(cases, "pad", "images", {2, 5, 7, 3}, [](Tensor x) { return pad(x, {0, 1, 2, 0}, {0, 1, 1, 0}, {0, 0, 0, 0}, 0); });
  add_all(cases, "pad", "scalar", {}, [](Tensor x) { return concat({reshape(x, {1}), pad(reshape(x, {1}), {0}, {2}, {0}, 1)}, 0); });
  add_all(cases, "reverse", "1", {37}, [](Tensor x) { return reverse(x, {0}); });
  for (const Ints& axes : {Ints{0}, Ints{1}, Ints{2}, Ints{0, 2}, Ints{0, 1, 2}})
    add_all(cases, "reverse", "3", {3, 5, 9}, [=](Tensor x) { return reverse(x, axes); });
  for (DType t : kSizes)
    for (int64_t axis = 0; axis < 3; ++axis) {
      Shape a{2, 3, 5}, b = a, c = a;
      b.set(static_cast<int>(axis), 1), c.set(static_cast<int>(axis), 7);
      cases.push_back({"concat", name_of({t, a}), {any(t, a, 1), any(t, b, 2), any(t, c, 3)},
                       [=](const Tensors& x) { return Tensors{concat({x[0], x[1], x[2], x[1]}, axis)}; }});
    }
}

void add_indexed(Cases& cases) {
  struct Shapes {
    Shape x, i;
    int64_t axis, batch;
  };
  const Shapes kIndexed[] = {{{7}, {5}, 0, 0},          {{7}, {}, 0, 0},           {{5, 6}, {4, 3}, 0, 0},    {{5, 6}, {9}, 1, 0},
                             {{3, 5, 7}, {4}, 1, 0},    {{3, 5, 7}, {3, 4}, 1, 1}, {{3, 5, 7}, {3, 4}, 2, 1}, {{2, 3, 5, 4}, {2, 3, 6}, 2, 2},
                             {{11, 33}, {2, 17}, 0, 0}, {{1, 1}, {3}, 0, 0}};
  for (DType t : kSizes)
    for (const Shapes& s : kIndexed)
      for (DType index : {DType::kI32, DType::kI64}) {
        const double n = static_cast<double>(s.x[static_cast<int>(s.axis)]);
        const Feed i = random_feed(index, s.i, 3, -2, n + 2);  // some outside, some twice
        const std::string what = name_of({t, s.x}) + " by " + name_of(i.type);
        const auto [x, dims, axis, batch] = s;
        cases.push_back({"gather", what, {any(t, x), i}, [=](const Tensors& in) { return Tensors{gather(in[0], in[1], axis, batch)}; }});
        Ints given(x.begin(), x.begin() + axis);
        given.insert(given.end(), dims.begin() + batch, dims.end());
        given.insert(given.end(), x.begin() + axis + 1, x.end());
        for (ScatterKind kind : {ScatterKind::kAdd, ScatterKind::kSet}) {
          if (kind == ScatterKind::kAdd && (t == DType::kU8 || t == DType::kBool)) continue;
          cases.push_back({"scatter", what + (kind == ScatterKind::kAdd ? " add" : " set"), {any(t, x), i, any(t, Shape(given), 5)},
                           [=](const Tensors& in) { return Tensors{scatter(in[0], in[1], in[2], axis, batch, kind)}; }});
        }
      }
}

void add_collectives(Cases& cases) {
  for (DType t : kNumbers) {
    const Feed x = any(t, {6, 5}), y = any(t, {3}, 2);
    cases.push_back({"all_gather", name_of(x.type), {x}, [](const Tensors& in) { return Tensors{all_gather(in[0], 0)}; }});
    cases.push_back({"reduce_scatter", name_of(x.type), {x}, [](const Tensors& in) { return Tensors{reduce_scatter(in[0], 0)}; }});
    for (ReduceKind kind : {ReduceKind::kSum, ReduceKind::kProd, ReduceKind::kMax, ReduceKind::kMin})
      cases.push_back({"all_reduce", name_of(x.type), {x, y}, [=](const Tensors& in) { return all_reduce(in, kind); }});
  }
  cases.push_back({"replica_id", "", {any(DType::kI32, {1})}, [](const Tensors& in) { return Tensors{add(replica_id(*in[0].graph()), in[0])}; }});
}

}  // namespace

void add_movement_cases(Cases& cases) {
  add_sources(cases);
  add_layout(cases);
  add_indexed(cases);
  add_collectives(cases);
}

}  // namespace tenon::device_testing

// Pools and their gradients.
#include "base/text.h"
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

}  // namespace

void add_pooling_cases(Cases& cases) {
  for (const PoolCase& c : kPools) {
    for (DType t : kFloats) add_pool(cases, c, uniform(t, c.x, 1), name_of({t, c.x}));
    add_pool(cases, c, values(DType::kF32, c.x, {0, 1, 0, -1, 1}), cat("ties ", c.x.str()));
    add_pool(cases, c, values(DType::kF32, c.x, {-0.0, 0, -0.0, 0, 0}), cat("zeros ", c.x.str()));
    add_pool(cases, c, values(DType::kF32, c.x, {0, kNaN, 1, 2, -kInf, kInf, -1, 3, 4, 5, 6}), cat("NaN ", c.x.str()));
  }
}

}  // namespace tenon::corpus

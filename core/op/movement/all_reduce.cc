#include "op/rules.h"

namespace tenon {
namespace {

Tensor gathered(Tensor x, const AttrReader& a) {
  const Tensor row = reshape(x, {1, x.elements()});
  return emit1("all_gather", {row}, {{"axis", int64_t{0}}, {"group", a.i64("group")}, {"replicas", a.i64("replicas")}});
}

Tensors all_reduce_decomposition(const Decompose& n) {
  if (n.i64("replicas") == 1) return n.inputs();
  const auto kind = static_cast<ReduceKind>(n.enumerator("kind"));
  Tensors out;
  for (const Tensor& x : n.inputs()) out.push_back(reshape(reduce(gathered(x, n), {0}, kind), x.shape()));
  return out;
}

Tensors all_reduce_gradient(const Gradient& n) {
  if (static_cast<ReduceKind>(n.enumerator("kind")) != ReduceKind::kSum) return {};
  Tensors grads(n.operands()), given;
  for (int i = 0; i < n.operands(); ++i)
    if (n.g(i)) given.push_back(n.g(i));
  const Tensors sums = emit(n.graph(), "all_reduce", given, n.attrs());
  size_t next = 0;
  for (int i = 0; i < n.operands(); ++i)
    if (n.g(i)) grads[i] = sums[next++];
  return grads;
}

}  // namespace

extern const OpDef kAllReduce;
constexpr OpDef kAllReduce = {"all_reduce", all_reduce_decomposition, all_reduce_gradient};

Tensors all_reduce(const Tensors& xs, ReduceKind kind, int64_t group) {
  return emit_all("all_reduce", xs, {{"kind", number_of(kind)}, {"group", group}});
}

namespace {

// This replica's place in its group.
Tensor place_in_group(Graph& graph, int64_t replicas) {
  const Tensor id = replica_id(graph), size = scalar_like(id, static_cast<double>(replicas));
  return id - id / size * size;
}

Tensors reduce_scatter_decomposition(const Decompose& n) {
  const int64_t replicas = n.i64("replicas");
  const Tensor x = n.in(0);
  if (replicas == 1) return {x};
  const int axis = static_cast<int>(n.i64("axis"));
  const Tensor sum = emit1("all_reduce", {x},
                           {{"kind", number_of(ReduceKind::kSum)}, {"group", n.i64("group")}, {"replicas", replicas}});
  Shape y = x.shape();
  y.set(axis, y[axis] / replicas);
  int64_t before = 1;
  for (int i = 0; i < axis; ++i) before *= y[i];
  const Tensor parts = reshape(sum, {before, replicas, y.elements() / before});
  return {reshape(gather(parts, place_in_group(n.graph(), replicas), 1), y)};
}

Tensors reduce_scatter_gradient(const Gradient& n) { return {emit1("all_gather", {n.g(0)}, n.attrs())}; }

}  // namespace

extern const OpDef kReduceScatter;
constexpr OpDef kReduceScatter = {"reduce_scatter", reduce_scatter_decomposition, reduce_scatter_gradient};

Tensor reduce_scatter(Tensor x, int64_t axis, int64_t group) {
  const int64_t which = axis_of("reduce_scatter", x, axis);
  return emit1("reduce_scatter", {x}, {{"axis", which}, {"group", group}});
}

}  // namespace tenon

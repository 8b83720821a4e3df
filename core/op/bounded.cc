#include "op/bounded.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "op/decompose.h"
#include "op/rules.h"

namespace tenon {
namespace {

// Bools [size of the axis], true where there are elements.
Tensor elements_there(Graph& graph, const AxisBounds& axis) {
  std::vector<int64_t> dims;
  for (const AxisPart& f : axis) dims.push_back(f.size);
  const Shape parts(dims);
  Tensor all;
  for (size_t i = 0; i < axis.size(); ++i) {
    if (!axis[i].dynamic()) continue;
    const Tensor size(&graph, graph.dynamic_dims[static_cast<size_t>(axis[i].dim)].size);
    const Tensor there = compare(iota(graph, DType::kI32, parts, static_cast<int64_t>(i)), size, CompareKind::kLt);
    all = all ? minimum(all, there) : there;
  }
  Tensor flat = reshape(all, Shape{parts.elements()});
  graph.set_bounds(flat.id(), {axis});
  return flat;
}

template <class T>
Tensor constant_scalar(Graph& graph, DType dtype, T value) {
  return constant(graph, {dtype, {}}, std::string_view(reinterpret_cast<const char*>(&value), sizeof value));
}

// Infinity of integers and bools is their outermost value.
Tensor neutral_of(Tensor x, double neutral) {
  Graph& graph = *x.graph();
  const bool low = neutral < 0;
  if (std::isinf(neutral) && x.dtype() == DType::kI64)
    return constant_scalar(graph, x.dtype(),
                           low ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max());
  if (std::isinf(neutral) && x.dtype() == DType::kI32)
    return constant_scalar(graph, x.dtype(),
                           low ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max());
  if (std::isinf(neutral) && !is_float(x.dtype())) neutral = low ? 0 : 1;
  return scalar_like(x, neutral);
}

Ints dynamic_among(const Bounds& bounds, const Ints& axes) {
  Ints out;
  for (int64_t a : axes)
    if (is_dynamic(bounds[static_cast<size_t>(a)])) out.push_back(a);
  std::sort(out.begin(), out.end());
  return out;
}

std::string names_of(const Graph& graph, const AxisBounds& axis) {
  std::vector<std::string> names;
  for (const AxisPart& f : axis)
    if (f.dynamic()) names.push_back(cat("'", graph.dynamic_dims[static_cast<size_t>(f.dim)].name, "'"));
  return join(names, " and ");
}

}  // namespace

BoundedNode::BoundedNode(Graph& graph, Node& node, const std::vector<Type>& types)
    : AttrReader(node.attrs), graph_(graph), node_(node), types_(types) {
  for (const Type& t : types) results_.push_back(static_bounds(t.shape));
}

AxisBounds BoundedNode::axis(int i, int axis) const { return bounds(i)[static_cast<size_t>(shape(i).axis(axis))]; }

Ints BoundedNode::dynamic_axes(int i) const {
  const Bounds all = bounds(i);
  Ints out;
  for (size_t a = 0; a < all.size(); ++a)
    if (tenon::is_dynamic(all[a])) out.push_back(static_cast<int64_t>(a));
  return out;
}

void BoundedNode::mask(int i, const Ints& axes, double neutral) {
  Ints positive;
  for (int64_t a : axes) positive.push_back(shape(i).axis(static_cast<int>(a)));
  replace(i, masked(in(i), positive, neutral));
}

void BoundedNode::replace(int i, Tensor x) {
  if (i >= operands()) node_.operands.resize(static_cast<size_t>(i) + 1, kAbsent);
  node_.operands[static_cast<size_t>(i)] = x.id();
}

AxisBounds BoundedNode::common(std::initializer_list<Place> places) const {
  AxisBounds out = static_axis(1);
  for (const Place& p : places) {
    if (!has(p.operand) || shape(p.operand)[p.axis] == 1) continue;
    const AxisBounds here = axis(p.operand, p.axis);
    if (out == static_axis(1)) {
      out = here;
      continue;
    }
    out = met(out, p);
  }
  return out;
}

AxisBounds BoundedNode::met(const AxisBounds& so_far, Place place) const {
  const AxisBounds here = axis(place.operand, place.axis);
  if (std::optional<AxisBounds> both = meet(so_far, here)) return *std::move(both);
  if (!tenon::is_dynamic(here)) expect_no_input(here, so_far);
  if (!tenon::is_dynamic(so_far)) expect_no_input(so_far, here);
  refuse(place.operand, place.axis, cat("that of another operand is ", names_of(graph_, so_far)));
}

// Both as the function's inputs have them.
void BoundedNode::expect_no_input(const AxisBounds& fixed, const AxisBounds& dynamic) const {
  const auto always = std::find_if(fixed.begin(), fixed.end(), [](const AxisPart& f) { return f.fixed(); });
  const auto most = std::find_if(dynamic.begin(), dynamic.end(), [](const AxisPart& f) { return f.dynamic(); });
  if (always == fixed.end() || most == dynamic.end()) return;
  const InputAxis& one = graph_.fixed_axes[always->fixed_index()];
  const DynamicDim& dim = graph_.dynamic_dims[static_cast<size_t>(most->dim)];
  fail("axis ", one.axis, " of input '", one.input, "' has ", one.size, " elements always, axis ", dim.from.axis,
       " of input '", dim.from.input, "' has at most ", dim.from.size, " ('", dim.name, "'); expected '", dim.name,
       "' of both in dynamic_shapes");
}

Bounds BoundedNode::together(int result) const {
  Bounds out = static_bounds(type(result).shape);
  for (int i = 0; i < operands(); ++i) {
    if (!has(i) || !(shape(i) == type(result).shape)) continue;
    for (size_t a = 0; a < out.size(); ++a) out[a] = met(out[a], {i, static_cast<int>(a)});
  }
  return out;
}

void BoundedNode::expect_static(int i, int axis, std::string_view why) const {
  if (has(i) && is_dynamic(i, axis)) refuse(i, axis, why);
}

void BoundedNode::refuse(int i, int axis, std::string_view why) const {
  const int at = shape(i).axis(axis);
  fail("dimension ", at, " of operand ", i, " ", graph_.type_text(in(i).id()), " is dynamic (",
       names_of(graph_, this->axis(i, at)), "): ", why);
}

bool has_dynamic_operand(const Graph& graph, const Node& node) {
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [&](ValueId id) { return id >= 0 && (graph.is_dynamic(id) || graph.undefined.count(id) != 0); });
}

std::vector<Bounds> fixed_bounds(Graph& graph, Node& node, const std::vector<Type>& types) {
  BoundedNode b(graph, node, types);
  const bool any = std::any_of(node.operands.begin(), node.operands.end(),
                               [&](ValueId id) { return id >= 0 && graph.values[id].bounds; });
  const BoundRule rule = any ? bound_rule(node.op) : nullptr;
  if (rule) rule(b);
  if (any && (!rule || b.decomposes()))
    for (size_t r = 0; r < types.size(); ++r) b.result(static_cast<int>(r), b.together(static_cast<int>(r)));
  return b.results();
}

Tensors emit_bounded(Graph& graph, Node node, const std::vector<Type>& types, const std::string& name) {
  BoundedNode b(graph, node, types);
  for (ValueId id : node.operands)
    if (graph.undefined.count(id) != 0) b.fail("uses the state after the last of a dynamic number of steps");
  if (const BoundRule rule = bound_rule(node.op))
    rule(b);
  else if (has_decomposition(node))
    b.decompose();
  else
    for (int i = 0; i < b.operands(); ++i)
      if (b.has(i) && !b.dynamic_axes(i).empty())
        b.refuse(i, static_cast<int>(b.dynamic_axes(i)[0]), cat(node.op, " takes static ones"));
  if (!b.instead().empty()) return b.instead();
  if (b.decomposes()) return emit_decomposed(graph, std::move(node), types, name);
  node.name = name;
  const NodeId id = graph.add_node(std::move(node), types);
  Tensors out;
  for (size_t r = 0; r < types.size(); ++r) {
    const ValueId value = graph.nodes[id].results[r];
    graph.set_bounds(value, b.results()[r]);
    if (static_cast<int>(r) == b.undefined()) graph.undefined.insert(value);
    out.emplace_back(&graph, value);
  }
  return out;
}

Tensor masked(Tensor x, const Ints& axes, double neutral) {
  Graph& graph = *x.graph();
  const Bounds bounds = graph.bounds(x.id());
  const Ints dynamic = dynamic_among(bounds, axes);
  if (dynamic.empty()) return x;
  const auto found = graph.masked.find({x.id(), dynamic, neutral});
  if (found != graph.masked.end()) return Tensor(&graph, found->second);
  Tensor there;
  for (int64_t a : dynamic) {
    const Tensor along = broadcast(elements_there(graph, bounds[static_cast<size_t>(a)]), x.shape(), {a});
    there = there ? minimum(there, along) : along;
  }
  const Tensor y = emit1("select", {there, x, neutral_of(x, neutral)}, {}, "mask");
  graph.masked[{x.id(), dynamic, neutral}] = y.id();
  graph.masked[{y.id(), dynamic, neutral}] = y.id();
  return y;
}

Tensor with_bounds(Tensor x, Bounds bounds) {
  Graph& graph = *x.graph();
  if (ends_of(graph.bounds(x.id())) == ends_of(bounds)) return x;
  const Tensor y = emit1("reshape", {x}, {{"shape", x.shape().vec()}});
  graph.set_bounds(y.id(), std::move(bounds));
  return y;
}

Tensor gradient_of(Tensor g, Tensor of) {
  Graph& graph = *of.graph();
  if (!graph.is_dynamic(g.id()) && !graph.is_dynamic(of.id())) return g;
  const Bounds have = ends_of(graph.bounds(g.id())), want = ends_of(graph.bounds(of.id()));
  Ints foreign;
  for (size_t a = 0; a < have.size(); ++a) {
    const std::optional<AxisBounds> both = meet(have[a], want[a]);
    if (!both || *both != want[a]) foreign.push_back(static_cast<int64_t>(a));
  }
  return with_bounds(masked(g, foreign, 0), want);
}

Tensor dimension_size(Tensor x, int64_t axis) {
  const auto at = static_cast<size_t>(axis_of("dimension_size", x, axis));
  Graph& graph = *x.graph();
  int64_t fixed = 1;
  Tensor size;
  const Bounds bounds = graph.bounds(x.id());
  for (const AxisPart& f : bounds[at]) {
    if (!f.dynamic()) {
      fixed *= f.size;
      continue;
    }
    const Tensor one(&graph, graph.dynamic_dims[static_cast<size_t>(f.dim)].size);
    size = size ? mul(size, one) : one;
  }
  if (!size) return full(graph, DType::kI32, {}, static_cast<double>(fixed));
  return fixed == 1 ? size : mul(size, scalar_like(size, static_cast<double>(fixed)));
}

namespace {

// How many elements lie along axes: the number along static ones, and a scalar of the dtype for the others, if any.
struct Count {
  double fixed = 1;
  Tensor dynamic;
};

Count count_of(Tensor x, const Ints& axes, DType dtype) {
  const Bounds bounds = x.graph()->bounds(x.id());
  Count out;
  for (int64_t a : axes) {
    if (!is_dynamic(bounds[static_cast<size_t>(a)])) {
      out.fixed *= static_cast<double>(x.dim(static_cast<int>(a)));
      continue;
    }
    const Tensor size = cast(dimension_size(x, a), dtype);
    out.dynamic = out.dynamic ? mul(out.dynamic, size) : size;
  }
  return out;
}

}  // namespace

Tensor inverse_count(Tensor x, const Ints& axes, Tensor like, double times) {
  const Count n = count_of(x, axes, compute_dtype(like.dtype()));
  if (!n.dynamic) return scalar_like(like, times * (1 / n.fixed));
  return cast((times / n.fixed) / n.dynamic, like.dtype());
}

Tensor element_count(Tensor x) {
  const Count n = count_of(x, leading_axes(x.rank() + 1), DType::kF32);
  return n.dynamic ? n.dynamic * n.fixed : full(*x.graph(), DType::kF32, {}, n.fixed);
}

}  // namespace tenon

// Elements at other places.
#include <algorithm>

#include "export/onnx/onnx_node_rules.h"

namespace tenon::onnx::out {
namespace {

std::vector<Written> reshape_rule(NodeScribe& n) { return {{n.reshape(n.in(0), n.list("shape"))}}; }

std::vector<Written> transpose_rule(NodeScribe& n) { return {{n.turned_in(0, n.fixed_list("perm"))}}; }

// Axes of size 1 come where the result has new ones.
std::vector<Written> broadcast_rule(NodeScribe& n) {
  const Dims shape = n.list("shape");
  const Ints places = n.fixed_list("dims");
  Dims spread(shape.size(), fixed(1));
  for (size_t i = 0; i < places.size(); ++i) spread[static_cast<size_t>(places[i])] = n.dims()[i];
  Ref x = n.in(0);
  if (spread != n.dims()) x = n.reshape(x, spread);
  return {{n.is_narrow() || spread == shape ? x : n.write("Expand", {x, n.numbers(shape)})}};
}

std::vector<Written> slice_rule(NodeScribe& n) {
  return {{n.slice(n.in(0), n.dims(), n.list("start"), n.list("limit"), n.fixed_list("stride", n.rank()))}};
}

Dims turned(const Dims& dims, const Ints& perm) {
  Dims out;
  for (const int64_t from : perm) out.push_back(dims[static_cast<size_t>(from)]);
  return out;
}

// Elements of each axis with `interior` others between them: among [before, n, 1, behind] the 1 is padded, folded into n, and what
// came behind the last element is cut off.
Ref spread(NodeScribe& n, Ref x, Dims* all, const Ints& interior, const Ref& value) {
  for (size_t axis = 0; axis < interior.size(); ++axis) {
    if (interior[axis] == 0) continue;
    PerRows& dim = (*all)[axis];
    const Dims apart = {product(*all, 0, axis), dim, fixed(1), product(*all, axis + 1, all->size())};
    x = n.write("Pad", {n.reshape(x, apart), n.nodes().ints({0, 0, 0, 0, 0, 0, interior[axis], 0}), value});
    const PerRows longer = times(dim, interior[axis] + 1), cut = sum(longer, fixed(-interior[axis]));
    const Dims folded = {apart[0], longer, apart[3]};
    x = n.slice(n.reshape(x, folded), folded, Dims(3, fixed(0)), {apart[0], cut, apart[3]}, {1, 1, 1});
    dim = cut;
    x = n.reshape(x, *all);
  }
  return x;
}

std::vector<Written> pad_rule(NodeScribe& n) {
  const Ints interior = n.fixed_list("interior", n.rank());
  const bool spreads = std::any_of(interior.begin(), interior.end(), [](int64_t between) { return between != 0; });
  const bool first = n.only_first(0) && !spreads;
  const Ints perm = first ? first_order(n.dims().size()) : identity(n.dims().size());
  Dims all = n.dims(), pads = turned(n.list("low"), perm);
  const Dims high = turned(n.list("high"), perm);
  pads.insert(pads.end(), high.begin(), high.end());
  const Ref value = n.scalar(n.dtype(), n.real("value"));
  Ref x = first ? n.first_in(0) : n.in(0);
  if (spreads) x = spread(n, x, &all, interior, value);
  return n.narrow_as(first, n.write("Pad", {x, n.numbers(pads), value}), n.dtype());
}

std::vector<Written> concat_rule(NodeScribe& n) {
  bool first = true;
  for (int i = 0; i < n.operands(); ++i) first = first && n.only_first(i);
  std::vector<Ref> in;
  for (int i = 0; i < n.operands(); ++i) in.push_back(first ? n.first_in(i) : n.in(i));
  const Ints order = last_order(n.dims().size());  // where each of our axes is with channels first
  const int64_t axis = n.number("axis");
  const Ref y = in.size() == 1
                    ? in[0]
                    : n.write("Concat", in, {number_field("axis", first ? order[static_cast<size_t>(axis)] : axis)});
  return n.narrow_as(first, y, n.dtype());
}

std::vector<Written> reverse_rule(NodeScribe& n) {
  const Ints axes = n.fixed_list("axes");
  const Ints last(axes.size(), -1), end(axes.size(), INT64_MIN);
  NodeWriter& w = n.nodes();
  return {{n.write("Slice", {n.in(0), w.ints(last), w.ints(end), w.ints(axes), w.ints(last)})}};
}

// Who runs it is one replica.
std::vector<Written> gather_replicas(NodeScribe& n) {
  if (n.number("replicas") != 1) throw Lacking{"works on several replicas"};
  return {{n.in(0)}};
}

std::vector<Written> resize_rule(NodeScribe& n) {
  const auto coords = static_cast<Coordinates>(n.choice("coords"));
  const bool nearest = static_cast<ResizeMethod>(n.choice("method")) == ResizeMethod::kNearest;
  const DType dtype = NodeScribe::wide(n.dtype());
  constexpr const char* kCoordinates[] = {"asymmetric", "half_pixel", "align_corners"};
  Fields how = {text_field("mode", nearest ? "nearest" : "linear"),
                text_field("coordinate_transformation_mode", kCoordinates[static_cast<size_t>(coords)])};
  if (nearest)
    how.push_back(text_field("nearest_mode", coords == Coordinates::kLegacy ? "floor" : "round_prefer_ceil"));
  // Sizes of all axes: with those of two ONNX Runtime 1.32 takes the transposition before it for a mistake.
  const Ref size = n.numbers({n.dims()[0], n.dims()[3], fixed(n.number("h")), fixed(n.number("w"))});
  return n.narrow_first(n.write("Resize", {n.wide_first_in(0), "", "", size}, std::move(how)), dtype);
}

constexpr NodeRule kMovementRules[] = {
    {"reshape", reshape_rule},
    {"transpose", transpose_rule},
    {"broadcast", broadcast_rule},
    {"slice", slice_rule},
    {"pad", pad_rule},
    {"concat", concat_rule},
    {"reverse", reverse_rule},
    {"all_gather", gather_replicas},
    {"resize", resize_rule},
};

}  // namespace

std::span<const NodeRule> movement_rules() { return kMovementRules; }

}  // namespace tenon::onnx::out

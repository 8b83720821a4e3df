// Elements at other places.
#include <algorithm>

#include "export/tensorflow/node_rules.h"

namespace tenon::tensorflow {
namespace {

std::vector<Ref> reshape_rule(NodeScribe& n) { return {n.reshape(n.in(0), n.dtype(), n.list("shape"))}; }

std::vector<Ref> transpose_rule(NodeScribe& n) { return {n.transpose(n.in(0), n.dtype(), n.fixed_list("perm"))}; }

// Axes of size 1 come where the result has new ones, as far as they are not in front of all.
std::vector<Ref> broadcast_rule(NodeScribe& n) {
  const Dims shape = n.list("shape");
  const Ints places = n.fixed_list("dims");
  const size_t ahead = places.empty() ? shape.size() : static_cast<size_t>(places[0]);
  Dims spread(shape.size() - ahead, fixed(1));
  for (size_t i = 0; i < places.size(); ++i) spread[static_cast<size_t>(places[i]) - ahead] = n.dims()[i];
  Ref x = n.in(0);
  if (spread != n.dims()) x = n.reshape(x, n.dtype(), spread);
  return {n.broadcast(x, n.dtype(), shape)};
}

std::vector<Ref> slice_rule(NodeScribe& n) {
  return {n.slice(n.in(0), n.dtype(), n.dims(), n.list("start"), n.list("limit"), n.fixed_list("stride", n.rank()))};
}

std::vector<Ref> pad_rule(NodeScribe& n) {
  Dims dims = n.dims();
  return {n.pad(n.in(0), n.dtype(), &dims, n.list("low"), n.list("high"), n.fixed_list("interior", n.rank()),
                n.real("value"))};
}

std::vector<Ref> concat_rule(NodeScribe& n) {
  std::vector<Ref> in;
  for (int i = 0; i < n.operands(); ++i) in.push_back(n.in(i));
  if (in.size() == 1) return in;
  in.push_back(n.nodes().whole(n.number("axis")));
  return {n.typed("ConcatV2", n.dtype(), in, {number_field("N", n.operands()), type_field("Tidx", DT_INT32)})};
}

std::vector<Ref> reverse_rule(NodeScribe& n) {
  return {
      n.typed("ReverseV2", n.dtype(), {n.in(0), n.nodes().ints(n.fixed_list("axes"))}, {type_field("Tidx", DT_INT32)})};
}

// A server is one replica.
std::vector<Ref> gather_replicas(NodeScribe& n) {
  if (n.number("replicas") != 1) throw Lacking{"works on several replicas"};
  return {n.in(0)};
}

std::vector<Ref> resize_rule(NodeScribe& n) {
  const auto coords = static_cast<Coordinates>(n.choice("coords"));
  const DType dtype = NodeScribe::wide(n.dtype());
  const Ref size = n.nodes().ints({n.number("h"), n.number("w")});
  const Fields how = {flag_field("align_corners", coords == Coordinates::kAlignCorners),
                      flag_field("half_pixel_centers", coords == Coordinates::kHalfPixel)};
  return n.narrow(n.typed("ResizeBilinear", dtype, {n.wide_in(0), size}, how), DType::kF32);
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

}  // namespace tenon::tensorflow

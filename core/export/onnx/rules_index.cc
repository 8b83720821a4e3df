// What goes by indices: gather, scatter, sort.
#include <algorithm>

#include "export/onnx/onnx_node_rules.h"

namespace tenon::onnx::out {
namespace {

// Whether each index is one, and the indices with 0, or `other`, for those that are none.
struct Checked {
  Ref inside, index;
};

// A scalar of the indices' type.
Ref index_of(NodeScribe& n, const PerRows& number) {
  const DType dtype = n.dtype(1);
  if (number.each == 0) return n.scalar(dtype, static_cast<double>(number.base));
  return n.cast(n.write("Reshape", {n.numbers({number}), n.nodes().ints({})}), DType::kI64, dtype);
}

Checked checked(NodeScribe& n, const PerRows& size, const Ref& other) {
  const Ref i = n.in(1), limit = index_of(n, size);
  const Ref inside =
      n.write("And", {n.write("GreaterOrEqual", {i, index_of(n, fixed(0))}), n.write("Less", {i, limit})});
  return {inside, n.write("Where", {inside, i, other})};
}

// A number a gathered entry, as a shape that repeats over it: [b, 1 for p, j, 1 for s].
Dims entry_dims(const NodeScribe& n, size_t batch, size_t axis) {
  const Dims& indices = n.dims(1);
  const auto behind = indices.begin() + static_cast<std::ptrdiff_t>(batch);
  Dims dims(indices.begin(), behind);
  dims.insert(dims.end(), axis - batch, fixed(1));
  dims.insert(dims.end(), behind, indices.end());
  dims.insert(dims.end(), n.dims().size() - axis - 1, fixed(1));
  return dims;
}

Ref gathered(NodeScribe& n, const Ref& index, size_t axis, size_t batch) {
  if (batch == 0) return n.write("Gather", {n.in(0), index}, {number_field("axis", static_cast<int64_t>(axis))});
  // It makes [b, j, p, s] of x[b, axis, p, s].
  const size_t rank = n.dims().size(), width = n.dims(1).size() - batch, between = axis - batch;
  Ints to_batch = identity(rank), back = identity(rank - 1 + width);
  const auto at = [](Ints& perm, size_t place) { return perm.begin() + static_cast<std::ptrdiff_t>(place); };
  std::rotate(at(to_batch, batch), at(to_batch, axis), at(to_batch, axis + 1));
  std::rotate(at(back, batch), at(back, batch + width), at(back, batch + width + between));
  const Ref places = n.write("Unsqueeze", {n.cast(index, n.dtype(1), DType::kI64), n.nodes().ints({-1})});
  const Ref found = n.write("GatherND", {n.turned_in(0, to_batch), places},
                            {number_field("batch_dims", static_cast<int64_t>(batch))});
  return n.transpose(found, back);
}

std::vector<Written> gather_rule(NodeScribe& n) {
  const auto axis = static_cast<size_t>(n.number("axis")), batch = static_cast<size_t>(n.number("batch"));
  if (n.lies_inside(1, n.dims()[axis])) return {{gathered(n, n.in(1), axis, batch)}};
  const Checked c = checked(n, n.dims()[axis], index_of(n, fixed(0)));
  const Ref found = gathered(n, c.index, axis, batch);
  const Ref inside = n.reshape(c.inside, entry_dims(n, batch, axis));
  if (n.dtype() == DType::kBool) return {{n.write("And", {inside, found})}};  // ONNX Runtime has no Where of bools
  return {{n.write("Where", {inside, found, n.scalar(n.dtype(), 0)})}};
}

// Rows along axis 0, with one more for the updates that go nowhere.
std::vector<Written> scatter_rule(NodeScribe& n) {
  if (n.number("axis") != 0 || n.number("batch") != 0) throw Lacking{"scatters along another axis than the first"};
  const DType dtype = NodeScribe::wide(n.dtype());
  const PerRows size = n.dims()[0];
  Dims pads(2 * n.dims().size(), fixed(0));
  pads[n.dims().size()] = fixed(1);
  const Ref x = n.write("Pad", {n.wide_in(0), n.numbers(pads), n.scalar(dtype, 0)});
  const Ref to = checked(n, size, index_of(n, size)).index;
  const bool adds = n.choice("kind") == 0, one = n.rank(1) == 0;  // one update has to be a list of them
  const Ref places =
      n.write("Unsqueeze", {n.cast(to, n.dtype(1), DType::kI64), one ? n.nodes().ints({0, 1}) : n.nodes().ints({-1})});
  const Ref updates = one ? n.write("Unsqueeze", {n.wide_in(2), n.nodes().ints({0})}) : n.wide_in(2);
  const Ref y = n.write("ScatterND", {x, places, updates}, {text_field("reduction", adds ? "add" : "none")});
  Dims all = n.dims();
  all[0] = sum(size, fixed(1));
  return n.narrow(n.slice(y, all, Dims(all.size(), fixed(0)), n.dims(), Ints(all.size(), 1)), dtype);
}

std::vector<Written> sort_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  const std::vector<Ref> sorted = n.nodes().add_all(
      "TopK", {n.wide_in(0), n.nodes().ints({n.number("k")})},
      {number_field("axis", -1), number_field("largest", n.flag("descending")), number_field("sorted", 1)}, 2);
  return {{n.cast(sorted[0], dtype, n.dtype())}, {n.cast(sorted[1], DType::kI64, DType::kI32)}};
}

constexpr NodeRule kIndexRules[] = {
    {"gather", gather_rule},
    {"scatter", scatter_rule},
    {"sort", sort_rule},
};

}  // namespace

std::span<const NodeRule> index_rules() { return kIndexRules; }

}  // namespace tenon::onnx::out

// What goes by indices: gather, scatter, sort.
#include <algorithm>

#include "export/tensorflow/node_rules.h"

namespace tenon::tensorflow {
namespace {

// Whether each index is one, and the indices with 0, or `other`, for those that are none.
struct Checked {
  Ref inside, index;
};

Checked checked(NodeScribe& n, int operand, const PerRows& size, const Ref& other) {
  const DType dtype = n.dtype(operand);
  const Ref i = n.in(operand);
  const Ref limit = n.cast(n.number(size), DType::kI32, dtype);
  const Ref inside = n.write(
      "LogicalAnd", {n.typed("GreaterEqual", dtype, {i, n.scalar(dtype, 0)}), n.typed("Less", dtype, {i, limit})});
  return {inside, n.typed("SelectV2", dtype, {inside, i, other})};
}

// A number a gathered entry, as a shape that repeats over it: [b, 1 for p, j, 1 for s].
Dims entry_dims(NodeScribe& n, size_t batch, size_t axis) {
  const Dims& indices = n.dims(1);
  Dims dims(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(batch));
  dims.insert(dims.end(), axis - batch, fixed(1));
  dims.insert(dims.end(), indices.begin() + static_cast<std::ptrdiff_t>(batch), indices.end());
  dims.insert(dims.end(), n.dims().size() - axis - 1, fixed(1));
  return dims;
}

std::vector<Ref> gather_rule(NodeScribe& n) {
  const auto axis = static_cast<size_t>(n.number("axis")), batch = static_cast<size_t>(n.number("batch"));
  const DType dtype = n.dtype(), index = n.dtype(1);
  const Fields how = {type_field("Tparams", dtype), type_field("Tindices", index), type_field("Taxis", DT_INT32),
                      number_field("batch_dims", static_cast<int64_t>(batch))};
  const Ref at = n.nodes().whole(static_cast<int64_t>(axis));
  if (n.lies_inside(1, n.dims()[axis])) return {n.write("GatherV2", {n.in(0), n.in(1), at}, how)};
  const Checked c = checked(n, 1, n.dims()[axis], n.scalar(index, 0));
  const Ref found = n.write("GatherV2", {n.in(0), c.index, at}, how);
  const Ref inside = n.reshape(c.inside, DType::kBool, entry_dims(n, batch, axis));
  return {n.typed("SelectV2", dtype, {inside, found, n.scalar(dtype, 0)})};
}

// perm that brings `axis` behind the first `batch` axes, of a tensor where it takes `width` axes.
Ints axis_first(size_t rank, size_t batch, size_t axis, size_t width) {
  Ints perm;
  for (size_t i = 0; i < batch; ++i) perm.push_back(static_cast<int64_t>(i));
  for (size_t i = axis; i < axis + width; ++i) perm.push_back(static_cast<int64_t>(i));
  for (size_t i = batch; i < axis; ++i) perm.push_back(static_cast<int64_t>(i));
  for (size_t i = axis + width; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  return perm;
}

Ints inverse(const Ints& perm) {
  Ints out(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) out[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return out;
}

// Indices into all batch entries after each other, of `stride` rows each.
Ref in_all(NodeScribe& n, const Ref& index, DType dtype, size_t batch, int64_t stride) {
  const Dims& dims = n.dims(1);
  const Ref count = n.cast(n.number(product(dims, 0, batch)), DType::kI32, dtype);
  const Ref order = n.write("Range", {n.scalar(dtype, 0), count, n.scalar(dtype, 1)}, {type_field("Tidx", dtype)});
  Dims spread(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(batch));
  spread.resize(dims.size(), fixed(1));
  const Ref first = n.typed("Mul", dtype, {order, n.scalar(dtype, static_cast<double>(stride))});
  return n.typed("AddV2", dtype, {index, n.reshape(first, dtype, spread)});
}

// Rows along the axis, behind the batch's, with one more a batch entry for the updates that go nowhere.
std::vector<Ref> scatter_rule(NodeScribe& n) {
  const auto axis = static_cast<size_t>(n.number("axis")), batch = static_cast<size_t>(n.number("batch"));
  const DType dtype = n.dtype(), index = n.dtype(1), wide = NodeScribe::wide(dtype);
  const size_t rank = n.dims().size();
  const Ints perm = axis_first(rank, batch, axis, 1);
  Dims dims;
  for (const int64_t from : perm) dims.push_back(n.dims()[static_cast<size_t>(from)]);
  const PerRows size = dims[batch];
  if (batch > 0 && size.each != 0) throw Lacking{"scatters along an axis that depends on the number of rows"};
  Dims low(rank, fixed(0)), high = low;
  high[batch] = fixed(1);
  Ref x = n.pad(n.transpose(n.wide_in(0), wide, perm), wide, &dims, low, high, {}, 0);
  Dims flat(dims.begin() + static_cast<std::ptrdiff_t>(batch), dims.end());
  flat[0] = product(dims, 0, batch + 1);
  if (batch > 0) x = n.reshape(x, wide, flat);
  Ref u = n.transpose(n.wide_in(2), wide, axis_first(n.dims(2).size(), batch, axis, n.dims(1).size() - batch));
  Ref to = checked(n, 1, size, n.cast(n.number(size), DType::kI32, index)).index;
  if (batch > 0) to = in_all(n, to, index, batch, size.base + 1);
  Ref places = n.typed("ExpandDims", index, {to, n.nodes().whole(-1)}, {type_field("Tdim", DT_INT32)});
  if (n.dims(1).empty()) {  // one update, which has to be a list of them
    const auto listed = [&](const Ref& one, DType type) {
      return n.typed("ExpandDims", type, {one, n.nodes().whole(0)}, {type_field("Tdim", DT_INT32)});
    };
    u = listed(u, wide);
    places = listed(places, index);
  }
  const char* op = n.choice("kind") == 0 ? "TensorScatterAdd" : "TensorScatterUpdate";
  Ref y = n.typed(op, wide, {x, places, u}, {type_field("Tindices", index)});
  if (batch > 0) y = n.reshape(y, wide, dims);
  Dims limit = dims;
  limit[batch] = size;
  return n.narrow(n.transpose(n.slice(y, wide, dims, low, limit), wide, inverse(perm)), wide);
}

// Integers in the order of the floats, in which both zeros are one and NaN is above all: negative ones have all bits but the sign
// turned.
Ref ordered(NodeScribe& n, const Ref& x, DType dtype, DType key) {
  const Ref zero = n.scalar(dtype, 0), none = n.scalar(key, 0);
  const Ref one_zero = n.typed("SelectV2", dtype, {n.typed("Equal", dtype, {x, zero}), zero, x});
  const Ref bits = n.write("Bitcast", {one_zero}, {type_field("T", dtype), type_field("type", key)});
  const std::string most = std::string(static_cast<size_t>(dtype_bytes(key)) - 1, '\xff') + '\x7f';
  const Ref top = n.nodes().constant(tensor_proto(key, {}, most));
  const Ref turned = n.typed("BitwiseXor", key, {bits, top});
  const Ref order = n.typed("SelectV2", key, {n.typed("Less", key, {bits, none}), turned, bits});
  return n.typed("SelectV2", key, {n.typed("NotEqual", dtype, {x, x}), top, order});
}

// The other way round the complement sorts, of which the lowest integer is no exception.
std::vector<Ref> sort_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  const DType key = dtype == DType::kF32 ? DType::kI32 : dtype == DType::kF64 ? DType::kI64 : dtype;
  const Ref x = n.wide_in(0);
  Ref keys = is_float(dtype) ? ordered(n, x, dtype, key) : x;
  if (!n.flag("descending")) keys = n.typed("Invert", key, {keys});
  const Ref sorted = n.typed("TopKV2", key, {keys, n.nodes().whole(n.number("k"))});
  const Ref places = n.nodes().result(sorted, 1, "indices");
  const Ref values = n.write("GatherV2", {n.in(0), places, n.nodes().whole(n.rank() - 1)},
                             {type_field("Tparams", n.dtype()), type_field("Tindices", DT_INT32),
                              type_field("Taxis", DT_INT32), number_field("batch_dims", n.rank() - 1)});
  return {values, places};
}

constexpr NodeRule kIndexRules[] = {
    {"gather", gather_rule},
    {"scatter", scatter_rule},
    {"sort", sort_rule},
};

}  // namespace

std::span<const NodeRule> index_rules() { return kIndexRules; }

}  // namespace tenon::tensorflow

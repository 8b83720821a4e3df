// What a NodeScribe writes of shapes.
#include <algorithm>

#include "export/tensorflow/node_rules.h"

namespace tenon::tensorflow {

Ref NodeScribe::typed(std::string_view op, DType dtype, const std::vector<Ref>& inputs, Fields fields) {
  fields.push_back(type_field("T", dtype));
  return write(op, inputs, std::move(fields));
}

Ref NodeScribe::cast(const Ref& x, DType from, DType to) {
  return from == to ? x : write("Cast", {x}, {type_field("SrcT", from), type_field("DstT", to)});
}

Ref NodeScribe::reshape(const Ref& x, DType dtype, const Dims& dims) {
  // One dimension that depends on the rows follows from the others.
  Dims target = dims;
  const auto depends = [](const PerRows& dim) { return dim.each != 0; };
  if (std::count_if(target.begin(), target.end(), depends) == 1)
    *std::find_if(target.begin(), target.end(), depends) = fixed(-1);
  return typed("Reshape", dtype, {x, numbers(target)}, {type_field("Tshape", DT_INT32)});
}

Ref NodeScribe::broadcast(const Ref& x, DType dtype, const Dims& dims) {
  return typed("BroadcastTo", dtype, {x, numbers(dims)}, {type_field("Tidx", DT_INT32)});
}

Ref NodeScribe::transpose(const Ref& x, DType dtype, const Ints& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  return typed("Transpose", dtype, {x, nodes_.ints(perm)}, {type_field("Tperm", DT_INT32)});
}

Ref NodeScribe::slice(const Ref& x, DType dtype, const Dims& all, const Dims& start, const Dims& limit,
                      const Ints& stride) {
  int64_t begins = 0, ends = 0;
  Dims begin = start, end = limit;
  Ints step = stride.empty() ? Ints(all.size(), 1) : stride;
  bool whole = true;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool from_start = start[i] == fixed(0), to_end = limit[i] == all[i];
    whole = whole && from_start && to_end && step[i] == 1;
    if (from_start) begins |= int64_t{1} << i;
    if (!to_end) continue;
    ends |= int64_t{1} << i;
    end[i] = fixed(0);
  }
  if (whole) return x;
  return typed("StridedSlice", dtype, {x, numbers(begin), numbers(end), nodes_.ints(step)},
               {type_field("Index", DT_INT32), number_field("begin_mask", begins), number_field("end_mask", ends)});
}

// Elements of each axis with `interior` others between them: among [before, n, 1, behind] the 1 is padded, folded into n, and what
// came behind the last element is cut off.
Ref NodeScribe::spread(Ref x, DType dtype, Dims* all, const Ints& interior, double value) {
  for (size_t axis = 0; axis < interior.size(); ++axis) {
    if (interior[axis] == 0) continue;
    PerRows& dim = (*all)[axis];
    Dims apart = {product(*all, 0, axis), dim, fixed(1), product(*all, axis + 1, all->size())};
    x = reshape(x, dtype, apart);
    x = pad(x, dtype, &apart, Dims(4, fixed(0)), {fixed(0), fixed(0), fixed(interior[axis]), fixed(0)}, {}, value);
    const PerRows longer = times(dim, interior[axis] + 1), cut = sum(longer, fixed(-interior[axis]));
    const Dims folded = {apart[0], longer, apart[3]};
    x = slice(reshape(x, dtype, folded), dtype, folded, Dims(3, fixed(0)), {apart[0], cut, apart[3]});
    dim = cut;
    x = reshape(x, dtype, *all);
  }
  return x;
}

// `pads` has two numbers an axis, none of them negative.
Ref NodeScribe::grow(const Ref& x, DType dtype, Dims* all, const Dims& pads, double value) {
  constexpr size_t kMostAxes = 6;  // of PadV2; more go one by one
  const size_t rank = all->size();
  const Dims before = *all;
  for (size_t i = 0; i < rank; ++i) (*all)[i] = sum(before[i], sum(pads[2 * i], pads[2 * i + 1]));
  if (*all == before) return x;
  if (rank <= kMostAxes) {
    const Ref paddings = reshape(numbers(pads), DType::kI32, {fixed(static_cast<int64_t>(rank)), fixed(2)});
    return typed("PadV2", dtype, {x, paddings, scalar(dtype, value)}, {type_field("Tpaddings", DT_INT32)});
  }
  Ref y = x;
  for (size_t i = 0; i < rank; ++i) {
    if ((*all)[i] == before[i]) continue;
    Dims three = {product(*all, 0, i), before[i], product(before, i + 1, rank)};
    y = grow(reshape(y, dtype, three), dtype, &three,
             {fixed(0), fixed(0), pads[2 * i], pads[2 * i + 1], fixed(0), fixed(0)}, value);
  }
  return reshape(y, dtype, *all);
}

Ref NodeScribe::pad(const Ref& x, DType dtype, Dims* all, const Dims& low, const Dims& high, const Ints& interior,
                    double value) {
  Ref y = spread(x, dtype, all, interior, value);
  const auto cut_by = [](const PerRows& edge) { return fixed(edge.each == 0 && edge.base < 0 ? -edge.base : 0); };
  Dims pads, start, limit;
  for (size_t i = 0; i < all->size(); ++i) {
    pads.push_back(sum(low[i], cut_by(low[i])));
    pads.push_back(sum(high[i], cut_by(high[i])));
  }
  y = grow(y, dtype, all, pads, value);
  for (size_t i = 0; i < all->size(); ++i) {
    start.push_back(cut_by(low[i]));
    limit.push_back(sum((*all)[i], times(cut_by(high[i]), -1)));
  }
  y = slice(y, dtype, *all, start, limit);
  for (size_t i = 0; i < all->size(); ++i) (*all)[i] = sum(limit[i], times(start[i], -1));
  return y;
}

}  // namespace tenon::tensorflow

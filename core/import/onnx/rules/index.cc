// Elements taken and put by index.
#include <algorithm>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace index_ops {
namespace {

// Indices from the end become those from the beginning.
Tensor from_begin(Tensor index, int64_t size) {
  return select(compare(index, scalar_like(index, 0), CompareKind::kLt), index + static_cast<double>(size), index);
}

void gather_rule(Call& c) {
  const Tensor x = c.in(0), index = c.in(1);
  const int64_t axis = c.axis(c.integer("axis", 0), x.rank());
  c.give(gather(x, from_begin(index, x.dim(static_cast<int>(axis))), axis));
}

// Where an element of [.., n along the axis, ..] lies in a flat x, given its index along the axis.
Tensor flat_places(Call& c, Tensor index, const Shape& x, int64_t axis) {
  Tensor place;
  int64_t stride = 1;
  for (int a = x.rank() - 1; a >= 0; --a) {
    const Tensor at =
        a == axis ? from_begin(cast(index, DType::kI64), x[a]) : iota(c.graph(), DType::kI64, index.shape(), a);
    const Tensor by = at * static_cast<double>(stride);
    place = place ? add(place, by) : by;
    stride *= x[a];
  }
  return reshape(place, {index.elements()});
}

void gather_elements(Call& c) {
  const Tensor x = c.in(0), index = c.in(1);
  const int64_t axis = c.axis(c.integer("axis", 0), x.rank());
  const Tensor flat = reshape(x, {x.elements()});
  c.give(reshape(gather(flat, flat_places(c, index, x.shape(), axis), 0), index.shape()));
}

// Places of rows [b.., k] that index the axes behind the b first of x: one number each, and how many elements a place has.
struct Places {
  Tensor at;  // [rows]
  int64_t count = 1, block = 1;
};
Places places_of(Call& c, Tensor index, const Shape& x, int64_t batch) {
  const int64_t depth = index.dim(-1);
  if (depth + batch > x.rank()) fail("indices of ", depth, " axes of ", x.rank());
  Shape rows(std::vector<int64_t>(index.shape().begin(), index.shape().end() - 1));
  Tensor at;
  Places out;
  for (int a = static_cast<int>(batch + depth); a < x.rank(); ++a) out.block *= x[a];
  for (int64_t a = batch + depth - 1; a >= 0; --a) {
    const int64_t size = x[static_cast<int>(a)];
    Tensor here;
    if (a >= batch)
      here =
          from_begin(cast(reshape(part(index, index.rank() - 1, a - batch, a - batch + 1), rows), DType::kI64), size);
    else
      here = iota(c.graph(), DType::kI64, rows, a);
    const Tensor by = here * static_cast<double>(out.count);
    at = at ? add(at, by) : by;
    out.count *= size;
  }
  out.at = reshape(at, {rows.elements()});
  return out;
}

void gather_nd(Call& c) {
  const Tensor x = c.in(0), index = c.in(1);
  const int64_t batch = c.between("batch_dims", 0, 0, std::min(x.rank(), index.rank() - 1));
  const Places places = places_of(c, index, x.shape(), batch);
  std::vector<int64_t> dims(index.shape().begin(), index.shape().end() - 1);
  for (int a = static_cast<int>(batch + index.dim(-1)); a < x.rank(); ++a) dims.push_back(x.dim(a));
  c.give(reshape(gather(reshape(x, {places.count, places.block}), places.at, 0), Shape(dims)));
}

// Puts rows [n, block] into [count, block]; what max, min and mul do is done in as many turns as indices repeat.
Tensor scattered(Call& c, Tensor x, Tensor at, Tensor updates, const std::string& how) {
  if (how == "none") return scatter(x, at, updates, 0, 0, ScatterKind::kSet);
  if (how == "add") return scatter(x, at, updates, 0, 0, ScatterKind::kAdd);
  // One row after the other: the row of x, folded with the update, is put back.
  const int64_t n = at.dim(0);
  if (n > 4096) c.refuse(how, " of ", n, " updates, expected up to 4096");
  const Binary fold = how == "max"   ? Binary(maximum)
                      : how == "min" ? Binary(minimum)
                      : how == "mul" ? Binary(mul)
                                     : nullptr;
  if (!fold) c.refuse("the reduction '", how, "'");
  for (int64_t i = 0; i < n; ++i) {
    const Tensor one = part(at, 0, i, i + 1);
    x = scatter(x, one, fold(gather(x, one, 0), part(updates, 0, i, i + 1)), 0, 0, ScatterKind::kSet);
  }
  return x;
}

Tensor as_summed(Tensor x) { return x.dtype() == DType::kBool ? cast(x, DType::kI32) : x; }

void scatter_elements(Call& c) {
  const Tensor x = c.in(0), index = c.in(1), updates = c.in(2);
  const int64_t axis = c.axis(c.integer("axis", 0), x.rank());
  const Tensor at = flat_places(c, index, x.shape(), axis);
  const Tensor y = scattered(c, reshape(as_summed(x), {x.elements(), 1}), at,
                             reshape(as_summed(updates), {updates.elements(), 1}), c.text("reduction", "none"));
  c.give(cast(reshape(y, x.shape()), x.dtype()));
}

void scatter_nd(Call& c) {
  const Tensor x = c.in(0), index = c.in(1), updates = c.in(2);
  const Places places = places_of(c, index, x.shape(), 0);
  const Tensor y =
      scattered(c, reshape(as_summed(x), {places.count, places.block}), places.at,
                reshape(as_summed(updates), {places.at.dim(0), places.block}), c.text("reduction", "none"));
  c.give(cast(reshape(y, x.shape()), x.dtype()));
}

void one_hot_rule(Call& c) {
  const Tensor index = c.in(0), values = c.in(2);
  const int64_t depth = c.known_integer(1);
  if (depth < 1 || depth > int64_t{1} << 40) fail("a depth of ", depth);
  const int64_t axis = c.axis(c.integer("axis", -1), index.rank() + 1);
  const Tensor whole = is_float(index.dtype()) ? cast(index, DType::kI64) : index;
  const Tensor on = axis_from_end(one_hot(from_begin(whole, depth), depth, DType::kI32), axis);
  const Tensor off = reshape(part(values, 0, 0, 1), {}), at = reshape(part(values, 0, 1, 2), {});
  c.give(select(compare(on, scalar_like(on, 0), CompareKind::kNe), at, off), c.element(2));
}

void compress(Call& c) {
  const bool flat = !c.has_attr("axis");
  const Tensor x = flat ? reshape(c.in(0), {c.in(0).elements()}) : c.in(0);
  const int64_t axis = flat ? 0 : c.axis(c.integer("axis", 0), x.rank());
  const Ints kept = c.known_ints(1);
  Ints places;
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i] != 0) places.push_back(static_cast<int64_t>(i));
  if (places.empty()) {
    Shape shape = x.shape();
    shape.set(static_cast<int>(axis), 0);
    return c.give_empty(c.element(), shape);
  }
  c.give(gather(x, c.ints_constant(places, Shape({static_cast<int64_t>(places.size())})), axis));
}

// How many there are is a shape, so the numbers have to be known.
void non_zero(Call& c) {
  const Array x = c.known(0);
  const std::vector<double> values = x.to<double>();
  const Shape shape = x.shape();
  std::vector<Ints> places(static_cast<size_t>(std::max(shape.rank(), 1)));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    auto rest = static_cast<int64_t>(i);
    for (int a = shape.rank() - 1; a >= 0; --a) {
      places[static_cast<size_t>(a)].push_back(rest % shape[a]);
      rest /= shape[a];
    }
  }
  Ints all;
  for (const Ints& one : places) all.insert(all.end(), one.begin(), one.end());
  const auto rank = static_cast<int64_t>(places.size());
  c.give_ints(all, Shape({rank, static_cast<int64_t>(all.size()) / rank}));
}

// What a cache holds, with an update put in along an axis from each row's own place on.
void tensor_scatter(Call& c) {
  const Tensor cache = c.in(0), update = c.in(1);
  const int64_t axis = c.axis(c.integer("axis", -2), cache.rank());
  const int64_t size = cache.dim(static_cast<int>(axis)), n = update.dim(static_cast<int>(axis)), rows = cache.dim(0);
  const Shape shape({rows, n});
  Tensor at = iota(c.graph(), DType::kI64, shape, 1);
  if (c.has(2)) at = add(at, broadcast(cast(c.in(2), DType::kI64), shape, {0}));
  if (c.text("mode", "linear") == "circular") at = at - (at / static_cast<double>(size)) * static_cast<double>(size);
  // Rows and the axis first.
  Ints perm = {0, axis};
  for (int a = 1; a < cache.rank(); ++a)
    if (a != axis) perm.push_back(a);
  Ints back(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  c.give(transpose(scatter(transpose(cache, perm), at, transpose(update, perm), 1, 1, ScatterKind::kSet), back));
}

constexpr Rule kRules[] = {
    {"Compress", compress},
    {"Gather", gather_rule},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"NonZero", non_zero},
    {"OneHot", one_hot_rule},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"TensorScatter", tensor_scatter},
};

}  // namespace
}  // namespace index_ops

Rules index_rules() { return index_ops::kRules; }

}  // namespace tenon::onnx

// Shapes: asked for, and given to tensors.
#include <algorithm>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace shape_ops {
namespace {

void shape_rule(Call& c) {
  const Ints dims = c.value(0).shape().vec();
  const auto rank = static_cast<int64_t>(dims.size());
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t from = place(c.integer("start", 0)), to = std::max(from, place(c.integer("end", rank)));
  c.give_ints(Ints(dims.begin() + from, dims.begin() + to), Shape({to - from}));
}

void size_rule(Call& c) { c.give(c.ints_constant({c.value(0).shape().elements()}, {}), Element::kI64); }

void give_reshaped(Call& c, const Value& x, const Ints& dims) {
  x.is_empty() ? c.give_empty(x.element(), Shape(dims)) : c.give(reshaped(x.file(), dims));
}

void reshape_rule(Call& c) {
  const Value x = c.value(0);
  const Shape shape = x.shape();
  Ints dims = c.has(1) ? c.known_ints(1) : c.ints("shape");
  if (dims.size() > static_cast<size_t>(kMaxRank))
    c.refuse("a target of ", dims.size(), " dimensions, expected up to ", kMaxRank);
  int64_t known = 1;
  int open = -1;
  for (size_t a = 0; a < dims.size(); ++a) {
    if (dims[a] == 0 && !c.flag("allowzero")) dims[a] = shape[static_cast<int>(a)];
    if (dims[a] == -1 && open >= 0) fail("a target [", join(dims, ","), "] with two open dimensions");
    if (dims[a] == -1)
      open = static_cast<int>(a);
    else if (dims[a] < 0 || __builtin_mul_overflow(known, dims[a], &known))
      fail("a target [", join(dims, ","), "]");
  }
  if (open >= 0) dims[static_cast<size_t>(open)] = known == 0 ? 0 : shape.elements() / known;
  give_reshaped(c, x, dims);
}

void flatten_rule(Call& c) {
  const Value v = c.value(0);
  const Shape x = v.shape();
  const int64_t given = c.integer("axis", 1), axis = c.axis(given, x.rank() + 1);
  int64_t rows = 1;
  for (int64_t a = 0; a < (given < 0 ? axis - 1 : axis); ++a) rows *= x[static_cast<int>(a)];
  give_reshaped(c, v, {rows, rows == 0 ? 0 : x.elements() / rows});
}

void squeeze_rule(Call& c) {
  const Value v = c.value(0);
  const Shape x = v.shape();
  const std::optional<Ints> axes = c.axes(1);
  std::vector<bool> gone(static_cast<size_t>(x.rank()), false);
  if (axes) {
    for (const int64_t a : *axes) gone[static_cast<size_t>(c.axis(a, x.rank()))] = true;
  } else {
    for (int a = 0; a < x.rank(); ++a) gone[static_cast<size_t>(a)] = x[a] == 1;
  }
  Ints dims;
  for (int a = 0; a < x.rank(); ++a) {
    if (!gone[static_cast<size_t>(a)]) dims.push_back(x[a]);
    if (gone[static_cast<size_t>(a)] && x[a] != 1) fail("axis ", a, " of ", x.str(), " is not of 1 element");
  }
  give_reshaped(c, v, dims);
}

void unsqueeze_rule(Call& c) {
  const Value v = c.value(0);
  const Shape x = v.shape();
  const Ints axes = c.axes(1).value_or(Ints());
  const int64_t rank = x.rank() + static_cast<int64_t>(axes.size());
  std::vector<bool> made(static_cast<size_t>(rank), false);
  for (const int64_t a : axes) made[static_cast<size_t>(c.axis(a, rank))] = true;
  Ints dims;
  int next = 0;
  for (int64_t a = 0; a < rank; ++a) dims.push_back(made[static_cast<size_t>(a)] || next >= x.rank() ? 1 : x[next++]);
  give_reshaped(c, v, dims);
}

// To and from channels last there is nothing to do but to say so.
void transpose_rule(Call& c) {
  const Value x = c.value(0);
  const int rank = x.rank();
  Ints perm = iota_list(rank);
  std::reverse(perm.begin(), perm.end());
  perm = c.ints("perm", perm);
  if (perm == iota_list(rank)) return c.give(x);
  Ints to_last = {0}, from_last = {0, rank - 1};
  for (int a = 2; a < rank; ++a) to_last.push_back(a), from_last.push_back(a - 1);
  to_last.push_back(1);
  if (rank >= 3 && perm == to_last && x.is_last()) return c.give(x.last());
  if (rank >= 3 && perm == from_last) return c.give_last(x.file());
  c.give(transpose(x.file(), perm));
}

void expand_rule(Call& c) {
  const Tensor x = c.in(0);
  c.give(broadcast_to(x, broadcast_shapes(x.shape(), Shape(c.known_ints(1)))));
}

void tile_rule(Call& c) {
  Tensor x = c.in(0);
  const Ints times = c.known_ints(1);
  if (times.size() != static_cast<size_t>(x.rank())) fail(times.size(), " repeats of ", x.type().str());
  const Element element = c.element();
  for (int a = 0; a < x.rank(); ++a) {
    const int64_t n = times[static_cast<size_t>(a)];
    if (n == 1) continue;
    std::vector<int64_t> dims = x.shape().vec(), joined = dims;
    dims.insert(dims.begin() + a, n);
    if (n < 1) c.refuse(n, " repeats");
    joined[static_cast<size_t>(a)] = product(joined[static_cast<size_t>(a)], n);
    Ints kept;
    for (int i = 0; i <= x.rank(); ++i)
      if (i != a) kept.push_back(i);
    x = reshape(broadcast(x, Shape(dims), kept), Shape(joined));
  }
  c.give(x, element);
}

constexpr Rule kRules[] = {
    {"Expand", expand_rule}, {"Flatten", flatten_rule},     {"Reshape", reshape_rule},
    {"Shape", shape_rule},   {"Size", size_rule},           {"Squeeze", squeeze_rule},
    {"Tile", tile_rule},     {"Transpose", transpose_rule}, {"Unsqueeze", unsqueeze_rule},
};

}  // namespace
}  // namespace shape_ops

Rules shape_rules() { return shape_ops::kRules; }

}  // namespace tenon::onnx

// What is sorted, or the largest.
#include <algorithm>
#include <map>

#include "import/onnx/onnx_rules.h"

namespace tenon::onnx {
namespace order_ops {
namespace {

// Equal numbers stand in the order in which they came.
void top_k_rule(Call& c) {
  const Tensor x = c.in(0);
  const int64_t axis = c.axis(c.integer("axis", -1), x.rank()), size = x.dim(static_cast<int>(axis));
  const int64_t k = c.opset < 10 ? c.integer("k", 1) : c.known_integer(1);
  if (k < 0 || k > size) fail("the first ", k, " of ", size);
  const bool half = x.dtype() == DType::kBF16 || x.dtype() == DType::kF16;
  const Sorted found = sort(axis_to_end(half ? cast(x, DType::kF32) : x, axis), k, c.flag("largest", true));
  c.give(cast(axis_from_end(found.values, axis), x.dtype()));
  c.give(cast(axis_from_end(found.indices, axis), DType::kI64), Element::kI64);
}

template <ReduceKind K>
void arg_extreme(Call& c) {
  const Tensor x = c.in(0);
  const int64_t axis = c.axis(c.integer("axis", 0), x.rank()), size = x.dim(static_cast<int>(axis));
  Tensor y;
  if (c.flag("select_last_index")) {
    y = argmax(reverse(x, {axis}), axis, K);
    y = scalar_like(y, static_cast<double>(size - 1)) - y;
  } else {
    y = argmax(x, axis, K);
  }
  if (c.flag("keepdims", true)) y = expand_dims(y, axis);
  c.give(cast(y, DType::kI64), Element::kI64);
}

// 1 at the first of the largest, 0 elsewhere.
void hardmax(Call& c) {
  Tensor x = c.in(0);
  const Shape shape = x.shape();
  int64_t axis = c.axis(c.integer("axis", c.opset < 13 ? 1 : -1), x.rank());
  if (c.opset < 13) {
    int64_t rows = 1;
    for (int a = 0; a < axis; ++a) rows *= shape[a];
    x = reshape(x, {rows, rows == 0 ? 0 : x.elements() / rows});
    axis = 1;
  }
  const Tensor first = argmax(x, axis);
  c.give(reshape(axis_from_end(one_hot(first, x.dim(static_cast<int>(axis)), x.dtype()), axis), shape));
}

// How many there are is a shape, so the numbers have to be known. Along an axis: which of its entries are the same.
void unique(Call& c) {
  const Array x = c.known(0);
  const bool flat = !c.has_attr("axis");
  const Shape shape = flat ? Shape({x.elements()}) : x.shape();
  const auto axis = static_cast<int>(flat ? 0 : c.axis(c.integer("axis", 0), shape.rank()));
  const std::vector<double> values = x.to<double>();
  int64_t inner = 1;
  for (int a = axis + 1; a < shape.rank(); ++a) inner *= shape[a];
  std::vector<std::vector<double>> entries(static_cast<size_t>(shape[axis]));
  for (size_t i = 0; i < values.size(); ++i)
    entries[static_cast<size_t>(static_cast<int64_t>(i) / inner % shape[axis])].push_back(values[i]);
  std::map<std::vector<double>, std::pair<int64_t, int64_t>> found;  // the first place, the count
  for (size_t i = 0; i < entries.size(); ++i)
    ++found.try_emplace(entries[i], static_cast<int64_t>(i), 0).first->second.second;
  std::vector<std::pair<std::vector<double>, std::pair<int64_t, int64_t>>> list(found.begin(), found.end());
  if (!c.flag("sorted", true))
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  Ints first, count, inverse;
  std::map<std::vector<double>, int64_t> place;
  for (const auto& [entry, facts] : list) {
    place[entry] = static_cast<int64_t>(first.size());
    first.push_back(facts.first);
    count.push_back(facts.second);
  }
  for (const std::vector<double>& entry : entries) inverse.push_back(place[entry]);
  const auto list_of = [](const Ints& v) { return Shape({static_cast<int64_t>(v.size())}); };
  c.give(gather(reshape(c.in(0), shape), c.ints_constant(first, list_of(first)), axis));
  for (const Ints& numbers : {first, inverse, count}) c.give_ints(numbers, list_of(numbers));
}

constexpr Rule kRules[] = {
    {"ArgMax", arg_extreme<ReduceKind::kMax>},
    {"ArgMin", arg_extreme<ReduceKind::kMin>},
    {"Hardmax", hardmax},
    {"TopK", top_k_rule},
    {"Unique", unique},
};

}  // namespace
}  // namespace order_ops

Rules order_rules() { return order_ops::kRules; }

}  // namespace tenon::onnx

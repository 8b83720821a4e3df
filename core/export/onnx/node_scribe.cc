#include <algorithm>

#include "export/onnx/onnx_node_rules.h"

namespace tenon::onnx::out {

Ints identity(size_t rank) {
  Ints perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  return perm;
}

Ints first_order(size_t rank) {
  Ints perm = identity(rank);
  if (rank < 3) return perm;
  std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  return perm;
}

Ints last_order(size_t rank) {
  Ints perm = identity(rank);
  if (rank < 3) return perm;
  std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return perm;
}

Ref NodeScribe::in(int i) {
  Written& from = value(i);
  if (from.only_first()) from.ours = transpose(from.first, last_order(dims(i).size()));
  return from.ours;
}

Ref NodeScribe::first_in(int i) {
  Written& from = value(i);
  if (from.first.empty()) from.first = transpose(from.ours, first_order(dims(i).size()));
  return from.first;
}

Ref NodeScribe::turned_in(int i, const Ints& perm) {
  const std::string& weight = value(i).weight;
  return weight.empty() ? transpose(in(i), perm) : weights_.turned(weight, perm);
}

Ref NodeScribe::cast(const Ref& x, DType from, DType to) {
  return from == to ? x : write("Cast", {x}, {number_field("to", data_type(to))});
}

Ref NodeScribe::reshape(const Ref& x, const Dims& dims) {
  // One dimension that depends on the rows follows from the others.
  Dims target = dims;
  const auto depends = [](const PerRows& dim) { return dim.each != 0; };
  const bool has_zero = std::find(target.begin(), target.end(), fixed(0)) != target.end();
  if (!has_zero && std::count_if(target.begin(), target.end(), depends) == 1)
    *std::find_if(target.begin(), target.end(), depends) = fixed(-1);
  Fields how;
  if (has_zero) how.push_back(number_field("allowzero", 1));
  return write("Reshape", {x, numbers(target)}, std::move(how));
}

Ref NodeScribe::transpose(const Ref& x, const Ints& perm) {
  return std::is_sorted(perm.begin(), perm.end()) ? x : write("Transpose", {x}, {list_field("perm", perm)});
}

Ref NodeScribe::slice(const Ref& x, const Dims& all, const Dims& start, const Dims& limit, const Ints& stride) {
  Ints axes, steps;
  Dims from, to;
  for (size_t i = 0; i < all.size(); ++i) {
    if (start[i] == fixed(0) && limit[i] == all[i] && stride[i] == 1) continue;
    axes.push_back(static_cast<int64_t>(i));
    from.push_back(start[i]);
    to.push_back(limit[i]);
    steps.push_back(stride[i]);
  }
  if (axes.empty()) return x;
  return write("Slice", {x, numbers(from), numbers(to), nodes_.ints(axes), nodes_.ints(steps)});
}

const NodeRule* find_rule(std::string_view op) {
  for (const auto& family : {elementwise_rules(), movement_rules(), index_rules(), reduction_rules(), network_rules()})
    for (const NodeRule& rule : family)
      if (rule.op == op) return &rule;
  return nullptr;
}

}  // namespace tenon::onnx::out

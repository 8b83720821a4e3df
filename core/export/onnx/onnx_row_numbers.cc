#include "export/onnx/onnx_row_numbers.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon::onnx::out {

void RowNumbers::take_input(const Ref& input, const PortableValue& value) {
  if (dim_ == PerRows{0, 1}) return;
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    const PerRows& dim = value.dims[axis];
    if (dim.each == 0 || (axis_ >= 0 && dim != PerRows{0, 1})) continue;
    input_ = input;
    axis_ = static_cast<int>(axis);
    dim_ = dim;
  }
}

Ref RowNumbers::rows() {
  if (!rows_.empty()) return rows_;
  if (axis_ < 0) throw Lacking{"its size depends on the number of rows, which no input has"};
  rows_ = nodes_->add("Shape", {input_}, {number_field("start", axis_), number_field("end", axis_ + 1)});
  if (dim_.base != 0) rows_ = nodes_->add("Sub", {rows_, nodes_->ints({dim_.base})});
  if (dim_.each != 1) rows_ = nodes_->add("Div", {rows_, nodes_->ints({dim_.each})});
  return rows_;
}

Ref RowNumbers::made(const PerRows& number) {
  Ref made = rows();
  if (number.each != 1) made = nodes_->add("Mul", {made, nodes_->ints({number.each})});
  if (number.base != 0) made = nodes_->add("Add", {made, nodes_->ints({number.base})});
  return made;
}

Ref RowNumbers::number(const PerRows& number) {
  if (number.each == 0) return nodes_->ints({number.base});
  const auto [at, is_new] = numbers_.try_emplace({number.base, number.each});
  if (is_new) at->second = made(number);
  return at->second;
}

Ref RowNumbers::list(const Dims& numbers) {
  Ints all;
  std::string key;
  for (const PerRows& number : numbers) {
    all.push_back(number.base);
    key += cat(number.base, "+", number.each, ",");
  }
  if (std::all_of(numbers.begin(), numbers.end(), [](const PerRows& n) { return n.each == 0; }))
    return nodes_->ints(all);
  const auto [at, is_new] = lists_.try_emplace(key);
  if (!is_new) return at->second;
  std::vector<Ref> parts;
  for (const PerRows& n : numbers) parts.push_back(number(n));
  return at->second = nodes_->add("Concat", parts, {number_field("axis", 0)});
}

}  // namespace tenon::onnx::out

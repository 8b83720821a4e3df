#include "export/tensorflow/row_numbers.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon::tensorflow {

void RowNumbers::take_feature(const Ref& feature, const PortableValue& value) {
  if (dim_ == PerRows{0, 1}) return;
  for (size_t axis = 0; axis < value.dims.size(); ++axis) {
    const PerRows& dim = value.dims[axis];
    if (dim.each == 0 || (axis_ >= 0 && dim != PerRows{0, 1})) continue;
    feature_ = feature;
    dtype_ = value.dtype;
    axis_ = static_cast<int>(axis);
    dim_ = dim;
  }
}

Ref RowNumbers::rows() {
  if (!rows_.empty()) return rows_;
  if (axis_ < 0) throw Lacking{"its size depends on the number of rows, which no input has"};
  const Ref shape =
      nodes_->add_named("rows/Shape", "Shape", {feature_}, {type_field("T", dtype_), type_field("out_type", DT_INT32)});
  rows_ = nodes_->add_named(
      "rows/StridedSlice", "StridedSlice", {shape, nodes_->ints({axis_}), nodes_->ints({axis_ + 1}), nodes_->ints({1})},
      {type_field("T", DT_INT32), type_field("Index", DT_INT32), number_field("shrink_axis_mask", 1)});
  if (dim_.base != 0)
    rows_ = nodes_->add_named("rows/Sub", "Sub", {rows_, nodes_->whole(dim_.base)}, {type_field("T", DT_INT32)}, "z");
  if (dim_.each != 1)
    rows_ = nodes_->add_named("rows/TruncateDiv", "TruncateDiv", {rows_, nodes_->whole(dim_.each)},
                              {type_field("T", DT_INT32)}, "z");
  return rows_;
}

Ref RowNumbers::number(const PerRows& number) {
  if (number.each == 0) return nodes_->whole(number.base);
  const auto [at, is_new] = numbers_.try_emplace({number.base, number.each});
  if (is_new) at->second = made(number);
  return at->second;
}

Ref RowNumbers::made(const PerRows& number) {
  Ref made = rows();
  if (number.each != 1)
    made = nodes_->add_named("rows/Mul", "Mul", {made, nodes_->whole(number.each)}, {type_field("T", DT_INT32)}, "z");
  if (number.base != 0)
    made =
        nodes_->add_named("rows/AddV2", "AddV2", {made, nodes_->whole(number.base)}, {type_field("T", DT_INT32)}, "z");
  return made;
}

Ref RowNumbers::list(const std::vector<PerRows>& numbers) {
  std::vector<int64_t> fixed;
  std::string key;
  for (const PerRows& number : numbers) {
    fixed.push_back(number.base);
    key += cat(number.base, "+", number.each, ",");
  }
  if (std::all_of(numbers.begin(), numbers.end(), [](const PerRows& n) { return n.each == 0; }))
    return nodes_->ints(fixed);
  const auto [at, is_new] = lists_.try_emplace(key);
  if (!is_new) return at->second;
  std::vector<Ref> parts;
  for (const PerRows& n : numbers) parts.push_back(number(n));
  return at->second =
             nodes_->add_named("rows/Pack", "Pack", parts,
                               {type_field("T", DT_INT32), number_field("N", static_cast<int64_t>(parts.size()))});
}

}  // namespace tenon::tensorflow

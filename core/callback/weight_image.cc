#include "callback/weight_image.h"

#include <algorithm>

namespace tenon {
namespace {

// [rows, columns] -> [columns, rows]
std::vector<float> transposed(const std::vector<float>& values, int64_t rows, int64_t columns) {
  std::vector<float> out(values.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[static_cast<size_t>(c * rows + r)] = values[static_cast<size_t>(r * columns + c)];
  return out;
}

void scale_to_shades(std::vector<float>& values) {
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  const float low = *least, range = *largest - low;
  for (float& v : values) v = range > 0 ? (v - low) / range : 0;
}

}  // namespace

std::optional<Array> weight_image(const Array& weight) {
  std::vector<int64_t> dims;
  for (const int64_t size : weight.shape().dims())
    if (size != 1) dims.push_back(size);
  if (dims.empty() || weight.elements() == 0) return std::nullopt;
  std::vector<float> values = weight.to<float>();
  scale_to_shades(values);
  switch (dims.size()) {
    case 1:
      return Array(values, {1, dims[0], 1, 1});
    case 2:
      if (dims[0] <= dims[1]) return Array(values, {1, dims[0], dims[1], 1});
      return Array(transposed(values, dims[0], dims[1]), {1, dims[1], dims[0], 1});
    case 3:
      return Array(transposed(values, dims[0] * dims[1], dims[2]), {dims[2], dims[0], dims[1], 1});
    case 4:
      if (dims[3] == 3 || dims[3] == 4) return Array(values, Shape(dims));
      [[fallthrough]];
    default:
      return std::nullopt;
  }
}

}  // namespace tenon

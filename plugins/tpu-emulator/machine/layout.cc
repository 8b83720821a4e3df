#include "machine/layout.h"

#include <algorithm>
#include <numeric>

namespace tpu {
namespace {

using tenon::plugin::ValueView;

constexpr int64_t kLanes = 128, kSublanes = 8;

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Pads the two dimensions that come first in minor_to_major to whole tiles.
Layout tiled(const ValueView& value, std::vector<int> minor_to_major) {
  Layout layout;
  layout.minor_to_major = std::move(minor_to_major);
  layout.padded = value.dims().vec();
  const int rank = value.rank();
  if (rank == 1) layout.padded[0] = round_up(layout.padded[0], kLanes);
  if (rank >= 2) {
    int64_t& lanes = layout.padded[static_cast<size_t>(layout.minor_to_major[0])];
    int64_t& sublanes = layout.padded[static_cast<size_t>(layout.minor_to_major[1])];
    lanes = round_up(lanes, kLanes);
    sublanes = round_up(sublanes, kSublanes);
  }
  // Booleans take a word of a tile.
  const int64_t width = value.dtype() == TENON_BOOL ? 4 : tenon::plugin::dtype_bytes(value.dtype());
  uint64_t bytes = static_cast<uint64_t>(width);
  for (int64_t dim : layout.padded) bytes *= static_cast<uint64_t>(dim);
  layout.bytes = bytes;
  layout.dense_bytes = static_cast<uint64_t>(value.bytes());
  return layout;
}

}  // namespace

Layout row_major_layout(const ValueView& value) {
  std::vector<int> order(static_cast<size_t>(value.rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  return tiled(value, std::move(order));
}

Layout image_layout(const ValueView& value) {
  const int rank = value.rank();
  if (rank < 3) return row_major_layout(value);
  // Spatial dimensions are major, in their own order.
  std::vector<int> features_minor = {rank - 1, 0}, batch_minor = {0, rank - 1};
  for (int axis = rank - 2; axis >= 1; --axis) {
    features_minor.push_back(axis);
    batch_minor.push_back(axis);
  }
  Layout by_features = tiled(value, std::move(features_minor));
  Layout by_batch = tiled(value, std::move(batch_minor));
  return by_batch.bytes < by_features.bytes ? by_batch : by_features;
}

std::string Layout::str() const {
  std::string text = "{";
  for (size_t i = 0; i < minor_to_major.size(); ++i) text += (i ? "," : "") + std::to_string(minor_to_major[i]);
  if (minor_to_major.size() >= 2) text += ":T(8,128)";
  if (minor_to_major.size() == 1) text += ":T(128)";
  return text + "}";
}

}  // namespace tpu

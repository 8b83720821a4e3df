// How a value lies in the memory of a TPU: in tiles of 8 x 128, padded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/plugin/graph.h"

namespace tpu {

struct Layout {
  std::vector<int> minor_to_major;  // {2, 1, 0}: row-major
  std::vector<int64_t> padded;      // dims, rounded up to tiles
  uint64_t bytes = 0;               // padded
  uint64_t dense_bytes = 0;
  double expansion() const { return dense_bytes ? static_cast<double>(bytes) / static_cast<double>(dense_bytes) : 1; }
  // "{2,1,0:T(8,128)}"
  std::string str() const;
};

// Row-major: the minor-most dimension to 128, the second-minor to 8; a vector to whole tiles of its only dimension.
Layout row_major_layout(const tenon::plugin::ValueView& value);
// The layout of an image [N, S.., C]: batch and features are the two minor dimensions, whichever order pads less.
Layout image_layout(const tenon::plugin::ValueView& value);

}  // namespace tpu

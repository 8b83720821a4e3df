// How fast a data set is read as a training reads it, and which work takes how much of a core's time.
#pragma once

#include <string>
#include <vector>

#include "bench/input_rate.h"
#include "survey/data_sets.h"

namespace tenon::runner {

constexpr int kMostSide = 1 << 13;

struct ImageSide {
  int height = 0, width = 0;
};

struct SetBench {
  const char* unit = "";  // what is counted: "image", "row", ..
  Rate rate;
  int64_t batch_size = 0;
  ImageSide size = {};  // that images become
  struct Part {
    const char* name;  // "read", "decode", "change", "batch"
    double core_ms;    // for one of them
  };
  // What the time of one of them goes into. "batch" is what the others are not.
  std::vector<Part> parts = {};
};

// Images become of that size, 0: as large as the first one, cropped, flipped and changed in brightness and contrast. About 2 x `seconds`.
// Damaged examples are left out; throws Error where there are no others.
SetBench bench_of(const DataSet& set, ImageSide size, double seconds);

}  // namespace tenon::runner

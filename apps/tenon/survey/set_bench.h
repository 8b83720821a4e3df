// How fast a data set is read as a training reads it, and which work takes how much of a core's time.
#pragma once

#include <string>
#include <vector>

#include "bench/input_rate.h"
#include "survey/data_sets.h"

namespace tenon::runner {

struct SetBench {
  const char* unit = "";  // what is counted: "image", "row", ..
  Rate rate;
  int64_t batch_size = 0;
  struct Part {
    const char* name;  // "read", "decode", "change", "batch"
    double core_ms;    // for one of them
  };
  // Each part done whole and by itself, where a training makes one pass of several.
  std::vector<Part> parts = {};
};

// Images become height x width, cropped, flipped and changed in brightness and contrast. About 3 x `seconds`. Damaged examples are left
// out; throws Error where there are no others.
SetBench bench_of(const DataSet& set, int height, int width, double seconds);

}  // namespace tenon::runner

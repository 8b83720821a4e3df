// What tests of dynamic dimensions share.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/input.h"
#include "unit/step/step_testing.h"

namespace tenon {

// Numbers that look random, the same for the same seed.
inline std::vector<float> wave(int64_t count, int seed) {
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(std::sin(static_cast<float>(i * 7 + seed * 13) * 0.7f));
  return out;
}
inline std::vector<int32_t> classes(int64_t count, int32_t limit, int seed) {
  std::vector<int32_t> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<int32_t>((i * 5 + i / 3 + seed) % limit));
  return out;
}

// n = 0, 1, .. as "x", and n, 3 n as "minor", whose batch stands last.
inline Dataset counted_data(int64_t count, int64_t batch) {
  const auto fill = [](int64_t example, const Sample&, Slots& out) -> Status {
    const auto n = static_cast<float>(example);
    out.get<float>(0)[0] = n;
    out.get<float>(1)[0] = n, out.get<float>(1)[1] = 3 * n;
    return {};
  };
  return Dataset::from_function(count, {{"x", {DType::kF32, {1}}}, {"minor", {DType::kF32, {2}}, true}}, fill,
                                {.batch_size = batch})
      .take();
}

// Those that TENON_TEST_DEVICES names, with commas between them, or else these.
inline std::vector<std::string> dynamic_devices() {
  const char* given = std::getenv("TENON_TEST_DEVICES");
  std::istringstream names(given ? given : "cpu,tpu-emulator:v3-8");
  std::vector<std::string> out;
  for (std::string name; std::getline(names, name, ',');) out.push_back(name);
  return out;
}

}  // namespace tenon

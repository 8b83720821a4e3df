// The data and first weights that Keras was given for the numbers of these tests.
#pragma once

#include <string>
#include <vector>

#include "tenon/layer_classes.h"

namespace tenon::model_testing {

// ((m i) mod k - o) / d
inline std::vector<float> pattern(int64_t n, int64_t m, int64_t k, int64_t o, float d) {
  std::vector<float> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<float>(m * i % k - o) / d);
  return out;
}

constexpr int64_t kExamples = 24;
inline Array first_input() { return Array(pattern(kExamples * 4, 7, 11, 5, 4), {kExamples, 4}); }
inline Array second_input() { return Array(pattern(kExamples * 3, 5, 13, 6, 4), {kExamples, 3}); }
inline Array labels() {
  std::vector<int32_t> y;
  for (int64_t i = 0; i < kExamples; ++i) y.push_back(static_cast<int32_t>(i % 3));
  return Array(y);
}

inline Initializer patterned(const Shape& shape) { return values_initializer(pattern(shape.elements(), 5, 7, 3, 8)); }

inline DenseOptions dense_of(int64_t units, std::string name = "dense") {
  return {.units = units, .kernel_initializer = &patterned, .name = std::move(name)};
}
inline DenseOptions tanh_of(int64_t units, std::string name = "dense") {
  DenseOptions o = dense_of(units, std::move(name));
  o.activation = tanh;
  return o;
}

}  // namespace tenon::model_testing

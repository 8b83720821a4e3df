// Small graphs and cases made by hand.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conformance/expected.h"
#include "conformance/host/harness.h"
#include "conformance/host/lowering.h"

namespace tenon::conformance {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using plugin::GraphView;
using reference::Tensor;

inline Tensor floats(const std::vector<int64_t>& dims, const std::vector<double>& values, int32_t dtype = TENON_F32) {
  Tensor t = reference::zeros(dtype, dims);
  t.f = values;
  return t;
}

inline Fill values_of(std::vector<double> values) {
  Fill fill;
  fill.values = std::move(values);
  return fill;
}

inline Fill uniform_of(uint64_t seed, double low, double high) {
  Fill fill;
  fill.kind = Fill::kUniform;
  fill.seed = seed;
  fill.low = low;
  fill.high = high;
  return fill;
}

// y = op(x..), all of f32[n].
inline FlatGraph one_op(const std::string& op, int operands, int64_t n) {
  GraphBuilder b;
  std::vector<uint32_t> in;
  for (int k = 0; k < operands; ++k) in.push_back(b.input(TENON_F32, {n}, TENON_ROLE_STATE));
  const uint32_t y = b.value(TENON_F32, {n});
  b.node(op, in, {y}).name("y");
  b.result(y);
  return b.build();
}

// The text of the failure that `work` throws, or nothing.
template <class Work>
std::string failure_of(Work work) {
  try {
    work();
  } catch (const Failure& failure) {
    return failure.text;
  }
  return {};
}

}  // namespace tenon::conformance

// What each op of the op set is tried with on a device: at least one case an op.
#pragma once

#include "integration/device_testing.h"

namespace tenon::device_testing {

struct Case {
  std::string op;    // that it is about
  std::string what;  // "f32 [7,13]"
  std::vector<Feed> feeds;
  Build build;
  bool whole = true;  // cpu.so takes it whole in f32; one that it leaves to its decomposition says false
  double order = 0;   // of a running sum, whose order is free: so many ulps of the largest result more
};
using Cases = std::vector<Case>;

void add_elementwise_cases(Cases& cases);
void add_movement_cases(Cases& cases);
void add_contraction_cases(Cases& cases);  // dot, conv, pools, reductions, sort
void add_network_cases(Cases& cases);      // normalisation, softmax, dropout, attention, recurrent cells, images
void add_update_cases(Cases& cases);

// All of the above, made once.
const Cases& all_cases();

constexpr DType kFloats[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64};
constexpr DType kNumbers[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI32, DType::kI64};
constexpr DType kAll[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kF64,
                          DType::kI32, DType::kI64, DType::kU8,  DType::kBool};

inline std::string name_of(const Type& type) { return type.str(); }

}  // namespace tenon::device_testing

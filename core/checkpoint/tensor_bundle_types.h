// TensorFlow's numbers for element types, and the string tensors' layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenon/types.h"

namespace tenon {

constexpr int32_t kTfString = 7;
constexpr size_t kBundlePieceBytes = 1 << 20;  // of a tensor, read or written at a time

constexpr std::pair<DType, int32_t> kTfTypes[] = {{DType::kF32, 1},   {DType::kF64, 2}, {DType::kI32, 3},
                                                  {DType::kU8, 4},    {DType::kI64, 9}, {DType::kBool, 10},
                                                  {DType::kBF16, 14}, {DType::kF16, 19}};

// 0 when there is none.
constexpr int32_t tf_type(DType dtype) {
  for (const auto& [ours, theirs] : kTfTypes)
    if (ours == dtype) return theirs;
  return 0;
}

// kNone when Tenon has no such type.
constexpr DType dtype_from_tf(int32_t type) {
  for (const auto& [ours, theirs] : kTfTypes)
    if (theirs == type) return ours;
  return DType::kNone;
}

}  // namespace tenon

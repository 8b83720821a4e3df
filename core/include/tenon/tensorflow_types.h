// TensorFlow's numbers and names of element types: tensorflow/core/framework/types.proto.
#pragma once

#include <cstdint>

#include "tenon/types.h"

namespace tenon {

struct TensorFlowType {
  DType dtype;
  int32_t number;
  const char* name;
};
inline constexpr TensorFlowType kTensorFlowTypes[] = {{DType::kF32, 1, "DT_FLOAT"},      {DType::kF64, 2, "DT_DOUBLE"},
                                                      {DType::kI32, 3, "DT_INT32"},      {DType::kU8, 4, "DT_UINT8"},
                                                      {DType::kI64, 9, "DT_INT64"},      {DType::kBool, 10, "DT_BOOL"},
                                                      {DType::kBF16, 14, "DT_BFLOAT16"}, {DType::kF16, 19, "DT_HALF"}};
inline constexpr int32_t kTensorFlowString = 7;

// 0 when it has none.
constexpr int32_t tensorflow_number(DType dtype) {
  for (const TensorFlowType& type : kTensorFlowTypes)
    if (type.dtype == dtype) return type.number;
  return 0;
}

// kNone when Tenon has no such type.
constexpr DType dtype_of_tensorflow(int32_t number) {
  for (const TensorFlowType& type : kTensorFlowTypes)
    if (type.number == number) return type.dtype;
  return DType::kNone;
}

// "DT_FLOAT", of strings "DT_STRING"; "DT_INVALID" of a number that is neither.
constexpr const char* tensorflow_type_name(int32_t number) {
  for (const TensorFlowType& type : kTensorFlowTypes)
    if (type.number == number) return type.name;
  return number == kTensorFlowString ? "DT_STRING" : "DT_INVALID";
}

}  // namespace tenon

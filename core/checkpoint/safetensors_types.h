// The element types of safetensors, Tenon's among them.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/types.h"

namespace tenon {

struct SafetensorsType {
  std::string_view name;
  DType dtype;    // kNone: Tenon does not have it
  int64_t bytes;  // of an element
};

constexpr SafetensorsType kSafetensorsTypes[] = {
    {"F32", DType::kF32, 4},  {"F64", DType::kF64, 8},      {"F16", DType::kF16, 2},      {"BF16", DType::kBF16, 2},
    {"I32", DType::kI32, 4},  {"I64", DType::kI64, 8},      {"U8", DType::kU8, 1},        {"BOOL", DType::kBool, 1},
    {"I8", DType::kNone, 1},  {"I16", DType::kNone, 2},     {"U16", DType::kNone, 2},     {"U32", DType::kNone, 4},
    {"U64", DType::kNone, 8}, {"F8_E4M3", DType::kNone, 1}, {"F8_E5M2", DType::kNone, 1}, {"F8_E8M0", DType::kNone, 1},
    {"C64", DType::kNone, 8},
};

// nullptr when the format has none of that name.
constexpr const SafetensorsType* safetensors_type(std::string_view name) {
  for (const SafetensorsType& type : kSafetensorsTypes)
    if (type.name == name) return &type;
  return nullptr;
}

// "" when there is none.
constexpr std::string_view safetensors_name(DType dtype) {
  for (const SafetensorsType& type : kSafetensorsTypes)
    if (type.dtype == dtype && dtype != DType::kNone) return type.name;
  return {};
}

}  // namespace tenon

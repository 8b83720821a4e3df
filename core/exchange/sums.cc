#include "exchange/sums.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace tenon {
namespace {

constexpr size_t kBlock = 4096;  // elements that stay in the first cache while the arrays are gone through

template <class T>
using Combine = T (*)(T, T);

// NaN stays one, as in maximum and minimum.
template <class T>
T larger(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
T smaller(T a, T b) {
  return a < b || a != a ? a : b;
}

template <class T, class F>
void fold_blocks(std::span<const std::byte* const> from, std::byte* to, size_t n, F combine) {
  T* const out = reinterpret_cast<T*>(to);
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t end = std::min(begin + kBlock, n);
    const T* const first = reinterpret_cast<const T*>(from[0]);
    if (from.size() == 1) {
      std::memmove(out + begin, first + begin, (end - begin) * sizeof(T));
      continue;
    }
    const T* const second = reinterpret_cast<const T*>(from[1]);
    for (size_t i = begin; i < end; ++i) out[i] = combine(first[i], second[i]);
    for (size_t k = 2; k < from.size(); ++k) {
      const T* const next = reinterpret_cast<const T*>(from[k]);
      for (size_t i = begin; i < end; ++i) out[i] = combine(out[i], next[i]);
    }
  }
}

// Integers wrap, as on the devices.
template <class T>
void fold_numbers(ReduceKind kind, std::span<const std::byte* const> from, std::byte* to, size_t bytes) {
  const size_t n = bytes / sizeof(T);
  switch (kind) {
    case ReduceKind::kSum:
      return fold_blocks<T>(from, to, n, [](T a, T b) { return static_cast<T>(a + b); });
    case ReduceKind::kProd:
      return fold_blocks<T>(from, to, n, [](T a, T b) { return static_cast<T>(a * b); });
    case ReduceKind::kMax:
      return fold_blocks<T>(from, to, n, larger<T>);
    case ReduceKind::kMin:
      return fold_blocks<T>(from, to, n, smaller<T>);
  }
}

float combined(ReduceKind kind, float a, float b) {
  switch (kind) {
    case ReduceKind::kSum:
      return a + b;
    case ReduceKind::kProd:
      return a * b;
    case ReduceKind::kMax:
      return larger(a, b);
    case ReduceKind::kMin:
      break;
  }
  return smaller(a, b);
}

template <float (*Widen)(uint16_t), uint16_t (*Narrow)(float)>
void fold_narrow(ReduceKind kind, std::span<const std::byte* const> from, std::byte* to, size_t bytes) {
  const size_t n = bytes / 2;
  float wide[kBlock];
  for (size_t begin = 0; begin < n; begin += kBlock) {
    const size_t count = std::min(kBlock, n - begin);
    const auto at = [&](size_t k) { return reinterpret_cast<const uint16_t*>(from[k]) + begin; };
    for (size_t i = 0; i < count; ++i) wide[i] = Widen(at(0)[i]);
    for (size_t k = 1; k < from.size(); ++k)
      for (size_t i = 0; i < count; ++i) wide[i] = combined(kind, wide[i], Widen(at(k)[i]));
    for (size_t i = 0; i < count; ++i) reinterpret_cast<uint16_t*>(to)[begin + i] = Narrow(wide[i]);
  }
}

}  // namespace

bool folds(DType dtype) { return dtype != DType::kNone && dtype != DType::kBool; }

void fold(ReduceKind kind, DType dtype, std::span<const std::byte* const> from, std::byte* to, size_t bytes) {
  switch (dtype) {
    case DType::kF32:
      return fold_numbers<float>(kind, from, to, bytes);
    case DType::kF64:
      return fold_numbers<double>(kind, from, to, bytes);
    case DType::kI32:
      return kind == ReduceKind::kSum || kind == ReduceKind::kProd ? fold_numbers<uint32_t>(kind, from, to, bytes)
                                                                   : fold_numbers<int32_t>(kind, from, to, bytes);
    case DType::kI64:
      return kind == ReduceKind::kSum || kind == ReduceKind::kProd ? fold_numbers<uint64_t>(kind, from, to, bytes)
                                                                   : fold_numbers<int64_t>(kind, from, to, bytes);
    case DType::kU8:
      return fold_numbers<uint8_t>(kind, from, to, bytes);
    case DType::kBF16:
      return fold_narrow<from_bf16, to_bf16>(kind, from, to, bytes);
    case DType::kF16:
      return fold_narrow<from_f16, to_f16>(kind, from, to, bytes);
    case DType::kNone:
    case DType::kBool:
      return;
  }
}

}  // namespace tenon

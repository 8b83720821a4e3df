#include <algorithm>
#include <array>
#include <cstring>

#include "base/half.h"
#include "base/strings.h"
#include "import/onnx/file/onnx_model_file.h"
#include "import/onnx/file/small_float.h"

namespace tenon::onnx {
namespace {

struct Facts {
  const char* name;
  DType stored;
  int bits;
};

constexpr DType kNo = DType::kNone, kF32 = DType::kF32, kI32 = DType::kI32, kI64 = DType::kI64;
constexpr std::array<Facts, 27> kFacts = {{
    {"none", kNo, 0},           {"f32", kF32, 32},         {"u8", kI32, 8},          {"i8", kI32, 8},
    {"u16", kI32, 16},          {"i16", kI32, 16},         {"i32", kI32, 32},        {"i64", kI64, 64},
    {"string", kNo, 0},         {"bool", DType::kBool, 8}, {"f16", DType::kF16, 16}, {"f64", DType::kF64, 64},
    {"u32", kI64, 32},          {"u64", kI64, 64},         {"complex64", kNo, 64},   {"complex128", kNo, 128},
    {"bf16", DType::kBF16, 16}, {"f8e4m3fn", kF32, 8},     {"f8e4m3fnuz", kF32, 8},  {"f8e5m2", kF32, 8},
    {"f8e5m2fnuz", kF32, 8},    {"u4", kI32, 4},           {"i4", kI32, 4},          {"f4e2m1", kF32, 4},
    {"f8e8m0", kF32, 8},        {"u2", kI32, 2},           {"i2", kI32, 2},
}};

const Facts* facts(Element element) {
  const auto number = static_cast<size_t>(element);
  return number < kFacts.size() ? &kFacts[number] : nullptr;
}

template <class From, class To>
void widen(std::span<const std::byte> from, std::span<std::byte> to) {
  for (size_t i = 0; i < from.size() / sizeof(From); ++i) {
    From number;
    std::memcpy(&number, &from[i * sizeof(From)], sizeof number);
    const To wide = static_cast<To>(number);
    std::memcpy(&to[i * sizeof(To)], &wide, sizeof wide);
  }
}

// Elements of less than a byte: the first in the low bits.
void unpack(std::span<const std::byte> from, int bits, bool is_signed, std::span<std::byte> to) {
  const int mask = (1 << bits) - 1, each = 8 / bits;
  for (size_t i = 0; i < to.size() / 4; ++i) {
    const size_t n = static_cast<size_t>(each);
    int32_t value = static_cast<int>(from[i / n]) >> (static_cast<int>(i % n) * bits) & mask;
    if (is_signed && value > mask / 2) value -= mask + 1;
    std::memcpy(&to[i * 4], &value, 4);
  }
}

void unpack_floats(Element element, std::span<const std::byte> from, std::span<std::byte> to) {
  const std::vector<float> values = small_float_values(element);
  const int64_t bits = element_bits(element);
  for (size_t i = 0; i < to.size() / 4; ++i) {
    const int code = bits == 8 ? static_cast<int>(from[i]) : static_cast<int>(from[i / 2]) >> (i % 2 * 4) & 15;
    std::memcpy(&to[i * 4], &values[static_cast<size_t>(code)], 4);
  }
}

void convert(Element element, std::span<const std::byte> from, std::span<std::byte> to) {
  switch (element) {
    case Element::kU8:
      return widen<uint8_t, int32_t>(from, to);
    case Element::kI8:
      return widen<int8_t, int32_t>(from, to);
    case Element::kU16:
      return widen<uint16_t, int32_t>(from, to);
    case Element::kI16:
      return widen<int16_t, int32_t>(from, to);
    case Element::kU32:
      return widen<uint32_t, int64_t>(from, to);
    case Element::kU4:
    case Element::kU2:
      return unpack(from, static_cast<int>(element_bits(element)), false, to);
    case Element::kI4:
    case Element::kI2:
      return unpack(from, static_cast<int>(element_bits(element)), true, to);
    case Element::kBool:
      for (size_t i = 0; i < from.size(); ++i) to[i] = std::byte{from[i] != std::byte{0}};
      return;
    default:
      break;
  }
  if (is_small_float(element)) return unpack_floats(element, from, to);
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace

std::string element_name(Element element) {
  const Facts* known = facts(element);
  return known ? known->name : cat("element type ", static_cast<int>(element));
}

DType stored_as(Element element) {
  const Facts* known = facts(element);
  return known ? known->stored : DType::kNone;
}

int64_t element_bits(Element element) {
  const Facts* known = facts(element);
  return known ? known->bits : 0;
}

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Element::kF32;
    case DType::kBF16:
      return Element::kBF16;
    case DType::kF16:
      return Element::kF16;
    case DType::kF64:
      return Element::kF64;
    case DType::kI32:
      return Element::kI32;
    case DType::kI64:
      return Element::kI64;
    case DType::kU8:
      return Element::kU8;
    case DType::kBool:
      return Element::kBool;
    case DType::kNone:
      break;
  }
  return Element::kNone;
}

int64_t TensorData::elements() const {
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t n = 1;
  for (const int64_t dim : dims) n *= dim;  // held against memory when it was read
  return n;
}

std::string TensorData::str() const { return cat(element_name(element), "[", join(dims, ","), "]"); }

Result<Array> to_array(const TensorData& tensor) {
  const DType dtype = stored_as(tensor.element);
  if (dtype == DType::kNone)
    return Status(Code::kUnsupported,
                  cat("'", abbreviated(tensor.name), "' is ", tensor.str(), ", expected real numbers or booleans"));
  if (tensor.dims.size() > kMaxRank)
    return Status(Code::kUnsupported, cat("'", abbreviated(tensor.name), "' is ", tensor.str(), ", expected up to ",
                                          kMaxRank, " dimensions"));
  const Type type{dtype, Shape(tensor.dims)};
  std::vector<std::byte> raw(static_cast<size_t>(tensor.bytes->size()));
  TENON_TRY(tensor.bytes->read(raw));
  Array out(type);
  convert(tensor.element, raw, out.bytes());
  return out;
}

}  // namespace tenon::onnx

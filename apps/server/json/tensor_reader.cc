#include "server/json/tensor_reader.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "server/json/base64.h"
#include "tenon/text.h"

namespace tenon::server {
namespace {

namespace dom = simdjson::dom;
using Kind = dom::element_type;

constexpr size_t kShownBytes = 80;

bool is_number(Kind kind) { return kind == Kind::DOUBLE || kind == Kind::INT64 || kind == Kind::UINT64; }

Status type_error(dom::element value, DType dtype) {
  return Status(Code::kInvalid, "JSON Value: " + json_text(value) + " Type: " + json_type_name(value) +
                                    " is not of expected type: " + std::string(dtype_name(dtype)));
}

Status lossy(dom::element value, DType dtype) {
  return Status(Code::kInvalid, "Cannot convert JSON value: " + json_text(value) + " to " +
                                    std::string(dtype_name(dtype)) + " without loss of precision");
}

// What simdjson keeps of a list's size ends at 2^24 - 1.
int64_t elements(dom::array list) {
  const size_t size = list.size();
  return size < 0xffffff ? static_cast<int64_t>(size) : std::distance(list.begin(), list.end());
}

// The largest finite value, and the integers up to which all are exact.
struct FloatRange {
  double largest, exact;
};
FloatRange range_of(DType dtype) {
  if (dtype == DType::kF32) return {std::numeric_limits<float>::max(), 0x1p24};
  return {std::numeric_limits<double>::max(), 0x1p53};
}

}  // namespace

const char* json_type_name(dom::element value) {
  switch (value.type()) {
    case Kind::ARRAY:
      return "Array";
    case Kind::OBJECT:
      return "Object";
    case Kind::STRING:
      return "String";
    case Kind::BOOL:
      return value.get_bool().value_unsafe() ? "True" : "False";
    case Kind::NULL_VALUE:
      return "Null";
    default:
      return "Number";
  }
}

// A long value is not printed whole first: strings and numbers show how they begin, the others what they are.
std::string json_text(dom::element value) {
  switch (value.type()) {
    case Kind::ARRAY:
      return "[" + std::to_string(value.get_array().value_unsafe().size()) + " elements]";
    case Kind::OBJECT:
      return "{" + std::to_string(value.get_object().value_unsafe().size()) + " members}";
    case Kind::STRING: {
      const std::string_view text = value.get_string().value_unsafe();
      return text.size() <= kShownBytes ? json_string(text) : json_string(text.substr(0, kShownBytes)) + "..";
    }
    default:
      return simdjson::minify(value);
  }
}

TensorReader::TensorReader(const ServedModel& model, const ServingValue& input, int64_t* budget)
    : model_(&model), input_(&input), budget_(budget), row_bytes_(input.type.bytes()) {}

template <class T>
void TensorReader::put(T value) {
  const size_t at = bytes_.size();
  bytes_.resize(at + sizeof value);
  std::memcpy(bytes_.data() + at, &value, sizeof value);
}

Status TensorReader::add(dom::element value) {
  if ((*budget_ -= row_bytes_) < 0) return Status(Code::kInvalid, "the request's tensors need too much memory");
  if (row_bytes_ <= 4096) bytes_.reserve(bytes_.size() + static_cast<size_t>(row_bytes_) * (rows_ == 0 ? 1 : 2));
  ++rows_;
  return input_->kind == ServingValue::Kind::kImage ? add_image(value) : add_nested(value, 0);
}

Status TensorReader::add_image(dom::element value) {
  dom::object object;
  std::string_view text;
  if (value.get(object) != simdjson::SUCCESS || object.size() != 1 || object["b64"].get(text) != simdjson::SUCCESS)
    return Status(Code::kInvalid, "JSON Value: " + json_text(value) + " Type: " + json_type_name(value) +
                                      " is no file of an image: expected {\"b64\": \"..\"}");
  const std::optional<std::vector<std::byte>> file = from_base64(text);
  if (!file) return Status(Code::kInvalid, "Unable to base64 decode");
  TENON_ASSIGN(const Array row, model_->image_row(*file));
  const auto bytes = row.bytes();
  if (std::ssize(bytes) != row_bytes_)
    return Status(Code::kInternal, "an image became " + row.type().str() + ", expected " + input_->type.str());
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return {};
}

Status TensorReader::add_nested(dom::element value, int level) {
  const int rank = input_->type.shape.rank();
  dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    if (level == rank) return add_number(value);
    return Status(Code::kInvalid, "JSON Value: " + json_text(value) +
                                      " found at incorrect level: " + std::to_string(level + 1) +
                                      " in the JSON DOM. Expected at level: " + std::to_string(rank + 1));
  }
  if (level >= rank)
    return Status(Code::kInvalid, "Encountered list at unexpected level: " + std::to_string(level + 1) +
                                      " expected < " + std::to_string(rank + 1));
  const int64_t expected = input_->type.shape[level], size = elements(list);
  if (size != expected)
    return Status(Code::kInvalid, "Encountered list at unexpected size: " + std::to_string(size) + " at level: " +
                                      std::to_string(level + 1) + " expected size: " + std::to_string(expected));
  const bool numbers = level + 1 == rank;
  for (const dom::element e : list) TENON_TRY(numbers && !e.is_array() ? add_number(e) : add_nested(e, level + 1));
  return {};
}

Status TensorReader::add_number(dom::element value) {
  const DType dtype = input_->type.dtype;
  const Kind kind = value.type();
  if (dtype == DType::kBool) {
    if (kind != Kind::BOOL) return type_error(value, dtype);
    put(static_cast<uint8_t>(value.get_bool().value_unsafe()));
    return {};
  }
  if (!is_number(kind)) return type_error(value, dtype);
  if (dtype == DType::kBF16 || dtype == DType::kF16)
    return Status(Code::kInvalid, "Conversion of JSON Value: " + json_text(value) +
                                      " to type: " + std::string(dtype_name(dtype)) + " is not implemented");
  if (is_float(dtype)) {
    const double number = value.get_double().value_unsafe();
    const FloatRange range = range_of(dtype);
    if (kind == Kind::DOUBLE ? !(std::fabs(number) <= range.largest) : std::fabs(number) >= range.exact)
      return lossy(value, dtype);
    if (dtype == DType::kF32)
      put(static_cast<float>(number));
    else
      put(number);
    return {};
  }
  if (kind != Kind::INT64) return type_error(value, dtype);  // a fraction, or beyond int64
  const int64_t number = value.get_int64().value_unsafe();
  if (dtype == DType::kI64) return put(number), Status();
  const bool is_u8 = dtype == DType::kU8;
  const int64_t low = is_u8 ? 0 : std::numeric_limits<int32_t>::min();
  const int64_t high = is_u8 ? 255 : std::numeric_limits<int32_t>::max();
  if (number < low || number > high) return type_error(value, dtype);
  if (is_u8)
    put(static_cast<uint8_t>(number));
  else
    put(static_cast<int32_t>(number));
  return {};
}

Array TensorReader::take() {
  std::vector<int64_t> dims = {rows_};
  dims.insert(dims.end(), input_->type.shape.begin(), input_->type.shape.end());
  rows_ = 0;
  return Array(Type{input_->type.dtype, Shape(dims)}, std::exchange(bytes_, {}));
}

}  // namespace tenon::server

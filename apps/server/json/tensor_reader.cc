#include "server/json/tensor_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include "server/json/base64.h"
#include "server/narrow_float.h"
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

// f32 and f64 hold what is sent: integers beyond those up to which all are exact are refused. f16 and bf16 are rounded. What is beyond the
// largest finite value of any is refused.
template <class T>
bool holds(Kind kind, double number, T value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    constexpr double kExact = std::is_same_v<T, float> ? 0x1p24 : 0x1p53;
    return kind == Kind::DOUBLE ? std::fabs(number) <= std::numeric_limits<T>::max() : std::fabs(number) < kExact;
  } else {
    return value.finite();
  }
}

template <class T>
Status read_float(dom::element value, DType dtype, T* out) {
  const Kind kind = value.type();
  if (!is_number(kind)) return type_error(value, dtype);
  const double number = value.get_double().value_unsafe();
  *out = static_cast<T>(number);
  return holds(kind, number, *out) ? Status() : lossy(value, dtype);
}

template <class T>
Status read_integer(dom::element value, DType dtype, T* out) {
  if (value.type() != Kind::INT64) return type_error(value, dtype);  // a fraction, or beyond int64
  const int64_t number = value.get_int64().value_unsafe();
  *out = static_cast<T>(number);
  return static_cast<int64_t>(*out) == number ? Status() : type_error(value, dtype);
}

Status read_bool(dom::element value, DType dtype, uint8_t* out) {
  if (value.type() != Kind::BOOL) return type_error(value, dtype);
  *out = static_cast<uint8_t>(value.get_bool().value_unsafe());
  return {};
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

Status TensorReader::add(dom::element value) {
  if ((*budget_ -= row_bytes_) < 0) return Status(Code::kInvalid, "the request's tensors need too much memory");
  bytes_.resize(bytes_.size() + static_cast<size_t>(row_bytes_));
  next_ = bytes_.data() + bytes_.size() - row_bytes_;
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
  std::copy(bytes.begin(), bytes.end(), next_);
  return {};
}

Status TensorReader::add_nested(dom::element value, int level) {
  const int rank = input_->type.shape.rank();
  dom::array list;
  if (value.get(list) != simdjson::SUCCESS) {
    if (level == rank) return add_numbers(std::span(&value, 1));
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
  if (level + 1 == rank) return add_numbers(list);
  for (const dom::element e : list) TENON_TRY(add_nested(e, level + 1));
  return {};
}

// One, or those of a list at the last level.
template <class Values>
Status TensorReader::add_numbers(const Values& values) {
  const DType dtype = input_->type.dtype;
  const auto each = [&](auto t, const auto& read) -> Status {
    auto* out = reinterpret_cast<decltype(t)*>(next_);
    for (const dom::element e : values) {
      if (e.is_array()) return add_nested(e, input_->type.shape.rank());  // says what is wrong
      TENON_TRY(read(e, dtype, out++));
    }
    next_ = reinterpret_cast<std::byte*>(out);
    return {};
  };
  switch (dtype) {
    case DType::kF32:
      return each(float{}, read_float<float>);
    case DType::kF64:
      return each(double{}, read_float<double>);
    case DType::kF16:
      return each(F16{}, read_float<F16>);
    case DType::kBF16:
      return each(Bf16{}, read_float<Bf16>);
    case DType::kI64:
      return each(int64_t{}, read_integer<int64_t>);
    case DType::kI32:
      return each(int32_t{}, read_integer<int32_t>);
    case DType::kU8:
      return each(uint8_t{}, read_integer<uint8_t>);
    default:
      return each(uint8_t{}, read_bool);
  }
}

Array TensorReader::take() {
  std::vector<int64_t> dims = {rows_};
  dims.insert(dims.end(), input_->type.shape.begin(), input_->type.shape.end());
  rows_ = 0;
  return Array(Type{input_->type.dtype, Shape(dims)}, std::exchange(bytes_, {}));
}

}  // namespace tenon::server

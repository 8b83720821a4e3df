#include "server/grpc/module/tensor_proto.h"

#include <cstring>
#include <type_traits>

#include "tenon/tensorflow_types.h"

namespace tenon::server {
namespace {

constexpr int32_t kFloat = tensorflow_number(DType::kF32), kDouble = tensorflow_number(DType::kF64),
                  kInt32 = tensorflow_number(DType::kI32), kUint8 = tensorflow_number(DType::kU8),
                  kInt64 = tensorflow_number(DType::kI64), kBool = tensorflow_number(DType::kBool),
                  kBfloat16 = tensorflow_number(DType::kBF16), kHalf = tensorflow_number(DType::kF16);

int64_t bytes_of(int dtype) {
  switch (dtype) {
    case kFloat:
    case kInt32:
      return 4;
    case kDouble:
    case kInt64:
      return 8;
    case kUint8:
    case kBool:
      return 1;
    case kBfloat16:
    case kHalf:
      return 2;
    default:
      return 0;
  }
}

// The product of sizes, or -1 where one is negative or there are more elements than `most`.
int64_t elements_of(const proto::TensorShapeProto& shape, int64_t most, std::vector<int64_t>* dims) {
  int64_t out = 1;
  for (const auto& dim : shape.dim()) {
    if (dim.size() < 0 || (dim.size() > 0 && out > most / dim.size())) return -1;
    out *= dim.size();
    dims->push_back(dim.size());
  }
  return out;
}

// The list's values, of which the last one is repeated; none: zeros.
template <class T, class List>
bool fill(const List& list, int64_t elements, std::string* out) {
  if (list.size() > elements) return false;
  out->resize(static_cast<size_t>(elements) * sizeof(T));
  T value{};
  for (int64_t i = 0; i < elements; ++i) {
    if (i < list.size()) {
      const auto given = list.Get(static_cast<int>(i));
      value = static_cast<T>(given);
      if constexpr (std::is_integral_v<T>)
        if (static_cast<decltype(given)>(value) != given) return false;
    }
    std::memcpy(out->data() + static_cast<size_t>(i) * sizeof value, &value, sizeof value);
  }
  return true;
}

bool fill_numbers(const proto::TensorProto& from, int64_t elements, std::string* out) {
  switch (from.dtype()) {
    case kFloat:
      return fill<float>(from.float_val(), elements, out);
    case kDouble:
      return fill<double>(from.double_val(), elements, out);
    case kInt32:
      return fill<int32_t>(from.int_val(), elements, out);
    case kUint8:
      return fill<uint8_t>(from.int_val(), elements, out);
    case kInt64:
      return fill<int64_t>(from.int64_val(), elements, out);
    case kBool:
      return fill<bool>(from.bool_val(), elements, out);
    default:
      return fill<uint16_t>(from.half_val(), elements, out);
  }
}

template <class T, class Add>
void each(const std::string& bytes, const Add& add) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    add(value);
  }
}

}  // namespace

std::string read_tensor(const proto::TensorProto& from, int64_t* budget, GrpcTensor* to) {
  to->dtype = from.dtype();
  if (from.tensor_shape().unknown_rank()) return "the shape is unknown";
  if (from.tensor_shape().dim_size() > 8) return "there are more than 8 dimensions";
  const bool text = from.dtype() == kTensorFlowString;
  const int64_t size = text ? 32 : bytes_of(from.dtype());
  if (size == 0) return "dtype " + std::to_string(from.dtype()) + " is not supported";
  const int64_t elements = elements_of(from.tensor_shape(), *budget / size, &to->dims);
  if (elements < 0) return "the shape is negative, or larger than the server takes";
  *budget -= elements * size;
  if (text) {
    if (from.string_val_size() != elements)
      return "there are " + std::to_string(from.string_val_size()) + " strings, the shape has " +
             std::to_string(elements);
    to->strings.assign(from.string_val().begin(), from.string_val().end());
    return {};
  }
  if (from.tensor_content().empty())
    return fill_numbers(from, elements, &to->bytes)
               ? ""
               : "there are more elements than the shape has, or one that the dtype does not hold";
  if (static_cast<int64_t>(from.tensor_content().size()) != elements * size)
    return "tensor_content has " + std::to_string(from.tensor_content().size()) + " bytes, the shape has " +
           std::to_string(elements * size);
  to->bytes = from.tensor_content();
  return {};
}

void write_tensor(const GrpcTensor& from, proto::TensorProto* to) {
  to->set_dtype(from.dtype);
  for (const int64_t d : from.dims) to->mutable_tensor_shape()->add_dim()->set_size(d);
  for (const std::string& text : from.strings) to->add_string_val(text);
  switch (from.dtype) {
    case kFloat:
      return each<float>(from.bytes, [to](float v) { to->add_float_val(v); });
    case kDouble:
      return each<double>(from.bytes, [to](double v) { to->add_double_val(v); });
    case kInt32:
      return each<int32_t>(from.bytes, [to](int32_t v) { to->add_int_val(v); });
    case kUint8:
      return each<uint8_t>(from.bytes, [to](uint8_t v) { to->add_int_val(v); });
    case kInt64:
      return each<int64_t>(from.bytes, [to](int64_t v) { to->add_int64_val(v); });
    case kBool:
      return each<uint8_t>(from.bytes, [to](uint8_t v) { to->add_bool_val(v != 0); });
    case kBfloat16:
    case kHalf:
      return each<uint16_t>(from.bytes, [to](uint16_t v) { to->add_half_val(v); });
    default:
      return;
  }
}

}  // namespace tenon::server

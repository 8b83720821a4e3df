#include "server/grpc/tensors.h"

#include <algorithm>
#include <cstring>

namespace tenon::server {
namespace {

using Kind = ServingValue::Kind;

Status invalid(const std::string& message) { return Status(Code::kInvalid, message); }

std::string dims_text(const std::vector<int64_t>& dims) {
  std::string out;
  for (const int64_t d : dims) out += (out.empty() ? "" : ",") + std::to_string(d);
  return "[" + out + "]";
}

std::vector<int64_t> batch_dims(const ServingValue& value, int64_t rows) {
  std::vector<int64_t> out{rows};
  if (value.kind == Kind::kTensor)
    out.insert(out.end(), value.type.shape.begin(), value.type.shape.begin() + value.type.shape.rank());
  return out;
}

int32_t number_of(const ServingValue& value) {
  return value.kind == Kind::kTensor ? tensorflow_number(value.type.dtype) : kTensorFlowString;
}

Status check_input(const ServingValue& input, const GrpcTensor& given, int64_t rows) {
  if (given.dtype != number_of(input))
    return invalid("input \"" + input.name + "\": expected dtype " + tensorflow_type_name(number_of(input)) +
                   ", found " + tensorflow_type_name(given.dtype));
  const int64_t own = given.dims.empty() ? -1 : given.dims[0];
  const std::vector<int64_t> expected = batch_dims(input, rows < 0 ? own : rows);
  if (given.dims != expected || expected[0] < 1)
    return invalid("input \"" + input.name + "\": expected shape " + dims_text(batch_dims(input, rows)) + ", found " +
                   dims_text(given.dims));
  return {};
}

// The first element whose exponent has all bits, which NaN and infinity have alone; -1: none.
template <class Bits>
int64_t first_infinite(const std::string& bytes, Bits exponent) {
  Bits bits;
  for (size_t at = 0; at + sizeof bits <= bytes.size(); at += sizeof bits) {
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    if ((bits & exponent) == exponent) return static_cast<int64_t>(at / sizeof bits);
  }
  return -1;
}

// REST has no way to say them, and one such number in a batch is mostly an accident of who asks.
Status check_finite(const ServingValue& input, const std::string& bytes) {
  const DType dtype = input.type.dtype;
  const int64_t at = dtype == DType::kF32    ? first_infinite<uint32_t>(bytes, 0x7f800000)
                     : dtype == DType::kF64  ? first_infinite<uint64_t>(bytes, 0x7ff0000000000000)
                     : dtype == DType::kF16  ? first_infinite<uint16_t>(bytes, 0x7c00)
                     : dtype == DType::kBF16 ? first_infinite<uint16_t>(bytes, 0x7f80)
                                             : -1;
  if (at < 0) return {};
  return invalid("input \"" + input.name + "\": element " + std::to_string(at) + " is NaN or infinite");
}

Result<Array> images_of(const ServingValue& input, const GrpcTensor& files, const ServedModel& model) {
  Type type{input.type.dtype, {}};
  std::vector<int64_t> dims = input.type.shape.vec();
  dims.insert(dims.begin(), static_cast<int64_t>(files.strings.size()));
  type.shape = Shape(dims);
  Array out(type);
  std::byte* at = out.bytes().data();
  for (size_t i = 0; i < files.strings.size(); ++i) {
    const Result<Array> row = model.image_row(std::as_bytes(std::span(files.strings[i])));
    if (!row.ok())
      return Status(row.status().code(),
                    "input \"" + input.name + "\": row " + std::to_string(i) + ": " + row.status().message());
    std::memcpy(at, row->bytes().data(), row->bytes().size());
    at += row->bytes().size();
  }
  return out;
}

Array array_of(GrpcTensor&& given, const ServingValue& input) {
  std::vector<std::byte> bytes(given.bytes.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), given.bytes.data(), bytes.size());
  return Array({input.type.dtype, Shape(given.dims)}, std::move(bytes));
}

std::string set_text(const std::vector<ServingValue>& values) {
  std::string out;
  for (const ServingValue& value : values) out += (out.empty() ? "" : ",") + value.name;
  return "{" + out + "}";
}

Status check_rows(int64_t rows, const ServingSignature& signature, const RequestLimits& limits) {
  int64_t bytes = 0;
  for (const ServingValue& input : signature.inputs) bytes += rows * input.type.bytes();
  if (rows > limits.max_rows)
    return invalid("the request has " + std::to_string(rows) + " rows, the server takes at most " +
                   std::to_string(limits.max_rows));
  if (bytes > limits.max_bytes)
    return invalid("the request's tensors have " + std::to_string(bytes) + " bytes, the server takes at most " +
                   std::to_string(limits.max_bytes));
  return {};
}

GrpcTensor labels_of(const Array& numbers, const ServedModel& model) {
  GrpcTensor out{kTensorFlowString, numbers.shape().vec()};
  for (const int64_t number : numbers.to<int64_t>()) out.strings.push_back(model.label(number));
  return out;
}

}  // namespace

Result<Arrays> signature_inputs(GrpcTensors&& given, const ServingSignature& signature, const ServedModel& model,
                                const RequestLimits& limits, int64_t* rows) {
  for (const auto& [name, tensor] : given)
    if (std::none_of(signature.inputs.begin(), signature.inputs.end(), [&](const auto& i) { return i.name == name; }))
      return invalid("input tensor alias not found in signature: " + name + ". Inputs expected to be in the set " +
                     set_text(signature.inputs) + ".");
  Arrays out;
  *rows = -1;
  for (const ServingValue& input : signature.inputs) {
    const auto found = given.find(input.name);
    if (found == given.end())
      return invalid("input \"" + input.name + "\" is missing. Inputs expected to be in the set " +
                     set_text(signature.inputs) + ".");
    TENON_TRY(check_input(input, found->second, *rows));
    if (*rows < 0) *rows = found->second.dims[0];
    TENON_TRY(check_rows(*rows, signature, limits));
    if (input.kind == Kind::kTensor) {
      TENON_TRY(check_finite(input, found->second.bytes));
      out.insert_or_assign(input.tensor, array_of(std::move(found->second), input));
      continue;
    }
    TENON_ASSIGN(Array images, images_of(input, found->second, model));
    out.insert_or_assign(input.tensor, std::move(images));
  }
  if (*rows < 0) return invalid("the signature \"" + signature.key + "\" has no inputs");
  return out;
}

Result<GrpcTensors> signature_outputs(const Arrays& outputs, const ServingSignature& signature,
                                      const ServedModel& model, const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::none_of(signature.outputs.begin(), signature.outputs.end(), [&](const auto& o) { return o.name == name; }))
      return invalid("output tensor alias not found in signature: " + name + " Outputs expected to be in the set " +
                     set_text(signature.outputs) + ".");
  GrpcTensors out;
  for (const ServingValue& output : signature.outputs) {
    if (!names.empty() && std::find(names.begin(), names.end(), output.name) == names.end()) continue;
    const Array& array = outputs.at(output.tensor);
    if (output.kind == Kind::kLabel) {
      out[output.name] = labels_of(array, model);
      continue;
    }
    const auto* bytes = reinterpret_cast<const char*>(array.bytes().data());
    out[output.name] = {tensorflow_number(array.dtype()), array.shape().vec(), {bytes, array.bytes().size()}, {}};
  }
  return out;
}

GrpcTensors value_types(const std::vector<ServingValue>& values) {
  GrpcTensors out;
  for (const ServingValue& value : values) {
    std::vector<int64_t> dims = value.kind == Kind::kImage ? std::vector<int64_t>{-1} : batch_dims(value, -1);
    if (value.kind == Kind::kLabel) {
      dims = value.type.shape.vec();
      dims.insert(dims.begin(), -1);
    }
    out[value.name] = {number_of(value), std::move(dims), {}, {}};
  }
  return out;
}

}  // namespace tenon::server

#include "server/grpc/examples.h"

#include <cmath>
#include <cstring>

#include "server/narrow_float.h"
#include "tenon/example.h"

namespace tenon::server {
namespace {

using Kind = ServingValue::Kind;

Status wrong_example(const std::string& message) { return Status(Code::kInvalid, message); }

const char* kind_name(Feature::Kind kind) {
  switch (kind) {
    case Feature::Kind::kBytes:
      return "a BytesList";
    case Feature::Kind::kFloat:
      return "a FloatList";
    case Feature::Kind::kInt64:
      return "an Int64List";
    default:
      return "an empty list";
  }
}

Feature::Kind kind_of(const ServingValue& input) {
  if (input.kind == Kind::kImage) return Feature::Kind::kBytes;
  return is_float(input.type.dtype) ? Feature::Kind::kFloat : Feature::Kind::kInt64;
}

template <class T, class From>
bool holds(T stored, From value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<From>(stored) == value;
  else if constexpr (std::is_floating_point_v<T>)
    return std::isfinite(stored);
  else
    return std::isfinite(value) && stored.finite();
}

template <class T, class From>
Status store(const std::vector<From>& values, std::byte* out) {
  for (const From value : values) {
    const T stored = static_cast<T>(value);
    if (!holds(stored, value)) return wrong_example("there is a number that the dtype does not hold");
    std::memcpy(out, &stored, sizeof stored);
    out += sizeof stored;
  }
  return {};
}

Status read_numbers(const Feature& feature, DType dtype, std::byte* out) {
  if (is_float(dtype)) {
    std::vector<float> values(feature.size());
    feature.copy(values.data());
    return dtype == DType::kF32   ? store<float>(values, out)
           : dtype == DType::kF64 ? store<double>(values, out)
           : dtype == DType::kF16 ? store<F16>(values, out)
                                  : store<Bf16>(values, out);
  }
  std::vector<int64_t> values(feature.size());
  feature.copy(values.data());
  return dtype == DType::kI64   ? store<int64_t>(values, out)
         : dtype == DType::kI32 ? store<int32_t>(values, out)
         : dtype == DType::kU8  ? store<uint8_t>(values, out)
                                : store<bool>(values, out);
}

// A row of the input's tensor, from `out` on.
Status read_row(const Example& example, const ServingValue& input, const ServedModel& model, std::byte* out) {
  const Feature* const feature = example.find(input.name);
  if (!feature) return wrong_example("it is missing");
  const auto values = input.kind == Kind::kImage ? size_t{1} : static_cast<size_t>(input.type.shape.elements());
  if (feature->kind() != kind_of(input) || feature->size() != values)
    return wrong_example("expected " + std::string(kind_name(kind_of(input))) + " of " + std::to_string(values) +
                         ", found " + kind_name(feature->kind()) + " of " + std::to_string(feature->size()));
  if (input.kind != Kind::kImage) return read_numbers(*feature, input.type.dtype, out);
  TENON_ASSIGN(const Array row, model.image_row(std::as_bytes(std::span(feature->bytes()))));
  std::memcpy(out, row.bytes().data(), row.bytes().size());
  return {};
}

}  // namespace

Result<Arrays> example_inputs(const std::vector<std::string>& examples, const ServingSignature& signature,
                              const ServedModel& model, const RequestLimits& limits) {
  const auto rows = std::ssize(examples);
  if (rows == 0) return wrong_example("Input is empty: expected at least one example");
  if (signature.inputs.empty()) return wrong_example("the signature \"" + signature.key + "\" has no inputs");
  if (rows > limits.max_rows)
    return wrong_example("the request has " + std::to_string(rows) + " examples, the server takes at most " +
                         std::to_string(limits.max_rows));
  int64_t row_bytes = 0;
  for (const ServingValue& input : signature.inputs) row_bytes += input.type.bytes();
  if (row_bytes > limits.max_bytes / rows) return wrong_example("the request's tensors need too much memory");
  Arrays out;
  for (const ServingValue& input : signature.inputs) {
    std::vector<int64_t> dims = input.type.shape.vec();
    dims.insert(dims.begin(), rows);
    out.insert_or_assign(input.tensor, Array(Type{input.type.dtype, Shape(dims)}));
  }
  Example example;
  for (int64_t row = 0; row < rows; ++row) {
    const std::string place = "example " + std::to_string(row) + ": ";
    if (const Status status = example.parse(examples[static_cast<size_t>(row)]); !status.ok())
      return Status(status.code(), place + status.message());
    for (const ServingValue& input : signature.inputs)
      if (const Status status =
              read_row(example, input, model, out.at(input.tensor).bytes().data() + row * input.type.bytes());
          !status.ok())
        return Status(status.code(), place + "feature \"" + input.name + "\": " + status.message());
  }
  return out;
}

}  // namespace tenon::server

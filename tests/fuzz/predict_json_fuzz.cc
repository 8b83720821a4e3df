// Bodies of predictions: refused with a reason, or tensors as the signature says, and no number that is none.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "server/json/requests.h"

using namespace tenon;
using namespace tenon::server;

namespace {

constexpr RequestLimits kLimits{.max_rows = 8, .max_bytes = 4096};

void require(bool condition) {
  if (!condition) std::abort();
}

// Its inputs have every kind and dtype; an image is the first four bytes of its file.
class AnyModel : public ServedModel {
 public:
  const std::vector<ServingSignature>& signatures() const override { return signatures_; }
  int64_t max_rows() const override { return kLimits.max_rows; }
  std::string label(int64_t) const override { return "l"; }
  Result<Array> image_row(std::span<const std::byte> file) const override {
    if (file.size() < 4) return Status(Code::kInvalid, "it is no image");
    return Array(Type{DType::kU8, {1, 2, 2, 1}}, std::vector<std::byte>(file.begin(), file.begin() + 4));
  }
  Result<Arrays> predict(std::string_view, const Arrays&) override { return Status(Code::kInternal, "is not asked"); }

 private:
  static ServingValue value(const char* name, DType dtype, const Shape& shape) {
    return {name, ServingValue::Kind::kTensor, name, {dtype, shape}};
  }
  const std::vector<ServingSignature> signatures_ = {
      {"serving_default", "tensorflow/serving/predict", {value("x", DType::kF32, {2, 2})}, {}},
      {"f",
       "tensorflow/serving/classify",
       {{"f", ServingValue::Kind::kImage, "image", {DType::kU8, {2, 2, 1}}}},
       {value("scores", DType::kF32, {2})}},
      {"r", "tensorflow/serving/regress", {value("d", DType::kF64, {})}, {value("y", DType::kF32, {})}},
      {"m",
       "tensorflow/serving/predict",
       {value("a", DType::kI32, {2}), value("b", DType::kBool, {}), value("c", DType::kU8, {1, 1}),
        value("d", DType::kI64, {}), value("e", DType::kF32, {0})},
       {}},
      {"h", "tensorflow/serving/predict", {value("h", DType::kBF16, {}), value("i", DType::kF16, {})}, {}},
  };
};

template <class T>
void require_finite(const Array& array) {
  const auto bytes = array.bytes();
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    require(std::isfinite(number));
  }
}

// Bits of infinity, and those above it, are no numbers.
void require_below(const Array& array, uint16_t infinity) {
  const auto bytes = array.bytes();
  for (size_t at = 0; at < bytes.size(); at += 2) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    require((bits & 0x7fff) < infinity);
  }
}

void check_request(const ParsedRequest& request) {
  require(request.signature && request.rows > 0 && request.rows <= kLimits.max_rows);
  require(request.inputs.size() == request.signature->inputs.size());
  int64_t bytes = 0;
  for (const ServingValue& input : request.signature->inputs) {
    const Array& array = request.inputs.at(input.tensor);
    require(array.shape().rank() == input.type.shape.rank() + 1 && array.dim(0) == request.rows);
    require(array.dtype() == input.type.dtype && std::ssize(array.bytes()) == array.type().bytes());
    for (int axis = 0; axis < input.type.shape.rank(); ++axis) require(array.dim(axis + 1) == input.type.shape[axis]);
    if (input.type.dtype == DType::kF32) require_finite<float>(array);
    if (input.type.dtype == DType::kF64) require_finite<double>(array);
    if (input.type.dtype == DType::kBF16) require_below(array, 0x7f80);
    if (input.type.dtype == DType::kF16) require_below(array, 0x7c00);
    bytes += array.type().bytes();
  }
  require(bytes <= kLimits.max_bytes);
}

}  // namespace

// The first byte: of which method it is the body.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const AnyModel& model = *new AnyModel;
  std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Result<ParsedRequest> request = parse_request(&body, static_cast<RequestMethod>(data[0] % 3), model, kLimits);
  if (!request.ok()) {
    require(request.status().code() == Code::kInvalid && !request.status().message().empty());
    require(request.status().message().size() < 8192);
    return 0;
  }
  check_request(*request);
  return 0;
}

#include "export/warm_up.h"

#include "data/image/image.h"
#include "data/record/protobuf_wire.h"
#include "tenon/tensorflow_types.h"

namespace tenon {
namespace {

using wire::put_bytes;

void put_number(std::string& out, uint32_t field, uint64_t value) {
  wire::put_varint(out, wire::tag(field, wire::kVarint));
  wire::put_varint(out, value);
}

// Fields of PredictionLog, PredictLog, PredictRequest, ModelSpec, TensorProto and its shape.
constexpr uint32_t kPredictLog = 6, kRequest = 1, kModelSpec = 1, kInputs = 2, kSignatureName = 3;
constexpr uint32_t kDtype = 1, kShape = 2, kDim = 2, kSize = 1, kStrings = 8;

// The list of a tensor that has its elements.
uint32_t list_of(DType dtype) {
  constexpr uint32_t kFloats = 5, kDoubles = 6, kInts = 7, kInt64s = 10, kBools = 11, kHalves = 13;
  switch (dtype) {
    case DType::kF32:
      return kFloats;
    case DType::kF64:
      return kDoubles;
    case DType::kI64:
      return kInt64s;
    case DType::kBool:
      return kBools;
    case DType::kBF16:
    case DType::kF16:
      return kHalves;
    default:
      return kInts;
  }
}

std::string shape_of(const std::vector<int64_t>& dims) {
  std::string out;
  for (const int64_t size : dims) {
    std::string dim;
    put_number(dim, kSize, static_cast<uint64_t>(size));
    put_bytes(out, kDim, dim);
  }
  return out;
}

// The last value of a list stands for all that follow.
std::string zeros(const Type& example) {
  const size_t bytes = example.dtype == DType::kF32 ? 4 : example.dtype == DType::kF64 ? 8 : 1;  // of a zero
  std::vector<int64_t> dims = example.shape.vec();
  dims.insert(dims.begin(), 1);
  std::string out;
  put_number(out, kDtype, static_cast<uint64_t>(tensorflow_number(example.dtype)));
  put_bytes(out, kShape, shape_of(dims));
  put_bytes(out, list_of(example.dtype), std::string(bytes, '\0'));
  return out;
}

std::string file_tensor(const std::string& file) {
  std::string out;
  put_number(out, kDtype, kTensorFlowString);
  put_bytes(out, kShape, shape_of({1}));
  put_bytes(out, kStrings, file);
  return out;
}

Result<std::string> black_image(const ExportedImages& images) {
  const int channels = images.channels == 1 ? 1 : 3;
  const std::vector<uint8_t> pixels(static_cast<size_t>(images.height) * images.width * channels);
  return encode_png(pixels.data(), images.width, images.height, channels);
}

std::string request_of(const ServingSignature& signature, const std::string& image) {
  std::string model, request, log, out;
  put_bytes(model, kSignatureName, signature.key);
  put_bytes(request, kModelSpec, model);
  for (const ServingValue& input : signature.inputs) {
    std::string entry;  // of a map: 1 its key, 2 its value
    put_bytes(entry, 1, input.name);
    put_bytes(entry, 2, input.kind == ServingValue::Kind::kImage ? file_tensor(image) : zeros(input.type));
    put_bytes(request, kInputs, entry);
  }
  put_bytes(log, kRequest, request);
  put_bytes(out, kPredictLog, log);
  return out;
}

}  // namespace

Result<std::vector<std::string>> warm_up_requests(const std::vector<ServingSignature>& signatures,
                                                  const std::optional<ExportedImages>& images) {
  std::string image;
  if (images) {
    TENON_ASSIGN(image, black_image(*images));
  }
  std::vector<std::string> out;
  for (const ServingSignature& signature : signatures) out.push_back(request_of(signature, image));
  return out;
}

}  // namespace tenon

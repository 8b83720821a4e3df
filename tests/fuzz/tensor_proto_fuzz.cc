// TF Serving's PredictRequest: each tensor is refused with a reason, or has as many bytes as its shape says, and comes back from what is
// written of it.
#include <cstdlib>

#include "server/grpc/module/tensor_proto.h"

using namespace tenon::server;

namespace {

constexpr int64_t kBudget = 1 << 16;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_tensor(const proto::TensorProto& from) {
  GrpcTensor tensor, again;
  int64_t budget = kBudget;
  if (!read_tensor(from, &budget, &tensor).empty()) return;
  const auto bytes = static_cast<int64_t>(tensor.bytes.size());
  require(budget >= 0 && bytes <= kBudget && std::ssize(tensor.strings) <= kBudget);
  int64_t elements = 1;
  for (const int64_t d : tensor.dims) elements *= d;
  require(tensor.bytes.empty() ? tensor.strings.size() == static_cast<size_t>(tensor.dtype == 7 ? elements : 0)
                               : bytes % elements == 0);
  proto::TensorProto written;
  write_tensor(tensor, &written);
  budget = kBudget;
  require(read_tensor(written, &budget, &again).empty() && again.dims == tensor.dims &&
          again.strings == tensor.strings);
  // A bool that is neither 0 nor 1 comes back as 1.
  require(again.bytes.size() == tensor.bytes.size() && (tensor.dtype == 10 || again.bytes == tensor.bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  proto::PredictRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  for (const auto& [name, tensor] : request.inputs()) check_tensor(tensor);
  return 0;
}

// The pickle of a file of torch.save: tensors or an error, nothing run.
#include <cstdlib>
#include <string_view>

#include "checkpoint/torch/torch_pickle.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensors = tensors_of_pickle({reinterpret_cast<const char*>(data), size});
  if (!tensors.ok()) {
    if (tensors.status().message().size() > 4096) std::abort();
    return 0;
  }
  for (const auto& [name, tensor] : *tensors)
    if (tensor.dims.size() != tensor.strides.size() || name.size() > 8192) std::abort();
  return 0;
}

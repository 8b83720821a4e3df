#include "onnx/dims.h"

#include "models/models.h"

namespace tenon::runner {

void add_dim_flag(Flags& flags) { flags.texts("dim", models::kDimHelp); }

std::map<std::string, int64_t> dims_of(const Flags& flags) {
  Result<std::map<std::string, int64_t>> dims = models::onnx_dims(flags.text("dim"));
  if (!dims.ok()) throw UsageError{"--" + dims.status().message()};
  return dims.take();
}

}  // namespace tenon::runner

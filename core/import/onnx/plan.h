// What is worked out once for a model, before it is traced.
#pragma once

#include <memory>

#include "import/onnx/walk.h"

namespace tenon::onnx {

// What there is no rule for is one error that lists all such nodes.
Result<std::shared_ptr<Plan>> make_plan(OnnxFile file, OnnxOptions options);

}  // namespace tenon::onnx

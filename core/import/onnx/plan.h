// What is worked out once for a model, before it is traced.
#pragma once

#include <memory>

#include "base/names/name_expression.h"
#include "import/onnx/walk.h"

namespace tenon::onnx {

// What there is no rule for is one error that lists all such nodes.
Result<std::shared_ptr<Plan>> make_plan(OnnxFile file, OnnxOptions options);

// Whether it is in the name of a variable, or in that of a node that reads it.
bool is_found(const NameExpression& expression, const std::string& name, const std::vector<std::string>& nodes);

}  // namespace tenon::onnx

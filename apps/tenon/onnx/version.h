// An ONNX model as a version directory, which Tenon and others serve.
#pragma once

#include <string>

#include "tenon/export.h"
#include "tenon/onnx.h"

namespace tenon::runner {

// Writes the model with the file's values below `output`; the path of the version. Throws Error.
std::string write_version(const OnnxModel& model, const Strategy& strategy, const std::string& output,
                          const ExportOptions& options);

}  // namespace tenon::runner

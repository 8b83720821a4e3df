// Where scores of classes come from.
#pragma once

#include <optional>
#include <string>

#include "import/onnx/walk.h"

namespace tenon::onnx {

std::optional<Head> find_head(const OnnxFile& file);
// The first output, or what a softmax, a sigmoid or an argmax makes it of; "": there is no output.
std::string find_scores(const OnnxFile& file);

}  // namespace tenon::onnx

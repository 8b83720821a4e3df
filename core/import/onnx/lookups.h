// Which inputs are rows of a table: those of ids, whose embeddings a model looks up.
#pragma once

#include <string>
#include <unordered_map>

#include "import/onnx/file/onnx_model_file.h"

namespace tenon::onnx {

// By input, how many rows the smallest table has that its numbers look up.
std::unordered_map<std::string, int64_t> rows_looked_up(const GraphData& graph);

}  // namespace tenon::onnx

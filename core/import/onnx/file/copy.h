// A model's file with all that it needs, elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "tenon/status.h"

namespace tenon::onnx {

inline constexpr int64_t kMostMessageBytes = (int64_t{1} << 31) - 1;  // what protobuf reads

// copy_onnx(), for messages of at most so many bytes.
Status copy_file_with_data(const std::string& path, const std::string& to, int64_t most);

}  // namespace tenon::onnx

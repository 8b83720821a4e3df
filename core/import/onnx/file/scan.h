// How much a file of messages becomes in memory, counted before it does: a message of two bytes takes a hundred.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/status.h"

namespace tenon::onnx {

// kInvalid where the bytes are none of a model, or hold more things than any model does. A scan in linear time and no memory.
Status scan_model(std::string_view bytes);

}  // namespace tenon::onnx

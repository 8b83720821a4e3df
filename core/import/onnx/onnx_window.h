// Windows of convolutions and pools: what their attributes say of each spatial axis.
#pragma once

#include "import/onnx/call.h"

namespace tenon::onnx {

struct Window {
  Ints size, strides, dilation, low, high;
  Ints extra;  // elements behind the padding that the last window reaches into: ceil_mode
  Ints out;    // how many windows there are
};

// Of NOTSET, VALID, SAME_UPPER and SAME_LOWER.
std::string auto_pad_of(const Call& c);

// `spatial`: the input's sizes; `size`: the window's, of a convolution those of its kernel.
Window window_of(Call& c, const Ints& spatial, const Ints& size);

}  // namespace tenon::onnx

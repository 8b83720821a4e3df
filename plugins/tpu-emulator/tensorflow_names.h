// What TensorFlow calls Tenon's ops and dtypes: a TPU's messages speak of those.
#pragma once

#include <string>
#include <string_view>

#include "tenon/plugin/graph.h"

namespace tpu {

// "conv" -> "Conv2D". Of an imported op ("foreign") the name that it came with.
std::string tensorflow_op(const tenon::plugin::NodeView& node);
const char* tensorflow_dtype(int32_t dtype);  // "float", "double", "half"
const char* hlo_dtype(int32_t dtype);         // "f32", "f64", "f16", "pred"

// "f32[<=8,28,28,1]": dimensions with a bound carry "<=".
std::string hlo_shape(const tenon::plugin::ValueView& value);

}  // namespace tpu

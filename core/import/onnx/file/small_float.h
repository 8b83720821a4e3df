// Floats of 8 and 4 bits, which are computed in f32 and rounded to the numbers that they have.
#pragma once

#include <vector>

#include "import/onnx/file/onnx_model_file.h"

namespace tenon::onnx {

bool is_small_float(Element element);
// The number of each code; NaN and infinity where they have it.
std::vector<float> small_float_values(Element element);
// Finite numbers that there are, from the least on.
std::vector<float> small_float_steps(Element element);

}  // namespace tenon::onnx

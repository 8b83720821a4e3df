// What rules of ai.onnx.ml share: numbers that attributes hold, scores and what a model makes of them.
#pragma once

#include "import/onnx/call.h"

namespace tenon::onnx {

constexpr const char* kMl = "ai.onnx.ml";

Tensor floats(Call& c, const std::vector<double>& values, const Shape& shape);  // f32
// One number, or one a feature.
Tensor spread_row(Call& c, const std::vector<double>& values);
Tensor real(Call& c, size_t i);  // operand i in f32

// Scores [.., classes] become what the model answers: NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO, PROBIT.
Tensor answered(const std::string& how, Tensor x);
// Labels of which `index` says the number. Of text labels the number itself.
Tensor labels_of(Call& c, Tensor index, const Ints& labels);
// Those of the attributes classlabels_*, and how many there are. Texts where somebody wants result 0 are refused.
Ints class_labels(Call& c, int64_t* count);

}  // namespace tenon::onnx

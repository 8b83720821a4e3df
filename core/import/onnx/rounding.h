// Numbers of types that Tenon lacks, rounded to what those types have.
#pragma once

#include "import/onnx/call.h"
#include "import/onnx/file/small_float.h"

namespace tenon::onnx {

// x, f32, at the nearest number of the type, of two the even one. Beyond its largest: that, where `saturate`, else infinity or NaN.
// Powers of two (kF8E8M0) are rounded as `powers` says: "up", "down", "nearest".
Tensor rounded_to(Tensor x, Element element, bool saturate, const std::string& powers = "nearest");

// The least and the largest number of an integer type.
struct Limits {
  double low, high;
};
Limits limits_of(Element element);

}  // namespace tenon::onnx

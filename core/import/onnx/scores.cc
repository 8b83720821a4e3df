#include "import/onnx/scores.h"

#include <algorithm>
#include <numbers>

namespace tenon::onnx {
namespace {

// Winitzki's inverse of the error function, which ONNX Runtime has, at 2 x - 1.
Tensor probit(Tensor x) {
  constexpr double a = 0.147;
  const Tensor y = 2.0 * x - 1.0, rest = log((1.0 - y) * (1.0 + y));
  const Tensor middle = 0.5 * rest + 2 / (std::numbers::pi * a);
  const Tensor size = sqrt(sqrt(square(middle) - rest * (1 / a)) - middle) * std::numbers::sqrt2;
  return select(compare(y, scalar_like(y, 0), CompareKind::kLt), neg(size), size);
}

}  // namespace

Tensor floats(Call& c, const std::vector<double>& values, const Shape& shape) {
  std::vector<float> narrow(values.begin(), values.end());
  return constant(c.graph(), {DType::kF32, shape},
                  {reinterpret_cast<const char*>(narrow.data()), narrow.size() * sizeof(float)});
}

Tensor spread_row(Call& c, const std::vector<double>& values) {
  if (values.size() == 1) return c.scalar(DType::kF32, values[0]);
  return floats(c, values, Shape({static_cast<int64_t>(values.size())}));
}

Tensor real(Call& c, size_t i) { return cast(c.in(i), DType::kF32); }

Tensor answered(const std::string& how, Tensor x) {
  if (how == "LOGISTIC") return activation(x, Activation::kSigmoid);
  if (how == "SOFTMAX") return softmax(x, x.rank() - 1);
  if (how == "SOFTMAX_ZERO") {
    const Tensor zero = compare(x, scalar_like(x, 0), CompareKind::kEq);
    const Tensor e = select(zero, scalar_like(x, 0), exp(x - reduce_max(x, {x.rank() - 1}, true)));
    return e / reduce_sum(e, {x.rank() - 1}, true);
  }
  if (how == "PROBIT") return probit(x);
  if (how != "NONE") fail("post_transform '", how, "'");
  return x;
}

Tensor labels_of(Call& c, Tensor index, const Ints& labels) {
  if (labels.empty()) return cast(index, DType::kI64);
  return gather(c.ints_constant(labels, Shape({static_cast<int64_t>(labels.size())})), index, 0);
}

Ints class_labels(Call& c, int64_t* count) {
  for (const char* name : {"classlabels_ints", "classlabels_int64s"})
    if (c.has_attr(name) && !c.ints(name).empty()) {
      const Ints labels = c.ints(name);
      *count = static_cast<int64_t>(labels.size());
      return labels;
    }
  const std::vector<std::string> names = c.texts("classlabels_strings");
  if (!names.empty() && c.wants(0)) c.refuse("labels that are strings");
  *count = static_cast<int64_t>(names.size());
  return {};
}

}  // namespace tenon::onnx

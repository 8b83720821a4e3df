#include "op/rules.h"

namespace tenon {
namespace {

Tensors reshape_gradient(const Gradient& n) { return {reshape(n.g(0), n.in(0).shape())}; }

}  // namespace

extern const OpDef kReshape;
constexpr OpDef kReshape = {"reshape", nullptr, reshape_gradient};

Tensor reshape(Tensor x, std::initializer_list<int64_t> shape) { return reshape(x, Shape(shape)); }

Tensor reshape(Tensor x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return emit1("reshape", {x}, {{"shape", shape.vec()}});
}

// A reshape that nothing takes out before gradients are made.
Tensor stop_gradient(Tensor x) {
  const Tensor y = emit1("reshape", {x}, {{"shape", x.shape().vec()}}, "stop_gradient");
  y.graph()->nodes.back().stops_gradient = true;
  return y;
}

}  // namespace tenon

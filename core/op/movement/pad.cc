#include "op/rules.h"

namespace tenon {
namespace {

Tensors pad_gradient(const Gradient& n) {
  const Tensor x = n.in(0);
  const Ints& low = n.list("low");
  const Ints interior = n.list("interior").empty() ? Ints(x.rank(), 0) : n.list("interior");
  Ints limit, stride;
  for (int i = 0; i < x.rank(); ++i) {
    stride.push_back(interior[i] + 1);
    limit.push_back(low[i] + (x.dim(i) - 1) * stride[i] + 1);
  }
  return {slice(n.g(0), low, limit, stride)};
}

}  // namespace

extern const OpDef kPad;
constexpr OpDef kPad = {"pad", nullptr, pad_gradient};

Tensor pad(Tensor x, const Ints& low, const Ints& high, const Ints& interior, double value) {
  return emit1("pad", {x}, {{"low", low}, {"high", high}, {"interior", interior}, {"value", value}});
}

}  // namespace tenon

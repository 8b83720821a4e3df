#include "op/rules.h"

namespace tenon {
namespace pad_op {

void shape_rule(Infer& c) {
  const Shape& x = c.shape(0);
  const Ints &low = c.list("low"), &high = c.list("high");
  const Ints interior = c.list("interior").empty() ? Ints(x.rank(), 0) : c.list("interior");
  for (const Ints* list : {&low, &high, &interior})
    c.expect(static_cast<int>(list->size()) == x.rank(), "low, high and interior have ", list->size(),
             " numbers, expected ", x.rank());
  Shape y = x;
  for (int i = 0; i < x.rank(); ++i) {
    for (int64_t v : {low[i], high[i], interior[i]})
      c.expect(v >= 0 && v < (int64_t{1} << 40), "pads axis ", i, " by ", v, ", expected 0 or more");
    int64_t gaps = 0;
    c.expect(!__builtin_mul_overflow(x[i] - 1, interior[i], &gaps) && gaps < (int64_t{1} << 60), "padded axis ", i,
             " is too long");
    y.set(i, low[i] + x[i] + gaps + high[i]);
  }
  c.result(c.in(0).dtype, y);
}

Tensors gradient_rule(const Gradient& n) {
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

}  // namespace pad_op

extern const OpDef kPad;
constexpr OpDef kPad = {"pad", pad_op::shape_rule, nullptr, pad_op::gradient_rule};

Tensor pad(Tensor x, const Ints& low, const Ints& high, const Ints& interior, double value) {
  return emit1("pad", {x}, {{"low", low}, {"high", high}, {"interior", interior}, {"value", value}});
}

}  // namespace tenon

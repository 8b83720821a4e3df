#include "op/rules.h"

namespace tenon {
namespace random_op {

void shape_rule(Infer& c) {
  for (int i = 0; i < 2; ++i)
    c.expect(c.in(i) == Type{DType::kI64, {}}, c.operand(i), " is ", c.in(i).str(), ", expected i64[]");
  const Shape shape(c.list("shape"));
  c.expect(shape.elements() <= (int64_t{1} << 34), "shape ", shape.str(), " has more than 2^34 elements");
  c.expect(c.i64("stream") >= 0 && c.i64("stream") <= UINT32_MAX, "stream ", c.i64("stream"), ", expected 0 to 2^32-1");
  c.result(DType::kF32, shape);
}

}  // namespace random_op

extern const OpDef kRandom;
constexpr OpDef kRandom = {"random", random_op::shape_rule, nullptr, nullptr};

Tensor random(Tensor seed, Tensor step, int64_t stream, const Shape& shape, bool per_replica) {
  if (seed) per_replica = per_replica && !seed.graph()->same_draws;
  return emit1("random", {seed, step}, {{"stream", stream}, {"shape", shape.vec()}, {"per_replica", per_replica}});
}

}  // namespace tenon

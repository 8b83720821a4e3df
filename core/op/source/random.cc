#include "op/rules.h"

namespace tenon {

extern const OpDef kRandom;
constexpr OpDef kRandom = {"random"};

Tensor random(Tensor seed, Tensor step, int64_t stream, const Shape& shape, bool per_replica, int64_t first) {
  if (seed) per_replica = per_replica && !seed.graph()->same_draws;
  return emit1("random", {seed, step},
               {{"stream", stream}, {"shape", shape.vec()}, {"per_replica", per_replica}, {"first", first}});
}

}  // namespace tenon

#include "layer/image/draws.h"

#include "base/crc32c.h"
#include "op/source/normal.h"

namespace tenon {

Tensor uniform(const LayerScope& scope, Tensor like, const Shape& shape, std::string_view what, bool shared) {
  Graph& graph = *like.graph();
  const std::string stream = what.empty() ? scope.call() : cat(scope.call(), "/", what);
  return random(seed_input(graph), draw_step(graph), crc32c(stream), shape, !shared);
}

Tensor normal(const LayerScope& scope, Tensor like, const Shape& shape) {
  const Tensor u = uniform(scope, like, shape, "radius");
  return normal_of(u, uniform(scope, like, shape, "angle"));
}

}  // namespace tenon

#include "op/rules.h"

namespace tenon {

extern const OpDef kIota;
constexpr OpDef kIota = {"iota"};

Tensor iota(Graph& graph, DType dtype, const Shape& shape, int64_t axis) {
  return emit(graph, "iota", {}, {{"shape", shape.vec()}, {"axis", axis}, {"dtype", dtype}})[0];
}

}  // namespace tenon

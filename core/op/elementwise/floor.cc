#include "op/rules.h"

namespace tenon {

extern const OpDef kFloor;
constexpr OpDef kFloor = {"floor"};

Tensor floor(Tensor x) { return emit1("floor", {x}); }

}  // namespace tenon

#include "op/rules.h"

namespace tenon {
extern const OpDef kFloor;
const OpDef kFloor = {
    "floor", "x:F -> y", "The largest integer that is not above each element.", infer_same, nullptr, nullptr,
};

Tensor floor(Tensor x) { return emit1("floor", {x}); }

}  // namespace tenon

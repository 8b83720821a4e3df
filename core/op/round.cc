#include "op/rules.h"

namespace tenon {
extern const OpDef kRound;
const OpDef kRound = {
    "round", "x:F -> y", "The nearest integer; halves go to the even one.", infer_same, nullptr, nullptr,
};

Tensor round(Tensor x) { return emit1("round", {x}); }

}  // namespace tenon

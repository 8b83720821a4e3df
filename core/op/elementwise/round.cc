#include "op/rules.h"

namespace tenon {

extern const OpDef kRound;
constexpr OpDef kRound = {"round"};

Tensor round(Tensor x) { return emit1("round", {x}); }

}  // namespace tenon

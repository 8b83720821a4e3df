#include "op/rules.h"

namespace tenon {

extern const OpDef kCompare;
constexpr OpDef kCompare = {"compare"};

Tensor compare(Tensor a, Tensor b, CompareKind kind) { return emit1("compare", {a, b}, {{"kind", number_of(kind)}}); }

}  // namespace tenon

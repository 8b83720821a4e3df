#include "op/rules.h"

namespace tenon {
namespace compare_op {

void shape_rule(Infer& c) {
  expect_enumerator(c, "kind", static_cast<int>(CompareKind::kGe));
  infer_binary(c, DType::kBool);
}

}  // namespace compare_op

extern const OpDef kCompare;
constexpr OpDef kCompare = {"compare", compare_op::shape_rule, nullptr, nullptr};

Tensor compare(Tensor a, Tensor b, CompareKind kind) { return emit1("compare", {a, b}, {{"kind", number_of(kind)}}); }

}  // namespace tenon

#include "op/rules.h"

namespace tenon {
namespace {

Tensors all_gather_gradient(const Gradient& n) {
  const int64_t axis = n.i64("axis"), group = n.i64("group"), replicas = n.i64("replicas");
  return {emit1("reduce_scatter", {n.g(0)}, {{"axis", axis}, {"group", group}, {"replicas", replicas}})};
}

}  // namespace

extern const OpDef kAllGather;
constexpr OpDef kAllGather = {"all_gather", nullptr, all_gather_gradient};

Tensor all_gather(Tensor x, int64_t axis, int64_t group) {
  return emit1("all_gather", {x}, {{"axis", axis}, {"group", group}});
}

}  // namespace tenon

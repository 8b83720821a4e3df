#include <string>

#include "fuse/patterns.h"
#include "tenon/abi/optimizer.h"
#include "tenon/op/names.h"
#include "tenon/op/table.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kMostDepth = 384;             // products of an element: the block of a gradient is made in one pass
constexpr int64_t kLeastElements = 512 * 1024;  // of a variable that caches do not hold
constexpr int kSlots = 3;

bool is_large_gradient(const NodeView& dot) {
  const plugin::ValueView a = dot.in(op::dot::a), y = dot.out(0);
  return a.dtype() == TENON_F32 && y.dtype() == TENON_F32 && a.rank() == 2 && dot.flag("ta") && !dot.flag("tb") &&
         a.dim(0) <= kMostDepth && y.dim(0) > 1 && y.dim(1) > 1 && y.elements() >= kLeastElements;
}

bool takes_product(const NodeView& update, uint32_t gradient) {
  return takes_blocks(update.op()) && update.operand_id(TENON_UPDATE_G) == gradient && !update.has(TENON_UPDATE_ROWS) &&
         update.in(TENON_UPDATE_P).rank() == 2;
}

// The update's operands with B for the gradient and A at the end.
void add_update(const NodeView& dot, const NodeView& update, Rewrite& to) {
  std::vector<uint32_t> operands, results;
  for (int k = 0; k < TENON_UPDATE_SLOTS + kSlots; ++k) operands.push_back(to.operand(update, k));
  operands[TENON_UPDATE_G] = to.operand(dot, op::dot::b);
  operands.push_back(to.operand(dot, op::dot::a));
  for (int k = 0; k < update.results(); ++k) results.push_back(to.result(update, k));
  copy_attributes(to.add("cpu.product." + std::string(update.op()), operands, results, update), update);
}

}  // namespace

bool takes_blocks(std::string_view op) {
  const op::Row* row = op::find(op);
  return row && row->update.pointwise;
}

// A dense layer's gradient, A^T B, and the only reader that it has.
std::optional<Match> update_of_product(const Matching& m, const NodeView& dot) {
  const std::optional<NodeView> update = m.only_reader(dot.result_id(0));
  if (!update || !is_large_gradient(dot) || !takes_product(*update, dot.result_id(0))) return {};
  return Match({dot.index(), update->index()}, update->index(),
               [dot, update](Rewrite& to) { add_update(dot, *update, to); });
}

}  // namespace tenon::cpu

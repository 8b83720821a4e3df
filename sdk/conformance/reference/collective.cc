// What one replica alone sees of the collectives.
#include <iterator>

#include "conformance/reference/ops.h"

namespace tenon::reference {
namespace {

// Concatenation in replica order: of one, a copy. group: 0 all, else runs of that many replicas.
void all_gather(const NodeView& node, const Operands& in, Results& out) {
  axis_of(node, in[0]->dims.size());
  require(node.i64("group") <= 1, "one replica has no group of several");
  out = {*in[0]};
}

void replica_id(const NodeView& node, const Operands&, Results& out) {
  out = {zeros(TENON_I32, {})};
  out[0].i[0] = node.i64("first");
}

constexpr Primitive kCollectivePrimitives[] = {{"all_gather", all_gather}, {"replica_id", replica_id}};

}  // namespace

Span<Primitive> collective_primitives() { return {kCollectivePrimitives, std::size(kCollectivePrimitives)}; }

}  // namespace tenon::reference

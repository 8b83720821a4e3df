#include "op/rules.h"

namespace tenon {
namespace replica_id_op {

void shape_rule(Infer& c) { c.result(DType::kI32, {}); }

}  // namespace replica_id_op

extern const OpDef kReplicaId;
const OpDef kReplicaId = {
    "replica_id", "-> y",  "The number of this replica, from 0, as an i32 scalar.", replica_id_op::shape_rule,
    nullptr,      nullptr,
};

Tensor replica_id(Graph& graph) { return emit(graph, "replica_id", {})[0]; }

}  // namespace tenon

#include "op/rules.h"

namespace tenon {

extern const OpDef kReplicaId;
constexpr OpDef kReplicaId = {"replica_id"};

Tensor replica_id(Graph& graph) { return emit(graph, "replica_id", {})[0]; }

}  // namespace tenon

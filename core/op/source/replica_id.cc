#include "op/rules.h"

namespace tenon {

extern const OpDef kReplicaId;
constexpr OpDef kReplicaId = {"replica_id"};

Tensor replica_id(Graph& graph, int64_t first) { return emit(graph, "replica_id", {}, {{"first", first}})[0]; }

}  // namespace tenon

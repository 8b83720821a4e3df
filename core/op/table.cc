// The definitions of all ops, kOpName of "op_name": one that the table of ops has and that nobody defines does not link.
#include "op/op.h"
#include "tenon/op/names.h"

namespace tenon {

#define TENON_DECLARE(op, name) extern const OpDef k##name;
TENON_FOR_EACH_OP(TENON_DECLARE)

#define TENON_ADDRESS(op, name) &k##name,
static const OpDef* const kOps[] = {TENON_FOR_EACH_OP(TENON_ADDRESS)};

std::span<const OpDef* const> all_ops() { return kOps; }

}  // namespace tenon

// The attributes of the published ops: a node with any other means something that its backend does not know. Part of
// the static runtime.
#pragma once

#include <string>
#include <string_view>

#include "tenon/op/signature.h"
#include "tenon/plugin/graph.h"

namespace tenon::plugin {

// The signature in the node's row of the table of ops (tenon/op/table.h); nullptr for an op without one, or of another
// version.
const op::Signature* signature_of(const NodeView& node);

// The first attribute of a node of a published op that is neither its op's nor a hint; empty when there is none.
std::string_view unknown_attribute(const NodeView& node);

// What else of a node no version defines: "dtype 77" of an operand, a result or an attribute, "act = 99" of an
// enum attribute of a published op; empty when there is nothing.
std::string unknown_value(const NodeView& node);

}  // namespace tenon::plugin

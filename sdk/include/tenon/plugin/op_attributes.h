// The attributes of the published ops: a node with any other means something that its backend does not know. Part of
// the static runtime.
#pragma once

#include <string>
#include <string_view>

#include "tenon/plugin/graph.h"

namespace tenon::plugin {

// Whether it is one of Tenon's ops.
bool is_published(std::string_view op);

// The signature of an op of version 1, "x:F w:F [bias:F] ; groups:i64=1 precision:enum -> y"; empty for ops that are
// not published. Operands in brackets may be absent, `x..` is one or more; F: floats, I: i32 i64, N: F and I, B: bool,
// M: N and B, A: all. An attribute without a default is there.
std::string_view signature_of(std::string_view op);

// The first attribute of a node of a published op that is neither its op's nor a hint; empty when there is none.
std::string_view unknown_attribute(const NodeView& node);

// What else of a node no version defines: "dtype 77" of an operand, a result or an attribute, "act = 99" of an
// enum attribute of a published op; empty when there is nothing.
std::string unknown_value(const NodeView& node);

}  // namespace tenon::plugin

// Parses the signature text of an op (op/op.h describes it).
#pragma once

#include "op/op.h"

namespace tenon {

// Throws Error when the text is malformed.
Signature parse_signature(std::string_view text);

// "conv_bias_act(x:F, w:F, [bias:F]; strides:list, groups:i64=1) -> y", for documentation.
std::string to_text(const OpDef& op);

}  // namespace tenon

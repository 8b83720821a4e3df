// Values of attributes from the text of a signature.
#pragma once

#include "op/op.h"

namespace tenon {

// Throws Error for a type of attribute that there is not.
Signature parse_signature(std::string_view text);

}  // namespace tenon

// What a row of the table of ops says, with values of attributes.
#pragma once

#include "op/op.h"

namespace tenon {

// Throws Error for a type of attribute that there is not.
Signature read_signature(const op::Row& row);

}  // namespace tenon

// The corpus of the conformance suite: one function a family of cases.
#pragma once

#include "corpus/case.h"

namespace tenon::corpus {

void add_elementwise_cases(Cases& cases);
void add_movement_cases(Cases& cases);

// All of them; names are unique within kind and op.
Cases all_cases();

}  // namespace tenon::corpus

// What a person should know though nothing failed.
#pragma once

#include <string_view>

#include "tenon/text.h"

namespace tenon {

// Prints a line on standard error, fit for a terminal.
void tell(std::string_view line, Lines lines = Lines::kEscaped);

}  // namespace tenon

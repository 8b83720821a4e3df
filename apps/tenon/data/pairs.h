// What kinds of data that are text share.
#pragma once

#include <cstdint>
#include <span>

#include "tenon/example.h"

namespace tenon::runner {

// The list of tokens of that name into a row, 0 behind it. An error says what is wrong with it.
Status copy_tokens(const Example& example, const char* name, int64_t vocabulary, std::span<int32_t> out);

}  // namespace tenon::runner

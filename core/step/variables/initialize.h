// First values of variables (tenon/initializer.h).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "tenon/initializer.h"
#include "tenon/types.h"

namespace tenon {

// Fills the dense bytes of a variable; random numbers are keyed by (seed, crc32c of the name).
// Errors: a values initializer of another count, random numbers for integers.
Status initialize(const Initializer& initializer, const Type& type, std::string_view name, uint64_t seed,
                  std::span<std::byte> out);

}  // namespace tenon

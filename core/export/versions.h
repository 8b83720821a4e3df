// Names of version directories.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon {

// -1 where the name is no number, as TF Serving writes and reads it.
int64_t version_of(std::string_view name);

}  // namespace tenon

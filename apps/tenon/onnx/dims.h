// --dim NAME=SIZE: sizes of dimensions that an ONNX file leaves open.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "flags.h"

namespace tenon::runner {

void add_dim_flag(Flags& flags);
// Throws UsageError.
std::map<std::string, int64_t> dims_of(const Flags& flags);

}  // namespace tenon::runner

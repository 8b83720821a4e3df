// Whether the system has memory for something large, before it is taken: the kernel promises more than there is, and ends
// the process that uses it.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/status.h"

namespace tenon {

// kOutOfMemory, with what is needed and what is left for this process, unless `bytes` more can be had. `what` is for the
// message. Small blocks are not worth asking for. Thread safe; not for a step.
Status room_for(uint64_t bytes, std::string_view what);

}  // namespace tenon

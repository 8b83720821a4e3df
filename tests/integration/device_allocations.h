// Counts what this process takes from the heap, backends and all threads included.
#pragma once

#include <cstdint>

namespace tenon::device_testing {

// False where a sanitizer has replaced malloc.
bool counts_allocations();
uint64_t allocations();

}  // namespace tenon::device_testing

// The ABI note of a shared library, read from the file before any of its code runs.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::conformance {

struct AbiNote {
  uint32_t major = 0, minor = 0, least_host_minor = 0;
};

// Throws a failure that says what the file lacks. Every offset is checked against the file's size.
AbiNote read_abi_note(const std::string& path);

}  // namespace tenon::conformance

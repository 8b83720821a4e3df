// What a sanitizer that this suite is built with does to a process's memory and time.
#pragma once

#include <cstdint>

namespace tenon::conformance {

// kBytesPerByte: what it keeps beside each byte that is used, with the byte. kMapsForEver: what it maps for a library or a
// file stays mapped. kFreedBytes: what it keeps of what was freed. kSlower: how much longer a test may take.
#if defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true, kMapsForEver = true;
constexpr uint64_t kBytesPerByte = 9, kFreedBytes = 0;
constexpr double kSlower = 10;
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true, kMapsForEver = false;
constexpr uint64_t kBytesPerByte = 2, kFreedBytes = 256u << 20;  // its quarantine
constexpr double kSlower = 10;
#else
constexpr bool kSanitized = false, kMapsForEver = false;
constexpr uint64_t kBytesPerByte = 1, kFreedBytes = 0;
constexpr double kSlower = 1;
#endif

}  // namespace tenon::conformance

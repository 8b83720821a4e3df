// Bodies that were compressed (RFC 1952): a few bytes may stand for gigabytes, so that what they become has a bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::server {

enum class Gunzip : uint8_t { kDone, kDamaged, kTooLarge };

// All members, one behind the other. No more than `most` bytes, and some for the buffer, are allocated.
Gunzip gunzip(std::string_view bytes, int64_t most, std::string* out);

}  // namespace tenon::server

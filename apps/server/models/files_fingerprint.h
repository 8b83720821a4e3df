// Whether something was written to a file, or below a directory.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::server {

// A number made of names, sizes and times of the files there: another one when something was written there. What cannot be read counts
// as empty.
uint64_t files_fingerprint(const std::string& path);

}  // namespace tenon::server

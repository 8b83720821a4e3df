// What files hold, in a number, without reading them whole.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tenon {

// A hash of their names and sizes, and of some bytes of some of them. Files that cannot be read count as empty.
uint64_t files_fingerprint(const std::vector<std::string>& paths);

// The same, looked up when it is first asked for. Thread safe.
class FilesFingerprint {
 public:
  uint64_t of(const std::vector<std::string>& paths) const {
    std::call_once(once_, [&] { value_ = files_fingerprint(paths); });
    return value_;
  }

 private:
  mutable std::once_flag once_;
  mutable uint64_t value_ = 0;
};

}  // namespace tenon

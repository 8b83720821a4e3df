#include "server/models/files_fingerprint.h"

#include <filesystem>
#include <functional>

namespace tenon::server {

namespace fs = std::filesystem;

uint64_t files_fingerprint(const std::string& directory) {
  std::error_code error;
  uint64_t sum = 0;
  int files = 0;
  for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end && ++files < 10000;
       it.increment(error)) {
    std::error_code ignored;
    const uint64_t name = std::hash<std::string>()(it->path().string());
    const auto time = static_cast<uint64_t>(it->last_write_time(ignored).time_since_epoch().count());
    const uint64_t size = it->is_regular_file(ignored) ? it->file_size(ignored) : 0;
    sum += (name ^ (time * 0x9e3779b97f4a7c15) ^ (size * 0xc2b2ae3d27d4eb4f)) * 0xff51afd7ed558ccd;
  }
  return sum;
}

}  // namespace tenon::server

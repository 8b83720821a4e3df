#include "server/models/files_fingerprint.h"

#include <filesystem>
#include <functional>

namespace tenon::server {

namespace fs = std::filesystem;

namespace {

uint64_t fingerprint(const fs::directory_entry& file) {
  std::error_code ignored;
  const uint64_t name = std::hash<std::string>()(file.path().string());
  const auto time = static_cast<uint64_t>(file.last_write_time(ignored).time_since_epoch().count());
  const uint64_t size = file.is_regular_file(ignored) ? file.file_size(ignored) : 0;
  return (name ^ (time * 0x9e3779b97f4a7c15) ^ (size * 0xc2b2ae3d27d4eb4f)) * 0xff51afd7ed558ccd;
}

}  // namespace

uint64_t files_fingerprint(const std::string& path) {
  std::error_code error;
  if (const fs::directory_entry file(path, error); file.is_regular_file(error)) return fingerprint(file);
  uint64_t sum = 0;
  int files = 0;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end && ++files < 10000;
       it.increment(error))
    sum += fingerprint(*it);
  return sum;
}

}  // namespace tenon::server

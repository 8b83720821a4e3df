#include "server/models/version_directories.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>

namespace tenon::server {
namespace {

namespace fs = std::filesystem;

// -1 where the name is no number, as TF Serving writes and reads it.
int64_t number_of(const std::string& name) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() && number >= 0 ? number : -1;
}

}  // namespace

Result<std::vector<VersionDirectory>> version_directories(const std::string& directory) {
  std::error_code error;
  std::vector<VersionDirectory> out;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const int64_t number = number_of(it->path().filename().string());
    if (number >= 0 && it->is_directory(ignored)) out.push_back({number, it->path().string()});
  }
  if (error) return Status(Code::kUnavailable, "'" + directory + "' cannot be read: " + error.message());
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::pair(a.number, b.path.size()) > std::pair(b.number, a.path.size());  // 7 before 007
  });
  out.erase(std::unique(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.number == b.number; }),
            out.end());
  return out;
}

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

#include "server/models/base_path.h"

#include <chrono>
#include <filesystem>

namespace tenon::server {

namespace fs = std::filesystem;

bool is_base_path(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error) || fs::is_regular_file(path, error);
}

Result<std::vector<ExportedVersion>> versions_at(const std::string& base_path) {
  std::error_code error;
  if (!fs::is_regular_file(base_path, error)) return exported_versions(base_path);
  const fs::file_time_type changed = fs::last_write_time(base_path, error);
  if (error) return Status(Code::kUnavailable, "'" + base_path + "' cannot be read: " + error.message());
  const auto since = std::chrono::file_clock::to_sys(changed).time_since_epoch();
  return std::vector<ExportedVersion>{
      {std::chrono::duration_cast<std::chrono::milliseconds>(since).count(), base_path}};
}

}  // namespace tenon::server

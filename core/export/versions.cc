#include "export/versions.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/strings.h"
#include "tenon/exported_model.h"

namespace tenon {

namespace fs = std::filesystem;

int64_t version_of(std::string_view name) {
  int64_t number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() && number >= 0 ? number : -1;
}

Result<std::vector<ExportedVersion>> exported_versions(const std::string& directory) {
  std::error_code error;
  std::vector<ExportedVersion> out;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const int64_t number = version_of(it->path().filename().string());
    if (number >= 0 && it->is_directory(ignored)) out.push_back({number, it->path().string()});
  }
  if (error) return Status(Code::kUnavailable, cat("'", directory, "' cannot be read: ", error.message()));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::pair(a.number, b.path.size()) > std::pair(b.number, a.path.size());
  });
  const auto same = [](const auto& a, const auto& b) { return a.number == b.number; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  return out;
}

}  // namespace tenon

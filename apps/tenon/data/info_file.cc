#include "data/info_file.h"

#include <cstdlib>
#include <filesystem>

#include "tenon/text_file.h"

namespace tenon::runner {

std::string file_in(const std::string& data_dir, const std::string& name) {
  std::error_code error;
  const std::string path = data_dir + "/" + name;
  return !data_dir.empty() && std::filesystem::exists(path, error) ? path : "";
}

InfoFile::InfoFile(const std::string& data_dir) {
  if (const std::string path = file_in(data_dir, "info.json"); !path.empty()) json_ = read_text_file(path).take();
}

int64_t InfoFile::number(const std::string& key, int64_t otherwise) const {
  constexpr int64_t kMost = 1 << 24;
  const size_t at = json_.find("\"" + key + "\":");
  if (at == std::string::npos) return otherwise;
  const int64_t value = std::strtoll(json_.c_str() + at + key.size() + 3, nullptr, 10);
  return value > 0 && value < kMost ? value : otherwise;
}

std::string InfoFile::text(const std::string& key) const {
  const std::string before = "\"" + key + "\": \"";
  const size_t at = json_.find(before);
  if (at == std::string::npos) return {};
  const size_t begin = at + before.size(), end = json_.find('"', begin);
  return end == std::string::npos ? "" : json_.substr(begin, end - begin);
}

}  // namespace tenon::runner

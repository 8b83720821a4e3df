#include "data/info_file.h"

#include <filesystem>

#include "json_file.h"
#include "tenon/text_file.h"

namespace tenon::runner {

std::string file_in(const std::string& data_dir, const std::string& name) {
  std::error_code error;
  const std::string path = data_dir + "/" + name;
  return !data_dir.empty() && std::filesystem::exists(path, error) ? path : "";
}

InfoFile::InfoFile(const std::string& data_dir) {
  const std::string path = file_in(data_dir, "info.json");
  if (path.empty()) return;
  json_ = parse_json(path, read_text_file(path).take());
  if (!json_.is_object()) refuse(path, "is " + shown(json_) + ", expected an object");
}

int64_t InfoFile::number(const std::string& key, int64_t otherwise) const {
  constexpr int64_t kMost = 1 << 24;
  const auto found = json_.find(key);
  if (found == json_.end() || !is_integer(*found)) return otherwise;
  const auto value = found->get<int64_t>();
  return value > 0 && value < kMost ? value : otherwise;
}

std::string InfoFile::text(const std::string& key) const {
  const auto found = json_.find(key);
  return found != json_.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace tenon::runner

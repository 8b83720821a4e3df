// What a data directory says of its examples: DIR/info.json, as `tenon convert` writes it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace tenon::runner {

class InfoFile {
 public:
  // No directory (""), and one without the file, say nothing. Throws Error where it cannot be read, or is no object of JSON.
  explicit InfoFile(const std::string& data_dir);

  // `otherwise` where it says none, or one that is no size.
  int64_t number(const std::string& key, int64_t otherwise) const;
  // "" where it says none.
  std::string text(const std::string& key) const;

 private:
  nlohmann::json json_ = nlohmann::json::object();
};

// DIR/NAME; empty without the directory or the file.
std::string file_in(const std::string& data_dir, const std::string& name);

}  // namespace tenon::runner

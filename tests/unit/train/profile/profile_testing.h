// Profiles read back by means that did not write them.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "unit/train/profile/xplane_reader.h"

namespace tenon {

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline nlohmann::json json_of_gzip(const std::string& path) {
  std::string text;
  char part[4096];
  gzFile file = gzopen(path.c_str(), "rb");
  for (int n; (n = gzread(file, part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(n));
  EXPECT_EQ(gzclose(file), Z_OK) << path;
  return nlohmann::json::parse(text);
}

// The one file below `directory` whose name ends so; empty when there is none.
inline std::string only_file(const std::string& directory, const std::string& ending) {
  std::string found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file() || !entry.path().string().ends_with(ending)) continue;
    EXPECT_EQ(found, "") << "and " << entry.path();
    found = entry.path();
  }
  return found;
}

}  // namespace tenon

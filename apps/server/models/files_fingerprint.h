// The versions of a model that lie in a directory, as TF Serving finds them: its directories whose names are numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/status.h"

namespace tenon::server {

struct VersionDirectory {
  int64_t number = 0;
  std::string path;
};

// Newest first. kUnavailable: the directory cannot be read.
Result<std::vector<VersionDirectory>> version_directories(const std::string& directory);

// Of names, sizes and times of the files below: another one when something was written there. What cannot be read counts as empty.
uint64_t files_fingerprint(const std::string& directory);

}  // namespace tenon::server

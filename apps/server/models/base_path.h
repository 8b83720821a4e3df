// Where the versions of a model lie: a directory has one for each number, as `tenon export` and TF Serving have it; a file of a model is
// its only version.
#pragma once

#include <string>
#include <vector>

#include "tenon/exported_model.h"

namespace tenon::server {

// Whether it is a directory or a file.
bool is_base_path(const std::string& path);
// Newest first. A file's number is the time of its last change, in milliseconds since 1970: one that is put in its place is a newer
// version. kUnavailable: it cannot be read.
Result<std::vector<ExportedVersion>> versions_at(const std::string& base_path);

}  // namespace tenon::server

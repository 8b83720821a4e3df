// Directories with a class a directory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/status.h"

namespace tenon {

struct LabelledFiles {
  std::vector<std::string> classes;  // names of the directories, sorted
  std::vector<std::string> paths;    // of each class, sorted
  std::vector<int32_t> labels;       // of each path: an index into `classes`
};

// All regular files below the class's directory, but those whose name, or whose directory's, begins with a dot. Errors: no directory
// in `directory`, no file in any.
Result<LabelledFiles> list_class_folders(const std::string& directory);

}  // namespace tenon

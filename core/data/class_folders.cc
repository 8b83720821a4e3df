#include "data/class_folders.h"

#include <algorithm>
#include <filesystem>

#include "base/file/file.h"
#include "base/room.h"
#include "base/strings.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

Status cannot_list(const fs::path& directory, const std::error_code& error) {
  return file_error("cannot read the directory", directory.string(), error.value());
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

// Links are followed to files, and from a class to its directory, not to directories below: they may lead around.
Result<std::vector<std::string>> files_below(const fs::path& directory) {
  std::vector<std::string> out;
  std::error_code error;
  fs::recursive_directory_iterator at(directory, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code unknown;
    if (is_hidden(at->path())) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file(unknown)) {
      TENON_TRY(take_room_to_grow(out, directory.string()));
      out.push_back(at->path().string());
    }
  }
  if (error) return cannot_list(directory, error);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<LabelledFiles> list_class_folders(const std::string& directory) {
  TENON_TRY(check_path(directory));
  std::vector<fs::path> folders;
  std::error_code error;
  fs::directory_iterator at(directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code unknown;
    if (at->is_directory(unknown) && !is_hidden(at->path())) folders.push_back(at->path());
  }
  if (error) return cannot_list(directory, error);
  std::sort(folders.begin(), folders.end());
  LabelledFiles out;
  for (const fs::path& folder : folders) {
    TENON_ASSIGN(std::vector<std::string> files, files_below(folder));
    out.labels.resize(out.labels.size() + files.size(), static_cast<int32_t>(out.classes.size()));
    std::move(files.begin(), files.end(), std::back_inserter(out.paths));
    out.classes.push_back(folder.filename().string());
  }
  if (out.classes.empty()) return invalid(directory, ": expected a directory a class, found no directory");
  if (out.paths.empty()) return invalid(directory, ": expected files in the directories of its classes, found none");
  return out;
}

}  // namespace tenon

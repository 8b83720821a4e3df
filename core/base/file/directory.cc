#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>

#include "base/file/descriptor.h"
#include "base/file/file.h"
#include "base/strings.h"

namespace tenon {
namespace {

Result<std::vector<std::string>> names_of(const std::string& directory) {
  TENON_TRY(check_path(directory));
  std::optional<std::vector<std::string>> names = names_in(open_file(directory, O_RDONLY | O_DIRECTORY));
  if (!names) return file_error("cannot list directory", directory, errno);
  return std::move(*names);
}

bool is_regular(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool is_directory(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

Result<std::vector<std::string>> list_names(const std::string& directory, const std::string& pattern) {
  TENON_ASSIGN(std::vector<std::string> names, names_of(directory));
  std::erase_if(names,
                [&](const std::string& name) { return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) != 0; });
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::string>> list_files(const std::string& directory, const std::string& pattern) {
  TENON_ASSIGN(const std::vector<std::string> names, list_names(directory, pattern));
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::string path = cat(directory, directory.ends_with('/') ? "" : "/", name);
    if (is_regular(path)) files.push_back(std::move(path));
  }
  return files;
}

Status make_directories(const std::string& directory) {
  TENON_TRY(check_path(directory));
  if (directory.empty()) return invalid("cannot make a directory: expected a name, found ''");
  for (size_t slash = 0; slash != std::string::npos;) {
    slash = directory.find('/', slash + 1);
    const std::string part = directory.substr(0, slash);
    if (is_directory(part)) continue;
    if (::mkdir(part.c_str(), 0777) != 0 && !(errno == EEXIST && is_directory(part)))
      return file_error("cannot make directory", part, errno);
    TENON_TRY(sync_directory(directory_of(part)));
  }
  return {};
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return file_error("cannot remove", path, errno);
  return {};
}

Status remove_temporaries(const std::string& directory, const std::string& pattern) {
  TENON_ASSIGN(const std::vector<std::string> names, names_of(directory));
  for (const std::string& name : names) {
    const std::string target(target_of_temporary(name));
    if (!target.empty() && ::fnmatch(pattern.c_str(), target.c_str(), 0) == 0)
      TENON_TRY(remove_file(cat(directory, "/", name)));
  }
  return {};
}

void remove_left_temporaries(const std::string& path) {
  constexpr time_t kHour = 3600;
  const std::string directory = directory_of(path);
  const Result<std::vector<std::string>> names = names_of(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (target_of_temporary(name) != name_of(path)) continue;
    const std::string left = cat(directory, "/", name);
    const std::string_view id = std::string_view(name).substr(name.rfind(".tmp-") + 5);
    pid_t process = 0;
    std::from_chars(id.data(), id.data() + id.size(), process);
    struct stat info;
    if (process > 0 && ::kill(process, 0) != 0 && errno == ESRCH && ::stat(left.c_str(), &info) == 0 &&
        ::time(nullptr) - info.st_mtime > kHour)
      (void)remove_file(left);
  }
}

}  // namespace tenon

#include <dirent.h>
#include <fnmatch.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/file.h"
#include "base/system_call.h"
#include "base/text.h"

namespace tenon {
namespace {

// The names in a directory, in no order, without . and .. ; closes it on every way out.
Result<std::vector<std::string>> names_in(const std::string& directory) {
  TENON_TRY(check_path(directory));
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  if (open == nullptr) return file_error("cannot list directory", directory, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int error = errno;
  if (error != 0) return file_error("cannot list directory", directory, error);
  return names;
}

bool is_regular(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool is_directory(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// .NAME.tmp-PID-RANDOM of a process that has ended.
bool is_stale_temporary(const std::string& name) {
  const size_t mark = name.rfind(".tmp-");
  if (name.empty() || name[0] != '.' || mark == std::string::npos) return false;
  char* end = nullptr;
  const long pid = std::strtol(name.c_str() + mark + 5, &end, 10);
  if (pid <= 0 || *end != '-') return false;
  return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

}  // namespace

Result<std::vector<std::string>> list_names(const std::string& directory, const std::string& pattern) {
  TENON_ASSIGN(std::vector<std::string> names, names_in(directory));
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

Status remove_stale_temporaries(const std::string& directory) {
  TENON_ASSIGN(const std::vector<std::string> names, names_in(directory));
  for (const std::string& name : names) {
    if (!is_stale_temporary(name)) continue;
    const std::string path = cat(directory, "/", name);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return file_error("cannot remove", path, errno);
  }
  return {};
}

}  // namespace tenon

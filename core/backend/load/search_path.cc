#include "backend/load/search_path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "backend/abi.h"
#include "backend/load/trust.h"
#include "base/file/descriptor.h"
#include "base/process/installed.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr size_t kMaxName = 63;

bool exists(const std::string& path) {
  struct stat s;
  return ::lstat(path.c_str(), &s) == 0;
}

class Builder {
 public:
  void add(const std::string& directory) {
    if (directory.empty()) return refuse("(an empty entry of TENON_PLUGIN_PATH)", "expected an absolute path");
    if (directory[0] != '/') return refuse(directory, "is a relative path, expected an absolute one");
    const std::string path = tidy(directory);
    std::string real = path;
    if (exists(path)) {
      Result<std::string> trusted = trusted_directory(path);
      if (!trusted.ok()) return refuse(path, trusted.status().message());
      real = *trusted;
    }
    if (std::find(reals_.begin(), reals_.end(), real) != reals_.end()) return;
    reals_.push_back(real);
    out.directories.push_back(path);
  }

  SearchPath out;

 private:
  void refuse(const std::string& path, const std::string& cause) { out.refusals.push_back({one_line(path), cause}); }
  static std::string tidy(const std::string& path) {
    std::string out = std::filesystem::path(path).lexically_normal().string();
    while (out.size() > 1 && out.back() == '/') out.pop_back();
    return out;
  }
  std::vector<std::string> reals_;
};

void add_plugin_path(Builder& builder) {
  const char* path = ::secure_getenv("TENON_PLUGIN_PATH");
  if (!path || !*path) return;
  for (const std::string& entry : entries_of_path(path)) builder.add(entry);
}

// The base directory specification says that relative values are to be ignored.
void add_user(Builder& builder) {
  const char* data = ::secure_getenv("XDG_DATA_HOME");
  const char* home = ::secure_getenv("HOME");
  if (data && *data == '/')
    builder.add(cat(data, "/tenon/plugins"));
  else if (home && *home == '/')
    builder.add(cat(home, "/.local/share/tenon/plugins"));
}

// A directory that is not there has none; one that cannot be listed is refused.
std::vector<std::string> libraries_in(const std::string& directory, std::vector<Refusal>* refusals) {
  const auto files = names_in(open_file(directory, O_RDONLY | O_DIRECTORY));
  if (!files && errno != ENOENT && errno != ENOTDIR)
    refusals->push_back({one_line(directory), cat("cannot be listed: ", strerrordesc_np(errno))});
  std::vector<std::string> names;
  for (const std::string& file : files.value_or(std::vector<std::string>()))
    if (file.size() > 3 && file.ends_with(".so")) names.push_back(file.substr(0, file.size() - 3));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

bool is_backend_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= kMaxName && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), good);
}

SearchPath search_path() {
  Builder builder;
  add_plugin_path(builder);
  add_user(builder);
  for (const std::string& directory : installed_directories()) builder.add(directory);
  return std::move(builder.out);
}

std::vector<Candidate> find_candidates(const SearchPath& search, std::vector<Refusal>* refusals) {
  std::vector<Candidate> found;
  for (const std::string& directory : search.directories)
    for (const std::string& name : libraries_in(directory, refusals)) {
      const std::string path = cat(directory, "/", name, ".so");
      const auto first = std::find_if(found.begin(), found.end(), [&](const Candidate& c) { return c.name == name; });
      if (first != found.end())
        refusals->push_back({one_line(path), cat("is shadowed by ", first->path)});
      else if (!is_backend_name(name))
        refusals->push_back({one_line(path), "has no name that a backend may have"});
      else
        found.push_back({name, path});
    }
  return found;
}

std::string find_candidate(const SearchPath& search, std::string_view name) {
  for (const std::string& directory : search.directories)
    if (const std::string path = cat(directory, "/", name, ".so"); exists(path)) return path;
  return {};
}

}  // namespace tenon

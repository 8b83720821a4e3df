#include "backend/load/dependencies.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include "backend/abi.h"
#include "backend/load/trust.h"
#include "base/strings.h"

namespace tenon {
namespace {

template <class... Parts>
Status refuse_dependency(const Parts&... parts) {
  return Status(Code::kUnavailable, cat(parts...));
}

// An entry of a list of directories as the linker reads it.
struct SearchEntry {
  std::string path;
  bool of_origin;
};

Result<SearchEntry> expand(std::string_view entry, const std::string& directory) {
  if (entry.empty())
    return refuse_dependency("has an empty entry in its RUNPATH, which stands for the current directory");
  SearchEntry out{std::string(entry), false};
  for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"})
    if (entry.starts_with(origin) && (entry.size() == origin.size() || entry[origin.size()] == '/'))
      out = {cat(directory, entry.substr(origin.size())), true};
  if (out.path[0] != '/' || out.path.find('$') != std::string::npos)
    return refuse_dependency("has '", one_line(entry), "' in its RUNPATH, expected an absolute path or $ORIGIN");
  while (out.path.size() > 1 && out.path.back() == '/') out.path.pop_back();
  if (const Status trusted = trusted_or_missing(out.path); !trusted.ok())
    return refuse_dependency("has ", one_line(entry), " in its RUNPATH, which ", trusted.message());
  return out;
}

Result<std::vector<SearchEntry>> expand_all(const LibraryFacts& library, const std::string& directory) {
  std::vector<SearchEntry> out;
  for (const std::string& list : library.search) {
    if (list.empty()) continue;  // the linker skips it
    for (size_t at = 0; at <= list.size();) {
      const size_t end = std::min(list.find(':', at), list.size());
      TENON_ASSIGN(SearchEntry entry, expand(std::string_view(list).substr(at, end - at), directory));
      out.push_back(std::move(entry));
      at = end + 1;
    }
  }
  return out;
}

Status check_name(const std::string& name) {
  if (name.empty()) return refuse_dependency("needs a library without a name");
  if (name.find('/') == std::string::npos) return {};
  if (name[0] != '/')
    return refuse_dependency("needs ", one_line(name), ", expected the name of a library or an absolute path");
  const Status trusted = trusted_file(name).status();
  return trusted.ok() ? trusted : refuse_dependency("needs ", one_line(name), ", which ", trusted.message());
}

bool is_there(const std::string& path) {
  struct stat s;
  return ::stat(path.c_str(), &s) == 0;
}

}  // namespace

Result<std::vector<std::string>> check_dependencies(const LibraryFacts& library, const std::string& directory) {
  TENON_ASSIGN(const std::vector<SearchEntry> search, expand_all(library, directory));
  std::vector<std::string> beside;
  for (const std::string& name : library.needed) {
    TENON_TRY(check_name(name));
    for (const SearchEntry& entry : search) {
      const std::string path = cat(entry.path, "/", name);
      if (name[0] == '/' || !is_there(path)) continue;
      if (const Status trusted = trusted_file(path).status(); !trusted.ok())
        return refuse_dependency("needs ", one_line(path), ", which ", trusted.message());
      if (entry.of_origin) beside.push_back(path);
      break;
    }
  }
  return beside;
}

}  // namespace tenon

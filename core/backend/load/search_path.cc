#include "backend/load/search_path.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "backend/abi.h"
#include "backend/load/trust.h"
#include "base/file/descriptor.h"
#include "base/text.h"

// Where the package that a program was linked against keeps its backends; find_package(Tenon) adds the file that
// defines it (share/cmake/installed_backends.cc.in).
extern "C" __attribute__((weak)) const char tenon_installed_backends[];

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

std::vector<std::string> entries_of(std::string_view path) {
  std::vector<std::string> out;
  for (;;) {
    const size_t colon = path.find(':');
    out.emplace_back(path.substr(0, colon));
    if (colon == std::string_view::npos) return out;
    path.remove_prefix(colon + 1);
  }
}

void add_plugin_path(Builder& builder) {
  const char* path = ::secure_getenv("TENON_PLUGIN_PATH");
  if (!path || !*path) return;
  for (const std::string& entry : entries_of(path)) builder.add(entry);
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

// Not in set-uid programs: anybody can make a hard link to one, in a directory of their own.
void add_beside_program(Builder& builder) {
  if (::getauxval(AT_SECURE)) return;
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) return;
  const std::filesystem::path bin = std::filesystem::path(std::string(path, static_cast<size_t>(n))).parent_path();
  builder.add((bin / "../lib/tenon").string());
  builder.add((bin / "../lib64/tenon").string());
}

// Those of the RUNPATH that the package's pkg-config file gives a program.
void add_run_path(Builder& builder) {
  static const char here = 0;
  Dl_info info;
  link_map* map = nullptr;
  if (::dladdr1(&here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || !map || !map->l_ld) return;
  std::optional<ElfW(Xword)> offset;
  ElfW(Addr) table = 0;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_STRTAB) table = d->d_un.d_ptr;
    if (d->d_tag == DT_RUNPATH || d->d_tag == DT_RPATH) offset = d->d_un.d_val;
  }
  if (!table || !offset) return;
  const char* const text = reinterpret_cast<const char*>(table < map->l_addr ? table + map->l_addr : table) + *offset;
  for (const std::string& entry : entries_of(text))
    if (entry.starts_with('/') && std::filesystem::path(entry).filename() == "tenon") builder.add(entry);
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
  add_beside_program(builder);
  add_run_path(builder);
  if (&tenon_installed_backends) builder.add(tenon_installed_backends);
#ifdef TENON_INSTALLED_BACKENDS
  builder.add(TENON_INSTALLED_BACKENDS);
#endif
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

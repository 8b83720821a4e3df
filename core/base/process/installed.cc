#include "base/process/installed.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <optional>

// Where the package that a program was linked against keeps its backends; find_package(Tenon) adds the file that
// defines it (share/cmake/installed_backends.cc.in).
extern "C" __attribute__((weak)) const char tenon_installed_backends[];

namespace tenon {
namespace {

using Directories = std::vector<std::string>;

// Not in set-uid programs: anybody can make a hard link to one, in a directory of their own.
void add_beside_program(Directories& out) {
  if (::getauxval(AT_SECURE)) return;
  char path[PATH_MAX];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
  if (n <= 0) return;
  const std::filesystem::path bin = std::filesystem::path(std::string(path, static_cast<size_t>(n))).parent_path();
  out.push_back((bin / "../lib/tenon").lexically_normal().string());
  out.push_back((bin / "../lib64/tenon").lexically_normal().string());
}

// Those of the RUNPATH that the package's pkg-config file gives a program.
void add_run_path(Directories& out) {
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
  for (const std::string& entry : entries_of_path(text))
    if (entry.starts_with('/') && std::filesystem::path(entry).filename() == "tenon") out.push_back(entry);
}

}  // namespace

std::vector<std::string> entries_of_path(std::string_view path) {
  std::vector<std::string> out;
  for (;;) {
    const size_t colon = path.find(':');
    out.emplace_back(path.substr(0, colon));
    if (colon == std::string_view::npos) return out;
    path.remove_prefix(colon + 1);
  }
}

std::vector<std::string> installed_directories() {
  Directories out;
  add_beside_program(out);
  add_run_path(out);
  if (&tenon_installed_backends) out.emplace_back(tenon_installed_backends);
#ifdef TENON_INSTALLED_BACKENDS
  out.emplace_back(TENON_INSTALLED_BACKENDS);
#endif
  return out;
}

}  // namespace tenon

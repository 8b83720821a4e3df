#include "backend/registry.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "backend/abi.h"
#include "backend/host_table.h"
#include "base/text.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

std::string executable_directory() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? fs::path(std::string(path, static_cast<size_t>(n))).parent_path().string() : std::string();
}

std::vector<std::string> search_path() {
  std::vector<std::string> out;
  const auto add = [&](const std::string& d) {
    if (!d.empty() && d[0] == '/' && std::find(out.begin(), out.end(), d) == out.end()) out.push_back(d);
  };
  if (const char* path = secure_getenv("TENON_PLUGIN_PATH")) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const size_t colon = std::min(rest.find(':'), rest.size());
      add(std::string(rest.substr(0, colon)));
      rest.remove_prefix(std::min(colon + 1, rest.size()));
    }
  }
  if (const char* data = secure_getenv("XDG_DATA_HOME")) add(cat(data, "/tenon/plugins"));
  else if (const char* home = secure_getenv("HOME")) add(cat(home, "/.local/share/tenon/plugins"));
  if (const std::string exe = executable_directory(); !exe.empty()) {
    add(fs::path(exe + "/../lib/tenon").lexically_normal().string());
    add(fs::path(exe + "/../lib64/tenon").lexically_normal().string());
  }
#ifdef TENON_INSTALLED_BACKENDS
  add(TENON_INSTALLED_BACKENDS);
#endif
  return out;
}

struct Loaded {
  std::string path;
  tenon_backend table{};
};

Result<const Loaded*> load(const std::string& path) {
  static std::mutex mutex;
  static auto& loaded = *new std::map<std::string, Loaded>;
  std::lock_guard lock(mutex);
  if (const auto it = loaded.find(path); it != loaded.end()) return &it->second;
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) return Status(Code::kUnavailable, cat(path, ": ", printable(dlerror())));
  const auto init = reinterpret_cast<decltype(&tenon_backend_init)>(dlsym(handle, "tenon_backend_init"));
  if (!init) return Status(Code::kAbi, cat(path, ": exports no tenon_backend_init"));
  Loaded entry;
  entry.path = path;
  entry.table.struct_size = sizeof entry.table;
  TENON_TRY(from_abi(init(&host_table(), &entry.table), path, "tenon_backend_init"));
  return &loaded.emplace(path, entry).first->second;
}

Result<std::vector<UnitInfo>> units_of(const tenon_backend& backend, const std::string& spec) {
  const char* s = spec.empty() ? nullptr : spec.c_str();
  uint32_t count = 0;
  TENON_TRY(from_abi(backend.enumerate(backend.self, s, nullptr, sizeof(tenon_unit), &count), backend.name, "enumerate"));
  if (count == 0 || count > 65536) return Status(Code::kUnavailable, cat(backend.name, ": has no units"));
  std::vector<tenon_unit> raw(count);
  TENON_TRY(from_abi(backend.enumerate(backend.self, s, raw.data(), sizeof(tenon_unit), &count), backend.name, "enumerate"));
  std::vector<UnitInfo> out;
  for (const tenon_unit& u : raw) {
    UnitInfo info;
    info.name = printable(std::string_view(u.name, strnlen(u.name, sizeof u.name)));
    info.version = printable(std::string_view(u.version, strnlen(u.version, sizeof u.version)));
    info.kind = u.kind == TENON_GPU ? "gpu" : u.kind == TENON_ACCELERATOR ? "accelerator" : "cpu";
    info.memory_bytes = u.memory_bytes;
    info.feed_depth = static_cast<int>(std::max(u.feed_depth, 1u));
    info.is_inline = u.flags & TENON_UNIT_INLINE;
    info.host_feed = u.flags & TENON_UNIT_HOST_FEED;
    info.extents = u.flags & TENON_UNIT_EXTENTS;
    info.emulated = u.flags & TENON_UNIT_EMULATED;
    out.push_back(std::move(info));
  }
  return out;
}

Result<std::shared_ptr<Device>> open_on(const Loaded& loaded, const std::string& name, const std::string& spec) {
  TENON_ASSIGN(std::vector<UnitInfo> units, units_of(loaded.table, spec));
  std::vector<uint32_t> which(units.size());
  for (uint32_t i = 0; i < which.size(); ++i) which[i] = i;
  tenon_open open{};
  open.struct_size = sizeof open;
  open.spec = spec.empty() ? nullptr : spec.c_str();
  open.units = which.data();
  open.n_units = static_cast<uint32_t>(which.size());
  open.processes = 1;
  tenon_device* device = nullptr;
  TENON_TRY(from_abi(loaded.table.device_open(loaded.table.self, &open, &device), name, "device_open"));
  return std::make_shared<Device>(loaded.table, device, spec.empty() ? name : cat(name, ":", spec), std::move(units));
}

std::vector<std::string> plugin_files(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored))
    if (entry.path().extension() == ".so") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Discovery discover_backends() {
  Discovery out;
  out.directories = search_path();
  for (const std::string& directory : out.directories)
    for (const std::string& file : plugin_files(directory)) {
      const Result<const Loaded*> loaded = load(file);
      if (!loaded.ok()) {
        out.refusals.push_back({file, loaded.status().message()});
        continue;
      }
      BackendInfo info{(*loaded)->table.name, (*loaded)->table.version, file, {}, {}};
      Result<std::vector<UnitInfo>> units = units_of((*loaded)->table, "");
      if (units.ok()) info.units = *units;
      else info.status = units.status();
      out.backends.push_back(std::move(info));
    }
  return out;
}

Result<std::shared_ptr<Device>> open_device(std::string_view device) {
  const size_t colon = std::min(device.find(':'), device.size());
  const std::string name(device.substr(0, colon) == "auto" ? "cpu" : device.substr(0, colon));
  const std::string spec(device.substr(std::min(colon + 1, device.size())));
  std::vector<std::string> looked;
  for (const std::string& directory : search_path()) {
    const std::string path = cat(directory, "/", name, ".so");
    looked.push_back(directory);
    if (!fs::exists(path)) continue;
    TENON_ASSIGN(const Loaded* loaded, load(path));
    return open_on(*loaded, name, spec);
  }
  return Status(Code::kUnavailable, cat("device '", name, "': no ", name, ".so in ", join(looked)));
}

}  // namespace tenon

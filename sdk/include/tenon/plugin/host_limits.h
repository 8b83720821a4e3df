// How much of the machine this process may use: memory and cores, as the machine has them, as the cgroups that it is in
// (v1 and v2, its own and all above) and as its own limits allow. For backends in host memory. C++17, header only.
//
// Each call asks the system anew, which takes some tens of microseconds: not for a step. Thread safe. What cannot be
// read, or is no number, limits nothing. `root` is where /proc and /sys are looked for; tests have their own.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tenon::plugin {

// Bytes. `limit`: the most that the process can ever have. `left`: what it can have now without swapping; memory that
// the kernel would take back from files counts as left.
struct HostMemory {
  uint64_t limit = 0, left = 0;
};
HostMemory host_memory(const std::string& root = {});

// Whether `bytes` more can be had, and a little is left for all else that the process does.
bool host_has_room(uint64_t bytes, const std::string& root = {});

// Threads that can truly run at once, at least 1: the cores that the process may run on, and no more than its cgroups'
// share of time fills (a share of 1.5 cores: 2).
int host_cores(const std::string& root = {});

namespace host_limits {

constexpr uint64_t kNoLimit = UINT64_MAX;

inline uint64_t number_or(const std::string& text, uint64_t otherwise) {
  if (text.empty() || text.size() > 19 || text.find_first_not_of("0123456789") != std::string::npos) return otherwise;
  return std::strtoull(text.c_str(), nullptr, 10);
}

// The first word of a file; empty when there is none.
inline std::string word_of(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

// The number after `key` in a file of lines "key value".
inline uint64_t value_of(const std::string& path, const std::string& key, uint64_t otherwise) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, value;
    if (words >> name >> value && name == key) return number_or(value, otherwise);
  }
  return otherwise;
}

// Where one hierarchy of cgroups is mounted, and which of its cgroups is seen there.
struct Mount {
  std::string point, top;
};

// "\040" is a space: mountinfo writes three octal digits for what would end a word.
inline std::string unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

inline bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

// The mount of version 2, or of version 1's `controller`; its point is empty where there is none.
inline Mount mount_of(const std::string& root, const std::string& controller) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped, top, point, type, source, options;
    words >> skipped >> skipped >> skipped >> top >> point;
    while (words >> skipped && skipped != "-") {
    }
    if (!(words >> type >> source >> options)) continue;
    if (controller.empty() ? type == "cgroup2" : type == "cgroup" && has_word(options, controller))
      return {root + unescaped(point), unescaped(top)};
  }
  return {};
}

// The path of this process in that hierarchy, as /proc/self/cgroup has it.
inline std::string path_in(const std::string& root, const std::string& controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_word(controllers, controller)) return line.substr(second + 1);
  }
  return "/";
}

// The folders of this process's cgroup and of those above it, as far as they are seen from here.
inline std::vector<std::string> cgroups(const std::string& root, const std::string& controller) {
  const Mount mount = mount_of(root, controller);
  if (mount.point.empty()) return {};
  std::string path = path_in(root, controller);
  if (mount.top != "/") {  // in a container: the mount shows a part, which paths may or may not begin with
    const bool inside = path.compare(0, mount.top.size(), mount.top) == 0 &&
                        (path.size() == mount.top.size() || path[mount.top.size()] == '/');
    path = inside ? path.substr(mount.top.size()) : "/";
  }
  if (path.find("/..") != std::string::npos) path = "/";
  std::vector<std::string> folders;
  for (; path.size() > 1; path.resize(path.rfind('/'))) folders.push_back(mount.point + path);
  folders.push_back(mount.point);
  return folders;
}

// Takes what one hierarchy allows, by the names that its files have.
inline void take_cgroups(const std::vector<std::string>& folders, const char* limit_file, const char* used_file,
                         const char* reclaimable, HostMemory& memory) {
  for (const std::string& folder : folders) {
    const uint64_t limit = number_or(word_of(folder + "/" + limit_file), kNoLimit);
    if (limit >= kNoLimit / 4) continue;  // version 1 writes nearly 2^63 for none
    const uint64_t used = number_or(word_of(folder + "/" + used_file), 0);
    const uint64_t kept = used - std::min(used, value_of(folder + "/memory.stat", reclaimable, 0));
    memory.limit = std::min(memory.limit, limit);
    memory.left = std::min(memory.left, limit - std::min(limit, kept));
  }
}

template <class Resource>  // an int, or an enum of the C library's
void take_rlimit(Resource resource, uint64_t used, HostMemory& memory) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  memory.limit = std::min<uint64_t>(memory.limit, limit.rlim_cur);
  memory.left = std::min<uint64_t>(memory.left, limit.rlim_cur - std::min<uint64_t>(limit.rlim_cur, used));
}

// Cores' worth of time, rounded up, that `quota` microseconds in each `period` are; 0 when nothing is said.
inline uint64_t cores_of(const std::string& quota, const std::string& period) {
  const uint64_t q = number_or(quota, 0), p = number_or(period, 0);
  return q && p ? (q - 1) / p + 1 : 0;
}

}  // namespace host_limits

inline HostMemory host_memory(const std::string& root) {
  using namespace host_limits;
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  HostMemory memory;
  memory.limit = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * page;
  const uint64_t kilobytes = value_of(root + "/proc/meminfo", "MemAvailable:", kNoLimit);
  memory.left = kilobytes < kNoLimit >> 10 ? std::min(memory.limit, kilobytes << 10) : memory.limit;
  take_cgroups(cgroups(root, ""), "memory.max", "memory.current", "inactive_file", memory);
  take_cgroups(cgroups(root, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
               memory);
  take_rlimit(RLIMIT_AS, number_or(word_of(root + "/proc/self/statm"), 0) * page, memory);
  take_rlimit(RLIMIT_DATA, value_of(root + "/proc/self/status", "VmData:", 0) << 10, memory);
  return memory;
}

inline bool host_has_room(uint64_t bytes, const std::string& root) {
  const HostMemory memory = host_memory(root);
  const uint64_t spare = std::min<uint64_t>(memory.limit / 32, 64u << 20);
  return memory.left > spare && bytes <= memory.left - spare;
}

inline int host_cores(const std::string& root) {
  using namespace host_limits;
  std::vector<cpu_set_t> set(64);  // 65,536 processors: the kernel refuses a set that is smaller than its own
  const size_t bytes = set.size() * sizeof set[0];
  uint64_t cores =
      sched_getaffinity(0, bytes, set.data()) == 0 ? static_cast<uint64_t>(CPU_COUNT_S(bytes, set.data())) : 1;
  const auto take = [&](uint64_t allowed) { cores = allowed ? std::min(cores, allowed) : cores; };
  for (const std::string& folder : cgroups(root, "")) {
    std::string quota, period;
    std::ifstream(folder + "/cpu.max") >> quota >> period;
    take(cores_of(quota, period));
  }
  for (const std::string& folder : cgroups(root, "cpu"))
    take(cores_of(word_of(folder + "/cpu.cfs_quota_us"), word_of(folder + "/cpu.cfs_period_us")));
  return static_cast<int>(std::max<uint64_t>(cores, 1));
}

}  // namespace tenon::plugin

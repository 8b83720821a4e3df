// A profile as viewers know it: planes (a device's unit, the host) of lines of events. Plain data; times are picoseconds
// after the profile's beginning.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tenon/status.h"

namespace tenon {

using ProfileValue = std::variant<int64_t, uint64_t, double, std::string>;
using ProfileStats = std::vector<std::pair<std::string, ProfileValue>>;

// What events that repeat have in common: an op, a step's number, a phase.
struct ProfileKind {
  std::string name;
  std::string display_name;  // a shorter one, or empty
  ProfileStats stats;
};

struct ProfileEvent {
  size_t kind = 0;  // index into the plane's kinds
  uint64_t start_ps = 0, duration_ps = 0;
  ProfileStats stats;  // its own; most have none
  int64_t step = 0;    // that it belongs to, as the stat "group_id"; 0: none
};

struct ProfileLine {
  std::string name;
  std::vector<ProfileEvent> events;  // by start
};

struct ProfilePlane {
  std::string name;   // "/device:TPU:0"
  std::string title;  // for people: "/device:TPU:0 (predicted)"
  std::vector<ProfileKind> kinds = {};
  std::vector<ProfileLine> lines = {};
  ProfileStats stats = {};

  // The kind of that name, made when it is not there yet.
  size_t kind(const std::string& name) {
    const auto [at, fresh] = by_name.try_emplace(name, kinds.size());
    if (fresh) kinds.push_back({name, {}, {}});
    return at->second;
  }
  std::map<std::string, size_t> by_name = {};
};

struct ProfileSpace {
  uint64_t begin_unix_ns = 0;
  std::string host;  // the machine's name
  std::vector<ProfilePlane> planes;
  std::vector<std::string> warnings;
};

// XSpace (share/proto/xplane.proto), as TensorBoard's profile plugin and XProf read it.
Status write_xplane(const ProfileSpace& space, const std::string& path);
// Chrome's trace events as JSON, gzip-compressed: Perfetto and chrome://tracing open it.
Status write_chrome_trace(const ProfileSpace& space, const std::string& path);

}  // namespace tenon

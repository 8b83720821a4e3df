// Loads backends into this process, once each, for ever.
//
// What is loaded is a private copy of the file (sealed_copy.h) that was checked, and tried in a child process by every call
// that a first use makes. A file is tried once for a spec: the same file gives the same answer until it changes.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "backend/load/search_path.h"
#include "tenon/abi/plugin.h"
#include "tenon/devices.h"

namespace tenon {

struct LoadedBackend {
  std::string name, version;  // printable
  std::string path;
  tenon_backend table;
};

// What a backend is wanted for: which calls are tried first.
struct Use {
  enum Opens { kNothing, kUnlessEmulated, kDevice };
  std::string spec = {};
  Opens opens = kNothing;
};

// What was seen of a backend, in this process where it is loaded, else in a child.
struct Sighting {
  std::string version;
  Status enumerated;
  std::vector<tenon_unit> units;    // as the backend gave them, at least one where `enumerated` is ok
  std::vector<std::string> beside;  // printable lines
  bool open_tried = false;
  Status opened;
  DeviceFacts facts;  // where it was
};

// Looks at all of them at once; loads none. In order. Within one time limit each (set_probe_limit), all side by side. An
// error's message is the cause alone. Thread safe.
std::vector<Result<Sighting>> see_backends(const std::vector<Candidate>& candidates, const Use& use);

// Copies of libraries that were seen and not loaded are given up; what was seen stays known.
void drop_copies();

// NAME.so at `path`, checked, tried in a child process, loaded and initialised. An error's message is the cause alone. The
// backend lives for ever. Thread safe.
Result<const LoadedBackend*> load_backend(const std::string& name, const std::string& path, const Use& use = {});

// The backend of this name where the search path finds it first. An error says where was looked.
Result<const LoadedBackend*> load_by_name(std::string_view name, const Use& use = {});

// "device 'NAME:SPEC': " before the message, where there is a spec.
Status with_device(std::string_view name, const std::string& spec, const Status& status);

// load_by_name on behalf of backend `user`, which then stands on it: refused where it would stand on
// itself.
Result<const LoadedBackend*> load_for(const std::string& user, std::string_view name);

// How long a library may take in a child: 10 s, generous as the machine may be busy. Files that were tried before are not tried
// again.
void set_probe_limit(std::chrono::milliseconds limit);

}  // namespace tenon

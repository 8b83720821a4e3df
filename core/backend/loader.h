// Loads backends into this process, once each, for ever.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "tenon/abi/plugin.h"
#include "tenon/devices.h"

namespace tenon {

struct LoadedBackend {
  std::string name, version;  // printable
  std::string path;
  tenon_backend table;
};

// NAME.so at `path`, checked, tried in a child process, loaded and initialised. A file is tried once:
// the same file gives the same answer until it changes. An error's message is the cause alone. The
// backend lives for ever. Thread safe.
Result<const LoadedBackend*> load_backend(const std::string& name, const std::string& path);

// The backend of this name where the search path finds it first. An error says where was looked.
Result<const LoadedBackend*> load_by_name(std::string_view name);

// The same, on behalf of backend `user`, which then stands on it: refused where it would stand on
// itself.
Result<const LoadedBackend*> load_for(const std::string& user, std::string_view name);

// How long a child may take; 5 s. Files that were tried before are not tried again.
void set_probe_limit(std::chrono::milliseconds limit);

}  // namespace tenon

// Opening devices by name (where backends are looked for: tenon/devices.h).
//
// Before any code of a file runs, its owner and mode, ELF header, bounds and ABI note are checked
// (trust.h, elf_check.h); then it is loaded and initialised in a child process with a time limit
// (probe.h); only then here, RTLD_NOW | RTLD_LOCAL, and never unloaded (loader.h).
#pragma once

#include <memory>
#include <string_view>

#include "backend/device.h"
#include "tenon/devices.h"

namespace tenon {

// Opens NAME[:SPEC], or "auto". Loads only what is needed. An error says where was looked and why
// each candidate was refused. Thread safe.
Result<std::shared_ptr<Device>> open_device(std::string_view device);

}  // namespace tenon

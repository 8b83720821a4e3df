// Opening devices by name (where backends are looked for: tenon/devices.h).
//
// Before any code of a file runs, its owner and mode are checked (trust.h), it is copied to sealed memory (sealed_copy.h), and
// the copy's ELF header, bounds, ABI note and what else it loads are checked (elf_check.h, dependencies.h). Then the copy is
// loaded, initialised and opened in a child process with a time limit (trial.h); only then here, RTLD_NOW | RTLD_LOCAL, and
// never unloaded (loader.h). Why it is done so: share/doc/adr/0015-load-what-was-checked.md.
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

// Finding and loading backends.
//
// Backends are shared libraries NAME.so in these directories, in order: those of TENON_PLUGIN_PATH
// (absolute, separated by ':'; ignored in set-uid programs), the user's ($XDG_DATA_HOME/tenon/plugins),
// the library's own (../lib/tenon beside the running program, or where it was installed). Never the
// current directory; never a directory or file that others may write.
//
// Before any code of a file runs its ELF header, bounds and ABI note are read; then it is loaded and
// initialised in a child process with a time limit; only then here, RTLD_NOW | RTLD_LOCAL, and never
// unloaded. Every refusal is kept.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "tenon/devices.h"

namespace tenon {

// Opens NAME[:SPEC], or "auto": the best device that is not emulated (accelerator, then GPU, then CPU).
// Loads only what is needed. An error says where was looked and why each candidate was refused.
Result<std::shared_ptr<Device>> open_device(std::string_view device);

}  // namespace tenon

// Reads a shared library's headers and ABI note from the file, without running any of its code.
//
// What the dynamic linker trusts is checked here: it maps by the program headers whatever they say,
// and a file that is shorter than they claim kills the process (SIGBUS), not the call.
#pragma once

#include "base/file.h"
#include "tenon/status.h"

namespace tenon {

struct AbiVersion {
  uint32_t major, minor, least_host_minor;
};

// The ABI version of a library for this machine that this core can load. An error's message is the
// cause alone, without the file's name: "is for machine 183, expected 62 (x86-64)".
Result<AbiVersion> check_elf(const File& file);

}  // namespace tenon

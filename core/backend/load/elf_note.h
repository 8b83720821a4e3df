// The note by which a library says that it is a Tenon backend, and of which ABI version.
#pragma once

#include <elf.h>

#include <cstdint>
#include <vector>

#include "base/file/file.h"
#include "tenon/status.h"

namespace tenon {

struct AbiVersion {
  uint32_t major, minor, least_host_minor;
};

// The version, where it is one that this core can load. REQUIRED: the segments lie within the file. An error's message is
// the cause alone.
Result<AbiVersion> read_note(const File& file, const std::vector<Elf64_Phdr>& segments);

}  // namespace tenon

// What the checks of a library's file share. Inside of elf_*.cc.
#pragma once

#include <cstdint>

#include "base/strings.h"
#include "tenon/status.h"

namespace tenon {

// The cause alone, without the file's name: "is no ELF file".
template <class... Parts>
Status refuse_elf(const Parts&... parts) {
  return Status(Code::kAbi, cat(parts...));
}

// [offset, offset + bytes) lies in [0, size).
inline bool within(uint64_t offset, uint64_t bytes, uint64_t size) { return offset <= size && bytes <= size - offset; }

}  // namespace tenon

// The versions of a library's symbols, which the dynamic linker takes as they are.
#pragma once

#include <elf.h>

#include <vector>

#include "base/file/file.h"
#include "tenon/status.h"

namespace tenon {

// REQUIRED: the sections lie within the file. An error's message is the cause alone.
Status check_symbol_versions(const File& file, const std::vector<Elf64_Shdr>& sections);

}  // namespace tenon

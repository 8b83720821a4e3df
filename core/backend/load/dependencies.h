// The other libraries that the dynamic linker loads with a library.
#pragma once

#include <string>
#include <vector>

#include "backend/load/elf_check.h"

namespace tenon {

// Refuses a library that names others by a relative path, or has them looked for in the current directory or in one where
// others could put them. `directory`: the trusted one that its file lies in, which $ORIGIN stands for. Gives the absolute
// paths of those that lie in such directories: they are loaded first, as the linker does not know $ORIGIN of a private copy.
// An error's message is the cause alone.
Result<std::vector<std::string>> check_dependencies(const LibraryFacts& library, const std::string& directory);

}  // namespace tenon

// Reads a shared library's headers and ABI note from the file, without running any of its code.
//
// What the dynamic linker trusts is checked here: it maps by the program headers whatever they say,
// and a file that is shorter than they claim kills the process (SIGBUS), not the call.
#pragma once

#include <string>
#include <vector>

#include "backend/load/elf_note.h"
#include "base/file/file.h"
#include "tenon/status.h"

namespace tenon {

struct LibraryFacts {
  AbiVersion version;
  std::vector<std::string> needed;  // the libraries that the linker will load with it
  std::vector<std::string> search;  // its lists of directories where they are looked for, separated by ':'
};

// What a library for this machine that this core can load says of itself. Takes time and memory in proportion to the tables
// that it reads, which are limited. An error's message is the cause alone, without the file's name: "is for machine 183,
// expected 62 (x86-64)".
Result<LibraryFacts> check_elf(const File& file);

}  // namespace tenon

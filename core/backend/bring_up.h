// Runs a library's code: loads it and has it initialise itself, in this process or in a child that tries it.
#pragma once

#include <string>
#include <vector>

#include "backend/load/elf_check.h"
#include "backend/load/sealed_copy.h"
#include "base/process/probe.h"
#include "tenon/abi/plugin.h"

namespace tenon {

// A copy whose bytes were checked.
struct CheckedLibrary {
  SealedCopy copy;
  LibraryFacts facts;
  std::vector<std::string> beside;  // libraries that are loaded first (dependencies.h)
};

// Copies and checks the file; none of its code runs. `path` is what trusted_file gave. An error's message is the cause alone.
Result<CheckedLibrary> check_library(const std::string& path);

// Fills the table. *library is the handle once it is open. From before tenon_backend_init on dladdr says the file's own path;
// constructors find the copy's. What the library changed of this thread's and process's state is put back.
Status bring_up(const CheckedLibrary& library, const std::string& name, const tenon_host& host, bool validate,
                const ProbeStage& stage, tenon_backend* out, void** handle);

// The library is about to be closed: it gets back the name that the linker gave it.
void forget_path(void* handle, const CheckedLibrary& library);

}  // namespace tenon

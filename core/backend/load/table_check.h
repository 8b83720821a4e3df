// Whether what tenon_backend_init filled can be used.
#pragma once

#include <string>

#include "backend/load/elf_check.h"
#include "tenon/abi/plugin.h"

namespace tenon {

// REQUIRED: table.struct_size was sizeof(tenon_backend) before the call. `name` is what the file is
// called. An error's message is the cause alone.
Status check_table(const tenon_backend& table, const std::string& name, const AbiVersion& version);

}  // namespace tenon

// What the core offers to backends.
#pragma once

#include "tenon/abi/plugin.h"

namespace tenon {

// Lives for ever; its gang is the process's pool.
const tenon_host& host_table();

}  // namespace tenon

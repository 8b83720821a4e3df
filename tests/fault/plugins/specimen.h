// A backend that does what its file is called: "init-hang.so" hangs in tenon_backend_init. Any other
// name is that of a backend that works.
#pragma once

#include "tenon/abi/plugin.h"

// The file's name without ".so".
const char* specimen_name();

// Does what the file is called after this: "open-hang" hangs in misbehave_as_called("open-").
void misbehave_as_called(const char* stage);

// What tenon_backend_init was given.
const tenon_host* host_table();

// The entries of a device that fails as its spec says: "run-error" (specimen_device.cc).
void fill_entries(tenon_backend* table);

// The library that carries messages between the processes of a job (tenon/plugin/transport.h).
#pragma once

#include <string>

#include "tenon/plugin/transport.h"
#include "tenon/status.h"

namespace tenon {

// Loads transport/NAME.so from where backends are looked for (tenon/devices.h), and joins the job. By the thread that uses it
// from then on. The library stays loaded.
Result<tenon_transport> load_transport(const std::string& name);

}  // namespace tenon

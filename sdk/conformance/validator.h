// The validation layer (tenon/plugin/validation.h) between the suite and what it loads: --validate.
#pragma once

#include <string>

#include "tenon/abi/plugin.h"

namespace tenon::conformance {

// Whether backends that are loaded from now on get the layer; not until this says so. No other thread may be loading one.
void validate_backends(bool on);

// Calls init, with the layer on both sides of the tables if that is wanted. `host` lives for ever.
tenon_status init_backend(decltype(&tenon_backend_init) init, const tenon_host& host, const std::string& name,
                          tenon_backend* out);

// The first violation of each side since the last call, as the layer's line; empty: none. Any thread.
struct Violations {
  std::string of_backend, of_host;
};
Violations take_violations();

}  // namespace tenon::conformance

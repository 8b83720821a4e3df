// The units of a backend, and devices on them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/loader.h"

namespace tenon {

// What the backend says of `spec` ("" = default), range-checked. kUnavailable: there are none here.
Result<std::vector<UnitInfo>> enumerate_units(const LoadedBackend& backend, const std::string& spec);

// Opens the units of `spec` that belong to the domain of the first, as one device.
Result<std::shared_ptr<Device>> open_units(const LoadedBackend& backend, const std::string& spec);

}  // namespace tenon

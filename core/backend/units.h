// The units of a backend, and devices on them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "backend/load/loader.h"
#include "tenon/abi/plugin.h"

namespace tenon {

// Whether a name of a device stands for the best that there is: "auto", "tpu". No backend can have it.
inline bool is_choice(std::string_view device) { return device == "auto" || device == "tpu"; }

// What the backend says of `spec` ("" = default), range-checked. kUnavailable: there are none here.
Result<std::vector<UnitInfo>> enumerate_units(const LoadedBackend& backend, const std::string& spec);

// The same in two steps: what it says, and what that means.
Result<std::vector<tenon_unit>> raw_units(const LoadedBackend& backend, const std::string& spec);
Result<std::vector<UnitInfo>> describe_units(const std::string& backend, const std::vector<tenon_unit>& units);

// What an open device tells of itself, in printable lines; empty where the backend does not tell.
DeviceFacts facts_of(const tenon_backend& backend, tenon_device* device, const std::string& name);

// Opens the units of `spec` that belong to the domain of the first, and closes them again.
Result<DeviceFacts> try_to_open(const LoadedBackend& backend, const std::string& spec,
                                const std::vector<tenon_unit>& units);

// Opens the units of `spec` that belong to the domain of the first, as one device.
Result<std::shared_ptr<Device>> open_units(const LoadedBackend& backend, const std::string& spec);

}  // namespace tenon

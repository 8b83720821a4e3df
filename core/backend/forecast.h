// The extension "tenon.forecast" (tenon/abi/forecast.h) as the core sees it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/device.h"
#include "tenon/predicted_step.h"

namespace tenon {

// Whether programs of the device can be asked. Those that are only asked, never run, are compiled with
// ProgramOptions::forecast_only.
bool offers_forecast(const Device& device);

// Names and ops of the kernels are left empty: the backend knows nodes by number. REQUIRED: offers_forecast.
Result<PredictedStep> forecast(const Device& device, const Program& program);

// What the backend lists for a spec beside units.
struct LoadedBackend;
std::vector<std::string> beside_units(const LoadedBackend& backend, const std::string& spec);

// The machines of the backend of that name; empty when it offers no forecast. Loads it.
Result<std::vector<std::string>> forecast_machines(std::string_view backend);
std::vector<std::string> forecast_machines(const LoadedBackend& backend);

}  // namespace tenon

// What would make a step faster or smaller, as lines for a user.
#pragma once

#include <string>

#include "forecast/step_forecast.h"

namespace tpu {

// What would lift the bottleneck, and how much of the matrix unit's work is padding.
std::string advice(const Machine& machine, const Forecast& forecast);

}  // namespace tpu

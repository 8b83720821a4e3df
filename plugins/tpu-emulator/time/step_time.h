// From kernels to a step: the device, what feeds it, what the host adds.
#pragma once

#include "forecast/step_forecast.h"

namespace tpu {

// Fills everything of `forecast` but its kernels, which have their order and their times, and its memory.
void time_step(const tenon::plugin::GraphView& graph, const Machine& machine, const ForecastOptions& options,
               Forecast& forecast);

}  // namespace tpu

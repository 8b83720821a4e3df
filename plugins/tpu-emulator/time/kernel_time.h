// How long a kernel takes: the slowest of matrix units, vector unit and memory, and its launch.
#pragma once

#include "forecast/step_forecast.h"
#include "time/fusion.h"

namespace tpu {

// Everything of a Kernel but start_s.
Kernel time_kernel(const StepGraph& program, const FusedKernel& fused, const Machine& machine);

}  // namespace tpu

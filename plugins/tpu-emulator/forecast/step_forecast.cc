#include "forecast/step_forecast.h"

#include "machine/pieces.h"
#include "memory_plan.h"
#include "time/fusion.h"
#include "time/kernel_time.h"
#include "time/schedule.h"
#include "time/step_time.h"

namespace tpu {

using tenon::plugin::GraphView;

const char* bound_name(Bound bound) {
  switch (bound) {
    case Bound::kMatrixUnit:
      return "matrix unit";
    case Bound::kVectorUnit:
      return "vector unit";
    case Bound::kMemory:
      return "HBM";
    case Bound::kLaunch:
      return "launch";
    case Bound::kInterconnect:
      return "interconnect";
  }
  return "";
}

Forecast forecast(const GraphView& graph, const Machine& machine, const ForecastOptions& options) {
  StepGraph program = lower(graph);
  const std::vector<FusedKernel> fused = fuse(program);
  Forecast out;
  for (uint32_t k : schedule(program, fused)) out.kernels.push_back(time_kernel(program, fused[k], machine));
  time_step(graph, machine, options, out);
  out.memory = plan_memory(program, out.kernels, machine);
  out.layouts = std::move(program.layouts);
  return out;
}

}  // namespace tpu

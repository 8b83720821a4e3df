// The text with which a TPU's compiler says that memory is not enough.
#pragma once

#include <string>

#include "forecast/step_forecast.h"

namespace tpu {

// "1.50G", "528.00M", "4.0K", "12B": sizes as XLA writes them.
std::string size_text(uint64_t bytes);

// REQUIRED: !plan.fits().
std::string out_of_memory_text(const tenon::plugin::GraphView& graph, const MemoryPlan& plan);

}  // namespace tpu

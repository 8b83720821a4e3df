// The update of ScheduleFreeAdamW.
#pragma once

#include "tenon/optimizers.h"

namespace tenon {

// Throws Error where an option of its own has no meaning.
void check_schedule_free(const ScheduleFreeAdamWOptions& options);
void update_schedule_free(const ScheduleFreeAdamWOptions& options, Update& update);

}  // namespace tenon

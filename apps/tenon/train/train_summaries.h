// What `tenon train` writes for TensorBoard beside the Estimator: hyperparameters, the device, times of epochs and
// histograms of weights.
#pragma once

#include "command.h"
#include "tenon/callbacks.h"

namespace tenon::runner {

// Declares --save_summary_steps and --histograms.
void add_summary_flags(Flags& flags);

// `hooks` with those that write; as they are where no summaries are wanted. `steps_of_epoch` may be a fraction.
Callbacks with_summaries(const Flags& flags, Callbacks hooks, const Params& params, double steps_of_epoch);

}  // namespace tenon::runner

// Weights of a file that evaluation and prediction take in place of a checkpoint's, as training begins with them.
#pragma once

#include <optional>

#include "model/model_run.h"

namespace tenon::runner {

// --weights and --rules; --checkpoint, to which --weights is the other way.
void add_weights_flags(Flags& flags);
// What they ask for; none: the checkpoint's. Throws UsageError where they exclude each other.
std::optional<WarmStartSettings> weights_of(const Flags& flags);
// Whether flags say where weights come from; without, --model_dir has to.
bool names_weights(const Flags& flags);
// An Estimator of the model with these weights.
Estimator estimator_with_weights(const ModelRun& model, const Flags& flags);
// The step that they are of; 0 of weights alone.
int64_t step_of_weights(const Flags& flags, const Estimator& estimator);

}  // namespace tenon::runner

// Which models `tenon serve` has, as its flags say.
#pragma once

#include <string>
#include <vector>

#include "flags.h"
#include "server/models/model_versions.h"

namespace tenon::runner {

// Of --model NAME=DIR, and of words that look so, with --versions, --version_labels and --canary. Throws UsageError.
std::vector<server::ModelConfig> served_models_of(const Flags& flags, const std::vector<std::string>& words);

}  // namespace tenon::runner

// Which models `tenon serve` has, as its flags say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flags.h"
#include "server/models/model_versions.h"

namespace tenon::runner {

// NAME and DIR of a flag's NAME=DIR. Throws UsageError.
std::pair<std::string, std::string> named_directory(const std::string& flag, const std::string& text);

// Reads --model NAME=DIR, and words that look so, with --versions, --version_labels and --canary. Throws UsageError.
std::vector<server::ModelConfig> served_models_of(const Flags& flags, const std::vector<std::string>& words);

}  // namespace tenon::runner

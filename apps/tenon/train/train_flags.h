// The flags of tenon train.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace tenon::runner {

void declare_train(Flags& flags, const std::vector<std::string>& words);
// Throws UsageError for flags about what is not done: without --model_dir nothing is kept, with --noevaluate nothing evaluated.
void expect_effects(const Flags& flags);

}  // namespace tenon::runner

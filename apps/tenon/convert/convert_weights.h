// tenon convert weights FILE OUTPUT.
#pragma once

#include <string>
#include <vector>

#include "flags.h"

namespace tenon::runner {

bool is_weights(const std::vector<std::string>& words);
void declare_convert_weights(Flags& flags);
int convert_weights(const Flags& flags, const std::vector<std::string>& words);

}  // namespace tenon::runner

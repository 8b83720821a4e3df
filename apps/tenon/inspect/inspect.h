// The parts of `tenon inspect`, each printing text or JSON and returning the exit code.
#pragma once

#include "command.h"

namespace tenon::runner {

int inspect_records(const Flags& flags, const std::vector<std::string>& files);
int inspect_checkpoint(const Flags& flags, const std::string& path);
int inspect_ops(const Flags& flags, const std::vector<std::string>& names);

}  // namespace tenon::runner

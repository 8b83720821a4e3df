// The lines of a text file.
#pragma once

#include <string>
#include <vector>

namespace tenon::runner {

using TextLines = std::vector<std::string>;

// All of them, the empty ones too; a byte order mark and CRs at their ends are no part of them. Throws Error.
TextLines read_lines(const std::string& path);

}  // namespace tenon::runner

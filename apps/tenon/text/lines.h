// The lines of a text file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::runner {

using TextLines = std::vector<std::string>;

// All of them, the empty ones too; a byte order mark and CRs at their ends are no part of them. Throws Error.
TextLines read_lines(const std::string& path);

// What a message about a line begins with: "FILE:3: ", or of no file "line 3: "; of no line (0) nothing.
std::string place_of_line(const std::string& path, int64_t number);

}  // namespace tenon::runner

// Made-up lines of text, for benchmarks of the input.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::runner {

constexpr int64_t kLongestLine = 255;  // bytes

// So many lines of 8 to kLongestLine bytes, most of them short, as the file "lines.txt" of a directory, which is made; a file that is
// there is left as it is.
void write_lines(const std::string& directory, int64_t count);

}  // namespace tenon::runner

#include "base/tell.h"

#include <cstdio>
#include <string>

namespace tenon {

void tell(std::string_view line, Lines lines) { std::fprintf(stderr, "%s\n", terminal_text(line, lines).c_str()); }

}  // namespace tenon

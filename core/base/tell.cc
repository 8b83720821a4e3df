#include "base/tell.h"

#include <cstdio>
#include <string>

#include "tenon/processes.h"

namespace tenon {

// What holds of a job is said once.
void tell(std::string_view line, Lines lines) {
  if (is_first_process()) std::fprintf(stderr, "%s\n", terminal_text(line, lines).c_str());
}

}  // namespace tenon

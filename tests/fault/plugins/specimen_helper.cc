// What a backend may need beside it. Leaves a mark as the specimen does.
#include <cstdio>
#include <cstdlib>

int specimen_helper() { return 7; }

namespace {

__attribute__((constructor)) void mark_helper() {
  const char* mark = std::getenv("TENON_SPECIMEN_MARK");
  std::FILE* file = mark ? std::fopen(mark, "a") : nullptr;
  if (file) std::fputs("helper\n", file), std::fclose(file);
}

}  // namespace

// Preloaded into the runner. TEST_THREADS=N: the system gives N more threads, then none. TEST_NO_CGROUPS=1: what says in
// which cgroup the process is cannot be opened, as if nothing looked there.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/thread_limit.h"

namespace {

__attribute__((constructor)) void take_limits() {
  if (const char* threads = getenv("TEST_THREADS")) tenon::test::threads_left = atoi(threads);
}

FILE* open_unless_hidden(const char* name, const char* path, const char* mode) {
  if (getenv("TEST_NO_CGROUPS") && strcmp(path, "/proc/self/cgroup") == 0) return errno = ENOENT, nullptr;
  if (getenv("TEST_NO_CGROUPS") && strcmp(path, "/proc/self/mountinfo") == 0) return errno = ENOENT, nullptr;
  using Open = FILE* (*)(const char*, const char*);
  return reinterpret_cast<Open>(dlsym(RTLD_NEXT, name))(path, mode);
}

}  // namespace

#define SEEN __attribute__((visibility("default")))
extern "C" SEEN FILE* fopen(const char* path, const char* mode) { return open_unless_hidden("fopen", path, mode); }
extern "C" SEEN FILE* fopen64(const char* path, const char* mode) { return open_unless_hidden("fopen64", path, mode); }

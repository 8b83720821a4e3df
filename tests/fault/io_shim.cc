// Preloaded into a program: kills it before, or fails, the n-th of its calls that change files.
//   IO_SHIM="kill N" | "fail N ERRNO" | "fill N ERRNO" (the n-th and all after it) | "count 0"   N from 0
//   IO_SHIM_COUNT=FILE    gets how many there were, when the program ends by itself
//   IO_SHIM_SPLIT=1       the negative control: exchanging two directories is three renames, each a call of its own
// What goes to the standard files is not counted.
#undef _FORTIFY_SOURCE
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

// Not <fcntl.h>: it declares open() in ways that a definition cannot follow everywhere.
namespace {

constexpr int kAtCwd = -100, kCreate = 0100;
constexpr unsigned kExchange = 2;

struct Plan {
  char action[8] = "count";
  long at = 0;
  int error = 0;
  long seen = 0;
  bool active = false;

  Plan() {
    if (const char* text = std::getenv("IO_SHIM")) active = std::sscanf(text, "%7s %ld %d", action, &at, &error) >= 2;
  }
  ~Plan() {
    const char* path = std::getenv("IO_SHIM_COUNT");
    if (!active || !path) return;
    active = false;
    if (std::FILE* file = std::fopen(path, "w")) {
      std::fprintf(file, "%ld\n", seen);
      std::fclose(file);
    }
  }
};
Plan plan;

// Whether this call is to fail; does not return where it is to be the last.
bool fails() {
  if (!plan.active) return false;
  const long index = plan.seen++;
  if (std::strcmp(plan.action, "kill") == 0 && index == plan.at) ::syscall(SYS_kill, ::getpid(), SIGKILL);
  const bool fill = std::strcmp(plan.action, "fill") == 0 && index > plan.at;
  if (!fill && (std::strcmp(plan.action, "kill") == 0 || std::strcmp(plan.action, "count") == 0 || index != plan.at))
    return false;
  errno = plan.error;
  return true;
}

template <class... Args>
long call(long number, Args... args) {
  return fails() ? -1 : ::syscall(number, args...);
}

int open_file(int directory, const char* path, int flags, unsigned mode) {
  if ((flags & kCreate) && fails()) return -1;
  return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode));
}

int exchange_in_steps(const char* a, const char* b) {
  char aside[4096];
  std::snprintf(aside, sizeof aside, "%s.aside", a);
  if (call(SYS_rename, a, aside) != 0 || call(SYS_rename, b, a) != 0) return -1;
  return static_cast<int>(call(SYS_rename, aside, b));
}

}  // namespace

extern "C" {

#define SEEN __attribute__((visibility("default")))

SEEN int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & kCreate) ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return open_file(kAtCwd, path, flags, mode);
}
SEEN int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & kCreate) ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  return open_file(directory, path, flags, mode);
}
SEEN ssize_t write(int fd, const void* data, size_t bytes) {
  if (fd <= STDERR_FILENO) return ::syscall(SYS_write, fd, data, bytes);
  return call(SYS_write, fd, data, bytes);
}
SEEN ssize_t pwrite(int fd, const void* data, size_t bytes, off_t at) {
  return call(SYS_pwrite64, fd, data, bytes, at);
}
SEEN int fsync(int fd) { return static_cast<int>(call(SYS_fsync, fd)); }
SEEN int ftruncate(int fd, off_t length) noexcept { return static_cast<int>(call(SYS_ftruncate, fd, length)); }
SEEN int rename(const char* from, const char* to) noexcept { return static_cast<int>(call(SYS_rename, from, to)); }
SEEN int renameat2(int a, const char* from, int b, const char* to, unsigned flags) noexcept {
  if (flags == kExchange && std::getenv("IO_SHIM_SPLIT")) return exchange_in_steps(from, to);
  return static_cast<int>(call(SYS_renameat2, a, from, b, to, flags));
}
SEEN int link(const char* from, const char* to) noexcept { return static_cast<int>(call(SYS_link, from, to)); }
SEEN int unlink(const char* path) noexcept { return static_cast<int>(call(SYS_unlink, path)); }
SEEN int unlinkat(int directory, const char* path, int flags) noexcept {
  return static_cast<int>(call(SYS_unlinkat, directory, path, flags));
}
SEEN int mkdir(const char* path, mode_t mode) noexcept { return static_cast<int>(call(SYS_mkdir, path, mode)); }
SEEN int rmdir(const char* path) noexcept { return static_cast<int>(call(SYS_rmdir, path)); }
SEEN int chmod(const char* path, mode_t mode) noexcept { return static_cast<int>(call(SYS_chmod, path, mode)); }

#undef SEEN
}

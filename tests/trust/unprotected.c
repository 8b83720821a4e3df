// Preloaded by the controls of rows: takes protections away from a program that has them.
//   TRUST_IN_PLACE=1    files that are made as .NAME.tmp-* and renamed are written in place instead
//   TRUST_NO_LOCKS=1    every lock is granted
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define AT_CWD (-100)
#define CREATE 0100
#define EXCLUSIVE 0200

// DIR/NAME for DIR/.NAME.tmp-17-0; 0 where that is not so, or files are not to be written in place.
static int in_place(const char* path, char* out, size_t size) {
  const char* slash = strrchr(path, '/');
  const char* mark = slash ? strstr(slash, ".tmp-") : 0;
  if (!getenv("TRUST_IN_PLACE") || !mark || slash[1] != '.' || (size_t)(mark - path) >= size) return 0;
  const size_t directory = (size_t)(slash + 1 - path);
  memcpy(out, path, directory);
  memcpy(out + directory, slash + 2, (size_t)(mark - slash - 2));
  out[mark - path - 1] = 0;
  return 1;
}

// What is opened in place loses its bytes at the first write: some only ask whether a file could be made, and remove it.
enum { MOST = 1024 };
static char to_empty[MOST];

int open(const char* path, int flags, ...) {
  char place[4096];
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = flags & CREATE ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  const int found = in_place(path, place, sizeof place);
  if (found) {
    path = place;
    flags &= ~EXCLUSIVE;
  }
  const int fd = (int)syscall(SYS_openat, AT_CWD, path, flags, mode);
  if (fd >= 0 && fd < MOST) to_empty[fd] = (char)found;
  return fd;
}
int open64(const char* path, int flags, ...) __attribute__((alias("open")));

ssize_t write(int fd, const void* bytes, size_t size) {
  if (fd >= 0 && fd < MOST && to_empty[fd]) {
    to_empty[fd] = 0;
    syscall(SYS_ftruncate, fd, 0L);
  }
  return syscall(SYS_write, fd, bytes, size);
}

int rename(const char* from, const char* to) {
  char place[4096];
  return in_place(from, place, sizeof place) ? 0 : (int)syscall(SYS_rename, from, to);
}

int unlink(const char* path) {
  char place[4096];
  if (!in_place(path, place, sizeof place)) return (int)syscall(SYS_unlink, path);
  const int fd = (int)syscall(SYS_openat, AT_CWD, place, 0);
  const int empty = fd >= 0 && lseek(fd, 0, SEEK_END) == 0;
  if (fd >= 0) syscall(SYS_close, fd);
  return empty ? (int)syscall(SYS_unlink, place) : 0;
}

int flock(int fd, int operation) { return getenv("TRUST_NO_LOCKS") ? 0 : (int)syscall(SYS_flock, fd, operation); }

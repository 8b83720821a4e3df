// What every system call on files needs. Inside of core/base.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

namespace tenon {

constexpr size_t kMaxTransfer = 1u << 30;  // one system call; Linux moves at most 2 GiB

// Repeats a system call that a signal interrupted.
template <class Call>
auto retry(Call call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

// Never one of the three numbers that a program prints to: where they were closed, a file that took one would get the
// program's messages in between its own bytes.
inline int open_retry(const char* path, int flags, mode_t mode = 0) {
  int fd = retry([&] { return ::open(path, flags | O_CLOEXEC, mode); });
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
  ::close(fd);
  errno = error;
  return high;
}

inline std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

inline std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace tenon

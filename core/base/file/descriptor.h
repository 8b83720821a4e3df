// System calls on files, in a way that nobody sees an interrupted one, or a transfer that was cut short. Errors are errno's.
// core/base/file/file.h is what most of core reads and writes with; this is for what that cannot say.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// Owns a descriptor, or none. Movable; one thread at a time changes it.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }  // -1: none
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void close() {
    if (fd_ >= 0) ::close(release());
  }

 private:
  int fd_ = -1;
};

// Takes `fd`, or in its place a number that is none of the three that a program prints to: where they were closed, a file
// that took one would get the program's messages in between its own bytes.
Descriptor above_standard_streams(int fd);

// Both are closed where another program is begun, and above the standard streams. `name` is below `directory`.
Descriptor open_file(const std::string& path, int flags, unsigned mode = 0);
Descriptor open_at(const Descriptor& directory, const std::string& name, int flags, unsigned mode = 0);

// A file without a name on the disk of `directory`, for reading and writing: it is gone when it is closed.
Descriptor nameless_file(const std::string& directory);
// $TMPDIR where that is an absolute path, else /var/tmp, which is on a disk: for much that need not outlive the process.
std::string temporary_directory();

// All of the bytes, or false. Allocate nothing.
bool write_fully(int fd, const void* data, size_t bytes);
bool read_fully(int fd, void* out, size_t bytes);  // false where the file ends before

// What is in a directory that was opened for this, in no order, without . and .. ; nothing when it cannot be read.
std::optional<std::vector<std::string>> names_in(Descriptor directory);

}  // namespace tenon

#include "base/file/descriptor.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace tenon {

Descriptor above_standard_streams(int fd) {
  Descriptor low(fd);
  if (fd < 0 || fd > STDERR_FILENO) return low;
  Descriptor high(::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const int error = errno;
  low.close();
  errno = error;
  return high;
}

Descriptor open_file(const std::string& path, int flags, unsigned mode) {
  return above_standard_streams(retry([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

Descriptor open_at(const Descriptor& directory, const std::string& name, int flags, unsigned mode) {
  return above_standard_streams(
      retry([&] { return ::openat(directory.get(), name.c_str(), flags | O_CLOEXEC, mode); }));
}

// Not every file system has files without names; there it has one for a moment.
Descriptor nameless_file(const std::string& directory) {
  Descriptor file = open_file(directory, O_TMPFILE | O_RDWR, 0600);
  if (file || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return file;
  std::string name = directory + "/.tenon-XXXXXX";
  file = above_standard_streams(::mkostemp(name.data(), O_CLOEXEC));
  if (file) (void)::unlink(name.c_str());
  return file;
}

std::string temporary_directory() {
  const char* directory = ::secure_getenv("TMPDIR");
  return directory && *directory == '/' ? directory : "/var/tmp";
}

bool write_fully(int fd, const void* data, size_t bytes) {
  for (const char* from = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t n = retry([&] { return ::write(fd, from, std::min(bytes, kMaxTransfer)); });
    if (n == 0) errno = ENOSPC;
    if (n <= 0) return false;
    from += n, bytes -= static_cast<size_t>(n);
  }
  return true;
}

bool read_fully(int fd, void* out, size_t bytes) {
  for (char* to = static_cast<char*>(out); bytes > 0;) {
    const ssize_t n = retry([&] { return ::read(fd, to, std::min(bytes, kMaxTransfer)); });
    if (n <= 0) return false;
    to += n, bytes -= static_cast<size_t>(n);
  }
  return true;
}

std::optional<std::vector<std::string>> names_in(Descriptor directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> list(directory ? ::fdopendir(directory.get()) : nullptr, ::closedir);
  if (!list) return {};
  (void)directory.release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  if (errno != 0) return {};
  return names;
}

}  // namespace tenon

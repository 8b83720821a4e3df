#include "base/file/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/file/descriptor.h"
#include "base/room.h"
#include "base/strings.h"

namespace tenon {
namespace {

std::string reason(int error) {
  char text[128];
  return ::strerror_r(error, text, sizeof text);  // GNU: returns the text, thread safe
}

Status check_regular(const std::string& path, const struct stat& info) {
  if (S_ISREG(info.st_mode)) return {};
  return invalid("cannot read '", path, "': expected a regular file, found ",
                 S_ISDIR(info.st_mode) ? "a directory" : "a device or pipe");
}

}  // namespace

Status file_error(std::string_view what, const std::string& path, int error) {
  const bool caller = error == ENOENT || error == ENOTDIR || error == EISDIR || error == EACCES || error == EINVAL ||
                      error == ENAMETOOLONG || error == ELOOP;
  return Status(error == ENOMEM ? Code::kOutOfMemory
                : caller        ? Code::kInvalid
                                : Code::kUnavailable,
                cat(what, " '", path, "': ", reason(error)));
}

Status check_path(const std::string& path) {
  if (path.size() < PATH_MAX && path.find('\0') == std::string::npos) return {};
  if (path.size() >= PATH_MAX)
    return invalid("path '", abbreviated(path), "': expected at most ", PATH_MAX - 1, " bytes, found ", path.size());
  return invalid("path '", path.c_str(), "': expected a name, found a NUL behind these ", path.find('\0'), " of ",
                 path.size(), " bytes");
}

Result<int64_t> file_bytes(const std::string& path) {
  TENON_TRY(check_path(path));
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return file_error("cannot open", path, errno);
  TENON_TRY(check_regular(path, info));
  return int64_t{info.st_size};
}

Result<File> File::open(const std::string& path) {
  TENON_TRY(check_path(path));
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  Descriptor opened = open_file(path, O_RDONLY | O_NONBLOCK);
  if (!opened) return file_error("cannot open", path, errno);
  return of(std::move(opened), path);
}

Result<File> File::of(Descriptor descriptor, const std::string& path) {
  File file(path, descriptor.release(), 0);
  struct stat info;
  if (::fstat(file.fd_, &info) != 0) return file_error("cannot inspect", path, errno);
  TENON_TRY(check_regular(path, info));
  file.size_ = info.st_size;
  return file;
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<size_t> File::read_at(int64_t offset, void* out, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t n = retry([&] {
      return ::pread(fd_, static_cast<char*>(out) + done, std::min(bytes - done, kMaxTransfer),
                     offset + static_cast<int64_t>(done));
    });
    if (n < 0) return file_error("cannot read", path_, errno);
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

Status File::read_exactly_at(int64_t offset, void* out, size_t bytes) const {
  TENON_ASSIGN(const size_t done, read_at(offset, out, bytes));
  if (done == bytes) return {};
  return invalid("'", path_, "' at byte ", offset, ": expected ", bytes, " bytes, the file ends after ", done);
}

void File::advise_sequential() const { (void)::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL); }

void File::advise_ahead(int64_t offset, int64_t bytes) const {
  (void)::posix_fadvise(fd_, offset, bytes, POSIX_FADV_WILLNEED);
}

Status sync_directory(const std::string& directory) {
  const Descriptor opened = open_file(directory, O_RDONLY | O_DIRECTORY);
  if (!opened) return file_error("cannot open directory", directory, errno);
  const int failed = retry([&] { return ::fsync(opened.get()); }) != 0 ? errno : 0;
  // Some file systems have no fsync for directories and say so with EINVAL.
  if (failed != 0 && failed != EINVAL) return file_error("cannot sync directory", directory, failed);
  return {};
}

Result<std::string> read_file(const std::string& path, int64_t max_bytes) {
  TENON_ASSIGN(const File file, File::open(path));
  if (file.size() > max_bytes)
    return invalid("cannot read '", path, "': expected at most ", max_bytes, " bytes, found ", file.size());
  if (const Status room = take_room(static_cast<uint64_t>(file.size()), "it"); !room.ok())
    return Status(room.code(), cat("cannot read '", path, "': ", room.message()));
  std::string contents(static_cast<size_t>(file.size()), '\0');
  TENON_TRY(file.read_exactly_at(0, contents.data(), contents.size()));
  return contents;
}

}  // namespace tenon

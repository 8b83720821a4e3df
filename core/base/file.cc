#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace tenon {
namespace {

constexpr size_t kGather = 256 << 10;      // small writes are gathered up to this
constexpr size_t kMaxTransfer = 1u << 30;  // one system call; Linux moves at most 2 GiB

// Repeats a system call that a signal interrupted.
template <class Call>
auto retry(Call call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

int open_retry(const char* path, int flags, mode_t mode = 0) {
  return retry([&] { return ::open(path, flags | O_CLOEXEC, mode); });
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string temporary_name(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  return cat(directory_of(path), "/.", name_of(path), ".tmp-", static_cast<int64_t>(::getpid()), "-", counter++);
}

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
  const int fd = open_retry(path.c_str(), O_RDONLY | O_NONBLOCK);
  if (fd < 0) return file_error("cannot open", path, errno);
  File file(path, fd, 0);
  struct stat info;
  if (::fstat(fd, &info) != 0) return file_error("cannot inspect", path, errno);
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

AtomicFile::AtomicFile(std::string path, std::string temporary, int fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  TENON_TRY(check_path(path));
  if (name_of(path).empty()) return invalid("cannot write '", path, "': expected the name of a file");
  for (;;) {
    std::string temporary = temporary_name(path);
    const int fd = open_retry(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd >= 0) return AtomicFile(path, std::move(temporary), fd);
    if (errno != EEXIST) return file_error("cannot create", path, errno);
  }
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)),
      bytes_(other.bytes_),
      gathered_(std::move(other.gathered_)),
      failed_(std::move(other.failed_)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_, other.temporary_);
  std::swap(fd_, other.fd_);
  std::swap(bytes_, other.bytes_);
  std::swap(gathered_, other.gathered_);
  std::swap(failed_, other.failed_);
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

// What has failed once is not tried again: after a failed fsync nobody knows what is on the disk.
Status AtomicFile::fail_with(std::string_view what, int error) {
  failed_ = file_error(what, path_, error);
  discard();
  return failed_;
}

Status AtomicFile::write_out(const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = retry([&] { return ::write(fd_, data, std::min(bytes, kMaxTransfer)); });
    if (n < 0) return fail_with("cannot write", errno);
    if (n == 0) return fail_with("cannot write", ENOSPC);
    data += n;
    bytes -= static_cast<size_t>(n);
  }
  return {};
}

Status AtomicFile::write(const void* data, size_t bytes) {
  TENON_TRY(failed_);
  if (fd_ < 0) return Status(Code::kInternal, cat("write to '", path_, "' after it was finished"));
  bytes_ += static_cast<int64_t>(bytes);
  const char* from = static_cast<const char*>(data);
  if (gathered_.size() + bytes <= kGather) {
    gathered_.append(from, bytes);
    return {};
  }
  TENON_TRY(write_out(gathered_.data(), gathered_.size()));
  gathered_.clear();
  if (bytes > kGather) return write_out(from, bytes);
  gathered_.append(from, bytes);
  return {};
}

Status AtomicFile::finish() {
  TENON_TRY(failed_);
  if (fd_ < 0) return {};
  TENON_TRY(write_out(gathered_.data(), gathered_.size()));
  gathered_ = {};
  if (retry([&] { return ::fsync(fd_); }) != 0) return fail_with("cannot sync", errno);
  // Linux has released the descriptor even when close was interrupted, and the data are synced.
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) return fail_with("cannot close", errno);
  return {};
}

Status AtomicFile::commit() {
  TENON_TRY(finish());
  if (temporary_.empty()) return Status(Code::kInternal, cat("'", path_, "' was committed already"));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return fail_with("cannot rename to", errno);
  temporary_.clear();
  return sync_directory(directory_of(path_));
}

Status sync_directory(const std::string& directory) {
  const int fd = open_retry(directory.c_str(), O_RDONLY | O_DIRECTORY);
  if (fd < 0) return file_error("cannot open directory", directory, errno);
  const int failed = retry([&] { return ::fsync(fd); }) != 0 ? errno : 0;
  ::close(fd);
  // Some file systems have no fsync for directories and say so with EINVAL.
  if (failed != 0 && failed != EINVAL) return file_error("cannot sync directory", directory, failed);
  return {};
}

Status atomic_write(const std::string& path, const std::function<Status(AtomicFile&)>& writer) {
  TENON_ASSIGN(AtomicFile file, AtomicFile::create(path));
  TENON_TRY(writer(file));
  return file.commit();
}

Status atomic_write(const std::string& path, std::string_view contents) {
  return atomic_write(path, [&](AtomicFile& file) { return file.write(contents); });
}

Result<std::string> read_file(const std::string& path, int64_t max_bytes) {
  TENON_ASSIGN(const File file, File::open(path));
  if (file.size() > max_bytes)
    return invalid("cannot read '", path, "': expected at most ", max_bytes, " bytes, found ", file.size());
  std::string contents(static_cast<size_t>(file.size()), '\0');
  TENON_TRY(file.read_exactly_at(0, contents.data(), contents.size()));
  return contents;
}

}  // namespace tenon

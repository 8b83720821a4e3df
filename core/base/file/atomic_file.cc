#include "tenon/atomic_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cstdio>
#include <utility>

#include "base/file/descriptor.h"
#include "base/file/file.h"
#include "base/strings.h"

namespace tenon {

// Where a path leads, and what is there.
struct AtomicFile::Target {
  std::string path;
  bool exists = false;
  bool is_open_already = false;  // what /proc names: a descriptor, not a name
  struct stat info {};

  bool can_be_replaced() const { return !is_open_already && (!exists || S_ISREG(info.st_mode)); }
};

namespace {

constexpr size_t kGather = 256 << 10;  // small writes are gathered up to this
constexpr int kMaxLinks = 40;          // as many as Linux follows
constexpr size_t kMaxName = 200;       // of a name in its temporary's, which has 255 bytes at most
constexpr std::string_view kTemporary = ".tmp-";

// Nobody can lay a file or a link in its way beforehand.
std::string temporary_name(const std::string& path) {
  uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) < 0) random = reinterpret_cast<uintptr_t>(&random);
  char suffix[24];
  std::snprintf(suffix, sizeof suffix, "%016llx", static_cast<unsigned long long>(random));
  return cat(directory_of(path), "/.", name_of(path).substr(0, kMaxName), kTemporary, static_cast<int64_t>(::getpid()),
             "-", suffix);
}

// The links there lead to what is open, not to a name.
bool is_on_proc(const std::string& directory) {
  struct statfs info;
  return ::statfs(directory.c_str(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

// Where a link leads, itself; "" when it cannot be read.
std::string followed(const std::string& link) {
  char text[4096];
  const ssize_t n = ::readlink(link.c_str(), text, sizeof text);
  if (n <= 0 || n == sizeof text) return {};
  const std::string to(text, static_cast<size_t>(n));
  return to.starts_with('/') ? to : cat(directory_of(link), "/", to);
}

// A new file has the mode that the process gives; one in the place of another has that one's, and its owner if it may.
void take_over(int fd, const struct stat& old) {
  struct stat now;
  if (::fstat(fd, &now) == 0 && (now.st_uid != old.st_uid || now.st_gid != old.st_gid))
    if (::fchown(fd, old.st_uid, old.st_gid) != 0) return (void)::fchmod(fd, old.st_mode & 0777);
  (void)::fchmod(fd, old.st_mode & 07777);
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string target, std::string temporary, int fd)
    : path_(std::move(path)), target_(std::move(target)), temporary_(std::move(temporary)), fd_(fd) {}

Result<AtomicFile::Target> AtomicFile::target_of(const std::string& path) {
  TENON_TRY(check_path(path));
  Target target{path};
  for (int links = 0;; ++links) {
    target.exists = ::lstat(target.path.c_str(), &target.info) == 0;
    if (!target.exists || !S_ISLNK(target.info.st_mode)) break;
    target.is_open_already = is_on_proc(directory_of(target.path));
    if (target.is_open_already) return target;
    target.path = followed(target.path);
    if (target.path.empty() || links == kMaxLinks) return file_error("cannot write", path, ELOOP);
  }
  if (target.exists && S_ISDIR(target.info.st_mode)) return file_error("cannot write", path, EISDIR);
  if (name_of(target.path).empty()) return invalid("cannot write '", path, "': expected the name of a file");
  return target;
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  TENON_ASSIGN(Target target, target_of(path));
  if (!target.can_be_replaced())
    return invalid("cannot write '", path, "': expected a regular file, found a pipe, a device or a socket");
  return beside(path, std::move(target));
}

Result<AtomicFile> AtomicFile::create_or_write(const std::string& path) {
  TENON_ASSIGN(Target target, target_of(path));
  return target.can_be_replaced() ? beside(path, std::move(target)) : in_place(path, target);
}

Result<AtomicFile> AtomicFile::beside(const std::string& path, Target target) {
  if (target.exists && ::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0)
    return file_error("cannot write", path, errno);
  for (;;) {
    std::string temporary = temporary_name(target.path);
    Descriptor file = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (!file && errno == EEXIST) continue;
    if (!file) return file_error("cannot create", path, errno);
    if (target.exists) take_over(file.get(), target.info);
    return AtomicFile(path, std::move(target.path), std::move(temporary), file.release());
  }
}

// At its end, where it is a file that others have open.
Result<AtomicFile> AtomicFile::in_place(const std::string& path, const Target& target) {
  Descriptor file = open_file(target.path, O_WRONLY | O_APPEND | O_NOCTTY);
  if (!file) return file_error("cannot write", path, errno);
  return AtomicFile(path, "", "", file.release());
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      fd_(std::exchange(other.fd_, -1)),
      bytes_(other.bytes_),
      gathered_(std::move(other.gathered_)),
      failed_(std::move(other.failed_)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(target_, other.target_);
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
  return write_fully(fd_, data, bytes) ? Status() : fail_with("cannot write", errno);
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
  if (!target_.empty() && retry([&] { return ::fsync(fd_); }) != 0) return fail_with("cannot sync", errno);
  // Linux has released the descriptor even when close was interrupted, and the data are synced.
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) return fail_with("cannot close", errno);
  return {};
}

Status AtomicFile::commit() {
  TENON_TRY(finish());
  if (target_.empty()) return {};
  if (temporary_.empty()) return Status(Code::kInternal, cat("'", path_, "' was committed already"));
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return fail_with("cannot rename to", errno);
  temporary_.clear();
  return sync_directory(directory_of(target_));
}

std::string_view target_of_temporary(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789", kHexDigits = "0123456789abcdef";
  const size_t mark = name.rfind(kTemporary);
  if (!name.starts_with('.') || mark == std::string_view::npos || mark == 0) return {};
  const std::string_view number = name.substr(mark + kTemporary.size());
  const size_t dash = number.find_first_not_of(kDigits);
  if (dash == 0 || dash == std::string_view::npos || number[dash] != '-' || dash + 1 == number.size()) return {};
  return number.find_first_not_of(kHexDigits, dash + 1) == std::string_view::npos ? name.substr(1, mark - 1)
                                                                                  : std::string_view();
}

Status atomic_write(const std::string& path, const std::function<Status(AtomicFile&)>& writer) {
  TENON_ASSIGN(AtomicFile file, AtomicFile::create(path));
  TENON_TRY(writer(file));
  return file.commit();
}

Status atomic_write(const std::string& path, std::string_view contents) {
  return atomic_write(path, [&](AtomicFile& file) { return file.write(contents); });
}

}  // namespace tenon

#include "base/file/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

#include "base/file/file.h"
#include "base/strings.h"

namespace tenon {
namespace {

constexpr const char* kFile = ".lock";

// The errno, or 0.
int lock_now(int fd) {
  return retry([&] { return ::flock(fd, LOCK_EX | LOCK_NB); }) != 0 ? errno : 0;
}

// What NFS and the like say of a directory, which can only be open for reading.
bool locks_files_only(int error) {
  return error == EBADF || error == EINVAL || error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
}

// Whether that name, of something below `directory`, is still what is open; a link at its end is followed, or not.
bool is_entry(int fd, int directory, const char* name, int flags = AT_SYMLINK_NOFOLLOW) {
  struct stat held, named;
  return ::fstat(fd, &held) == 0 && ::fstatat(directory, name, &named, flags) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return {};
  return name;
}

struct Holder {
  std::string process, host;
};

// "PID HOST" and the line's end, whatever the host calls itself.
bool names_holder(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 20 || digits == text.size() || text[digits] != ' ' || text.back() != '\n') return false;
  text = text.substr(digits + 1, text.size() - digits - 2);
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) <= ' '; });
}

// "PID HOST"; what anything else says is not repeated.
Holder read_holder(int fd) {
  char text[300];
  const ssize_t n = ::pread(fd, text, sizeof text, 0);
  std::string_view found(text, n > 0 ? static_cast<size_t>(n) : 0);
  Holder out;
  out.process = found.substr(0, std::min<size_t>(found.find_first_not_of("0123456789"), 20));
  found.remove_prefix(std::min(found.size(), out.process.size() + 1));
  const auto end = std::find_if_not(found.begin(), found.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
  out.host.assign(found.begin(), end);
  return out;
}

bool is_plain(int fd, struct stat& info) {
  return ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
}

// A file that a lock left or that is new, not one of somebody's own: links, devices and other contents are let alone.
bool is_lock_file(int fd) {
  struct stat info;
  if (!is_plain(fd, info)) return false;
  if (info.st_size == 0) return true;
  char text[300];
  const ssize_t n = ::pread(fd, text, sizeof text, 0);
  return n > 0 && n < 300 && names_holder({text, static_cast<size_t>(n)});
}

Status in_use(const Descriptor& directory, const std::string& name, std::string_view kind, std::string_view user) {
  std::string by;
  const Descriptor file = open_at(directory, kFile, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (struct stat info; file && is_plain(file.get(), info)) {
    const Holder holder = read_holder(file.get());
    if (!holder.process.empty()) by = cat(", process ", holder.process);
    if (!by.empty() && !holder.host.empty() && holder.host != host_name()) append(by, cat(" on ", holder.host));
  }
  return Status(Code::kUnavailable, cat(kind, " '", name, "' is in use by another ", user, by));
}

}  // namespace

Result<DirectoryLock> DirectoryLock::take(const std::string& directory, std::string_view kind, std::string_view user) {
  for (;;) {
    DirectoryLock lock(open_file(directory, O_RDONLY | O_DIRECTORY), directory, kind);
    if (!lock.directory_) return file_error("cannot open directory", directory, errno);
    const int error = lock_now(lock.directory_.get());
    if (error == EWOULDBLOCK) return in_use(lock.directory_, directory, kind, user);
    if (error != 0 && !locks_files_only(error)) return file_error("cannot lock", directory, error);
    if (!is_entry(lock.directory_.get(), AT_FDCWD, directory.c_str(), 0)) continue;
    lock.open_lock_file();
    if (error != 0) {
      TENON_ASSIGN(const bool free, lock.lock_file(directory));
      if (!free) return in_use(lock.directory_, directory, kind, user);
    }
    lock.removes_ = error == 0;
    lock.write_holder();
    return lock;
  }
}

Status DirectoryLock::check() const {
  if (is_entry(directory_.get(), AT_FDCWD, name_.c_str(), 0)) return {};
  return Status(Code::kUnavailable, cat(kind_, " '", name_, "' was renamed or removed while it was in use"));
}

void DirectoryLock::open_lock_file() {
  file_ = open_at(directory_, kFile, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (file_ && !is_lock_file(file_.get())) file_.close();
}

// False when another holds it.
Result<bool> DirectoryLock::lock_file(const std::string& directory) const {
  const std::string path = cat(directory, "/", kFile);
  if (!file_) return invalid("cannot lock '", path, "': expected a file for locks that can be written");
  const int error = lock_now(file_.get());
  if (error != 0 && error != EWOULDBLOCK) return file_error("cannot lock", path, error);
  return error == 0;
}

// Only for the message of one who is refused, so failures do not matter.
void DirectoryLock::write_holder() const {
  if (!file_ || ::ftruncate(file_.get(), 0) != 0) return;
  const std::string text = cat(static_cast<int64_t>(::getpid()), " ", host_name(), "\n");
  if (::pwrite(file_.get(), text.data(), text.size(), 0) < 0) return;
}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(directory_, other.directory_);
  std::swap(name_, other.name_);
  std::swap(kind_, other.kind_);
  std::swap(file_, other.file_);
  std::swap(removes_, other.removes_);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (removes_ && is_entry(file_.get(), directory_.get(), kFile)) ::unlinkat(directory_.get(), kFile, 0);
}

}  // namespace tenon

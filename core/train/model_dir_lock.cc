#include "train/model_dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace tenon {
namespace {

// What the holder wrote, digits only; "" when it has not got that far.
std::string holder(int fd) {
  char text[24];
  const ssize_t n = ::pread(fd, text, sizeof text, 0);
  std::string_view found(text, n > 0 ? static_cast<size_t>(n) : 0);
  return std::string(found.substr(0, found.find_first_not_of("0123456789")));
}

// Only for the message of the one who is refused, so failures do not matter.
void write_holder(int fd) {
  const std::string text = cat(static_cast<int64_t>(::getpid()), "\n");
  if (::ftruncate(fd, 0) == 0 && ::pwrite(fd, text.data(), text.size(), 0) < 0) return;
}

}  // namespace

Result<ModelDirLock> ModelDirLock::acquire(const std::string& model_dir) {
  TENON_TRY(make_directories(model_dir));
  const std::string path = cat(model_dir, "/.lock");
  int fd;
  do fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  while (fd < 0 && errno == EINTR);
  if (fd < 0) return file_error("cannot open", path, errno);
  ModelDirLock lock(fd);
  int failed;
  do failed = ::flock(fd, LOCK_EX | LOCK_NB);
  while (failed != 0 && errno == EINTR);
  if (failed == 0) {
    write_holder(fd);
    return lock;
  }
  if (errno != EWOULDBLOCK) return file_error("cannot lock", path, errno);
  const std::string pid = holder(fd);
  return Status(Code::kUnavailable, cat("model directory '", model_dir, "' is in use by another trainer",
                                        pid.empty() ? "" : ", process ", pid));
}

ModelDirLock::ModelDirLock(ModelDirLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

ModelDirLock& ModelDirLock::operator=(ModelDirLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

ModelDirLock::~ModelDirLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace tenon

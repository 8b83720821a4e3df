#include "backend/conduct.h"

#include <fcntl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>

#include "base/strings.h"

namespace tenon {
namespace {

std::string current_directory() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

// The child itself has started none.
bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

bool has_timer() {
  itimerval timer{};
  return ::getitimer(ITIMER_REAL, &timer) == 0 && (timer.it_value.tv_sec || timer.it_value.tv_usec);
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

}  // namespace

Conduct::Conduct() : directory_(current_directory()) {
  for (int fd = 0; fd < 3; ++fd) open_[fd] = is_open(fd);
}

Status Conduct::check_surroundings(const char* when) const {
  for (int fd = 0; fd < 3; ++fd)
    if (open_[fd] && !is_open(fd)) return Status(Code::kAbi, cat("closed file descriptor ", fd, when));
  if (has_timer()) return Status(Code::kAbi, cat("started a timer", when, ", which would kill this process"));
  if (current_directory() != directory_) return Status(Code::kAbi, cat("changed the current directory", when));
  return {};
}

Status Conduct::check() const {
  if (has_children()) return Status(Code::kAbi, "started a process as it was loaded");
  return check_surroundings(" as it was loaded");
}

Status Conduct::check_after_use() const { return check_surroundings(" as it was first used"); }

bool Conduct::has_threads() {
  std::error_code error;
  const std::filesystem::directory_iterator tasks("/proc/self/task", error);
  return error || std::distance(begin(tasks), end(tasks)) != 1;
}

}  // namespace tenon

// Definitions of libc's names must not meet the fortified inline ones.
#undef _FORTIFY_SOURCE

#include "checkpoint_io_faults.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <utility>

// Not <fcntl.h>: it declares open() in ways that a definition cannot follow everywhere.
#define FAULTS_AT_FDCWD (-100)
#define FAULTS_O_CREAT 0100
#define FAULTS_O_EXCL 0200
#define FAULTS_O_TRUNC 01000
#define FAULTS_O_DIRECTORY 0200000

namespace tenon::faults {
namespace {

bool armed = false;
Plan plan;
int count = 0;
std::string hit_name;
bool recording = false;
std::vector<Event> events_log;
std::map<int, std::string> open_files;
std::map<int, std::string> open_directories;
std::function<void(const char*)> before_open;

[[noreturn]] void die() {
  ::syscall(SYS_kill, ::getpid(), SIGKILL);
  for (;;) ::pause();
}

bool in_place = false;

// Whether the path is that of a temporary, DIR/.NAME.tmp-17-0, and files are written in place. Nothing may be allocated
// before that is known: see note().
bool goes_in_place(const char* path) {
  const char* slash = strrchr(path, '/');
  return in_place && slash && slash[1] == '.' && strstr(slash, ".tmp-");
}

std::string in_place_of(std::string path) { return path.erase(path.rfind(".tmp-")).erase(path.rfind('/') + 1, 1); }

// Whether this call is the one.
bool chosen(const char* name) {
  if (!armed) return false;
  const int index = count++;
  const bool now = plan.action != Action::kCount && (index == plan.at || (plan.and_after && index > plan.at));
  if (now && hit_name.empty()) hit_name = name;
  return now;
}

// True when the call is to return -1 now.
bool fails(const char* name) {
  if (!chosen(name)) return false;
  if (plan.action == Action::kKill || plan.action == Action::kTornKill) die();
  if (plan.action != Action::kFail) return false;
  errno = plan.error;
  return true;
}

bool lies() { return armed && plan.action == Action::kLie && count - 1 == plan.at; }

// Allocates only while recording: tests that fail allocations come through here too.
void note(Event::Kind kind, const char* path, const char* to = "") {
  if (recording) events_log.push_back({kind, path, to});
}

}  // namespace

Armed::Armed(const Plan& p) {
  plan = p;
  count = 0;
  hit_name.clear();
  armed = true;
}
Armed::~Armed() { armed = false; }
int Armed::calls() const { return count; }
std::string Armed::hit() const { return hit_name; }

Recording::Recording() {
  events_log.clear();
  recording = true;
}
Recording::~Recording() { recording = false; }
void Recording::acknowledge(int64_t step) { events_log.push_back({Event::Kind::kAcknowledge, "", "", step}); }
const std::vector<Event>& Recording::events() const { return events_log; }

InPlace::InPlace() { in_place = true; }
InPlace::~InPlace() { in_place = false; }

BeforeOpen::BeforeOpen(std::function<void(const char*)> call) { before_open = std::move(call); }
BeforeOpen::~BeforeOpen() { before_open = nullptr; }

}  // namespace tenon::faults

using namespace tenon::faults;

extern "C" {

__attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const unsigned mode = (flags & FAULTS_O_CREAT) ? va_arg(arguments, unsigned) : 0;
  va_end(arguments);
  if (before_open) {
    const auto call = std::exchange(before_open, nullptr);
    call(path);
    before_open = call;
  }
  if (fails("open")) return -1;
  const bool moved = goes_in_place(path);
  if (moved) flags = (flags & ~FAULTS_O_EXCL) | FAULTS_O_TRUNC;
  const int fd =
      static_cast<int>(syscall(SYS_openat, FAULTS_AT_FDCWD, moved ? in_place_of(path).c_str() : path, flags, mode));
  if (fd >= 0 && recording) {
    if (flags & FAULTS_O_DIRECTORY) {
      open_directories[fd] = path;
    } else if (flags & FAULTS_O_CREAT) {
      open_files[fd] = path;
      note(Event::Kind::kCreate, path);
    }
  }
  return fd;
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void* data, size_t bytes) {
  size_t take = bytes;
  if (chosen("write")) {
    if (plan.action == Action::kKill) die();
    if (plan.action == Action::kFail) return errno = plan.error, -1;
    if (plan.action == Action::kLie) return static_cast<ssize_t>(bytes);
    take = bytes > 1 ? bytes / 2 : bytes;
  }
  const ssize_t n = syscall(SYS_write, fd, data, take);
  if (armed && plan.action == Action::kTornKill && count - 1 == plan.at) die();
  if (n > 0 && recording && open_files.count(fd))
    events_log.push_back(
        {Event::Kind::kWrite, open_files[fd], std::string(static_cast<const char*>(data), static_cast<size_t>(n))});
  return n;
}

__attribute__((visibility("default"))) ssize_t pread(int fd, void* data, size_t bytes, off_t offset) {
  if (fails("pread")) return -1;
  return syscall(SYS_pread64, fd, data, bytes, offset);
}

__attribute__((visibility("default"))) int fsync(int fd) {
  if (fails("fsync")) return -1;
  if (recording && open_files.count(fd)) note(Event::Kind::kSync, open_files[fd].c_str());
  if (recording && open_directories.count(fd)) note(Event::Kind::kSyncDirectory, open_directories[fd].c_str());
  return static_cast<int>(syscall(SYS_fsync, fd));
}

__attribute__((visibility("default"))) int close(int fd) {
  open_files.erase(fd);
  open_directories.erase(fd);
  const bool failed = fails("close");
  const int result = static_cast<int>(syscall(SYS_close, fd));
  if (!failed) return result;
  errno = plan.error;
  return -1;
}

__attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  if (fails("rename")) return -1;
  if (lies() || goes_in_place(from)) return 0;
  const int result = static_cast<int>(syscall(SYS_rename, from, to));
  if (result == 0) note(Event::Kind::kRename, from, to);
  return result;
}

__attribute__((visibility("default"))) int link(const char* from, const char* to) noexcept {
  if (fails("link")) return -1;
  return static_cast<int>(syscall(SYS_link, from, to));
}

__attribute__((visibility("default"))) int unlink(const char* path) noexcept {
  if (fails("unlink")) return -1;
  if (goes_in_place(path)) return 0;
  const int result = static_cast<int>(syscall(SYS_unlink, path));
  if (result == 0) note(Event::Kind::kUnlink, path);
  return result;
}

}  // extern "C"

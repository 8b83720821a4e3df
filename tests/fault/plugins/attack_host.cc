#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "attack.h"
#include "tenon/abi/plugin.h"

namespace tenon::attack {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void host(const std::function<std::string()>& work, int fd) {
  ::setpgid(0, 0);
  for (int s = 1; s < NSIG; ++s) ::signal(s, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);  // plugins print
  ::dup2(null, 1), ::dup2(null, 2);
  std::string text = work();
  text = text.empty() ? "L" : "R" + text;
  if (::write(fd, text.data(), text.size()) < 0) std::_Exit(9);
  std::exit(0);
}

// All that the host says; false when it does not end in time.
bool listen(int fd, std::chrono::milliseconds limit, std::string* out) {
  const auto deadline = Clock::now() + limit;
  char chunk[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd p{fd, POLLIN, 0};
    if (left <= 0 || ::poll(&p, 1, static_cast<int>(left)) == 0) return false;
    const ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n <= 0) return true;
    out->append(chunk, static_cast<size_t>(n));
  }
}

std::string how_it_ended(int status, bool in_time) {
  if (!in_time) return "did not end";
  if (WIFSIGNALED(status)) return std::string("killed by SIG") + ::sigabbrev_np(WTERMSIG(status));
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Outcome on_host(const std::function<std::string()>& work, std::chrono::milliseconds limit) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {Outcome::kLost, "no pipe"};
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    host(work, ends[1]);
  }
  ::close(ends[1]);
  std::string said;
  const bool in_time = listen(ends[0], limit, &said);
  ::close(ends[0]);
  ::kill(-pid, SIGKILL);  // has ended, or never will; and what it started
  if (!in_time) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!in_time || !WIFEXITED(status) || WEXITSTATUS(status) != 0 || said.empty())
    return {Outcome::kLost, how_it_ended(status, in_time)};
  return {said[0] == 'L' ? Outcome::kLoaded : Outcome::kRefused, said.substr(1)};
}

std::string load_unprotected(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return ::dlerror();
  const auto init = reinterpret_cast<decltype(&tenon_backend_init)>(::dlsym(library, "tenon_backend_init"));
  if (!init) return "no symbol";
  static const tenon_host nobody{sizeof(tenon_host)};
  tenon_backend table{};
  table.struct_size = sizeof table;
  const tenon_status status = init(&nobody, &table);
  if (status.code) return std::string("init: ") + status.message;
  if (std::strlen(table.name) + std::strlen(table.version) == 0) return "no name";
  tenon_device* device = nullptr;
  tenon_open open{};
  uint32_t n = 0;
  (void)table.enumerate(table.self, nullptr, nullptr, sizeof(tenon_unit), &n);
  std::vector<tenon_unit> units(n);
  (void)table.enumerate(table.self, nullptr, units.data(), sizeof(tenon_unit), &n);
  if (table.device_open(table.self, &open, &device).code == 0) table.device_close(device);
  return {};
}

std::string specimen_path(const std::string& name) { return std::string(TENON_SPECIMENS) + "/" + name + ".so"; }

std::string specimen_bytes() {
  std::ifstream file(specimen_path("specimen"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace tenon::attack

#include "conformance/suites/run/ambient.h"

#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <cstring>
#include <fstream>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "conformance/host/subject.h"

namespace tenon::conformance {
namespace {

// The mask of file modes: reading it with umask() would set it.
std::string file_mask() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("Umask:", 0) == 0) return line;
  return "";
}

}  // namespace

Ambient::Ambient()
    : modes_(floating_modes()),
      rounding_(std::fegetround()),
      folder_(folder()),
      locale_(locale()),
      umask_(file_mask()),
      environment_(environment()) {
  sigprocmask(SIG_SETMASK, nullptr, &mask_);
  for (int s = 1; s <= 64; ++s) {
    handlers_[s] = {};
    sigaction(s, nullptr, &handlers_[s]);
  }
}

// Control bits alone: flags of past exceptions are nobody's.
unsigned Ambient::floating_modes() {
#if defined(__x86_64__)
  return _mm_getcsr() & 0xFFC0u;
#else
  return 0;
#endif
}

std::string Ambient::folder() {
  char path[4096];
  return getcwd(path, sizeof path) ? path : "";
}

std::string Ambient::locale() {
  const char* name = std::setlocale(LC_ALL, nullptr);
  return name ? name : "";
}

std::vector<std::string> Ambient::environment() {
  std::vector<std::string> out;
  for (char** variable = environ; variable && *variable; ++variable) out.emplace_back(*variable);
  return out;
}

void Ambient::check(const char* entry) const {
  const std::string after = std::string(entry) + " changed ";
  expect(std::fegetround() == rounding_, after + "the rounding mode");
  expect(floating_modes() == modes_, after + "how subnormals or floating-point exceptions are treated");
  expect(folder() == folder_, after + "the current directory");
  expect(locale() == locale_, after + "the locale to " + locale());
  expect(file_mask() == umask_, after + "the umask");
  expect(environment() == environment_, after + "the environment");
  sigset_t mask;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  for (int s = 1; s <= 64; ++s) {
    struct sigaction now {};
    expect(sigismember(&mask, s) == sigismember(&mask_, s),
           after + "whether signal " + std::to_string(s) + " is blocked");
    expect(sigaction(s, nullptr, &now) != 0 || now.sa_sigaction == handlers_[s].sa_sigaction,
           after + "the handler of signal " + std::to_string(s));
  }
}

OddFloatingModes::OddFloatingModes() : rounding_(std::fegetround()) {
  std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
  saved_ = _mm_getcsr();
  _mm_setcsr(saved_ | 0x8040u);
#endif
}

OddFloatingModes::~OddFloatingModes() {
#if defined(__x86_64__)
  _mm_setcsr(saved_);
#endif
  std::fesetround(rounding_);
}

}  // namespace tenon::conformance

#include "specimen.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#ifndef TENON_SPECIMEN_NO_NOTE
#include "tenon/plugin/host_backend.h"
TENON_DECLARE_BACKEND
#endif

#ifdef TENON_SPECIMEN_UNDEFINED
extern "C" void no_library_has_this();
#endif

namespace {

const tenon_host* host = nullptr;

bool is(const char* name) { return std::strcmp(specimen_name(), name) == 0; }

[[gnu::noinline]] int overflow_stack(volatile char* above) {
  volatile char here[4096];
  here[0] = above ? above[0] : 0;
  return here[0] == 1 ? 0 : overflow_stack(here) + here[0];
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

// Not instrumented: it shall crash as it would in a release.
__attribute__((no_sanitize("address", "undefined"))) void misbehave(const char* action) {
  const auto does = [action](const char* a) { return std::strcmp(action, a) == 0; };
  if (does("segfault")) ::raise(SIGSEGV);
  if (does("null")) *static_cast<volatile int*>(nullptr) = 1;
  if (does("bus")) ::raise(SIGBUS);
  if (does("illegal")) __builtin_trap();
  if (does("divide")) ::raise(SIGFPE);
  if (does("abort")) std::abort();
  if (does("overflow")) overflow_stack(nullptr);
  if (does("exit")) std::exit(0);
  if (does("quick")) std::quick_exit(0);
  if (does("silent")) ::_exit(0);
  if (does("throw")) throw std::runtime_error("thrown by a plugin");
  if (does("kill")) ::kill(::getpid(), SIGKILL);
  if (does("hang")) hang();
  if (does("deaf")) {  // leaves the loader without word
    for (int fd = 3; fd < 256; ++fd) ::close(fd);
    hang();
  }
  if (does("fork") && ::fork() == 0) hang();  // what it starts must not outlive it
  if (does("fork")) ::_exit(3);
  if (does("print")) std::puts("printed by a plugin"), std::fflush(stdout);
#if defined(__x86_64__)
  if (does("modes")) _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, as -ffast-math does
#endif
  if (does("handler")) ::signal(SIGUSR2, [](int) {});
}

// After "constructor-" or "init-".
void misbehave_in(const char* stage) {
  const size_t n = std::strlen(stage);
  if (std::strncmp(specimen_name(), stage, n) == 0) misbehave(specimen_name() + n);
}

// Tells a test that code of this file has run.
__attribute__((constructor)) void constructor() {
  if (const char* mark = std::getenv("TENON_SPECIMEN_MARK")) ::close(::open(mark, O_WRONLY | O_CREAT, 0600));
  misbehave_in("constructor-");
}

void spoil(tenon_backend* t) {
  if (is("table-null")) *t = {sizeof *t};
  if (is("table-zero")) *t = {};
  if (is("table-short")) t->struct_size = 40;
  if (is("table-long")) t->struct_size = sizeof *t + 8;
  if (is("table-no-run")) t->run = nullptr;
  if (is("table-no-close")) t->device_close = nullptr;
  if (is("table-major")) t->abi_major = 2;
  if (is("table-name")) t->name = "another";
  if (is("table-name-null")) t->name = nullptr;
  if (is("table-name-wild")) t->name = reinterpret_cast<const char*>(8);
  if (is("table-name-escape")) t->name = "\x1b[2Jtable-name-escape";
  if (is("table-version-null")) t->version = nullptr;
}

// A layer opens what it stands on as it is initialised: "on-NAME".
tenon_status stand_on_inner(tenon_backend* out) {
  if (std::strncmp(specimen_name(), "on-", 3) != 0) return {TENON_OK, 0, nullptr};
  static tenon_backend inner;
  inner.struct_size = sizeof inner;
  const tenon_status status = host->open_backend(host->ctx, specimen_name() + 3, &inner);
  out->self = inner.self;
  return status;
}

}  // namespace

const char* specimen_name() {
  static char name[256];
  Dl_info info;
  if (*name || !::dladdr(reinterpret_cast<void*>(&misbehave), &info)) return name;
  const char* slash = std::strrchr(info.dli_fname, '/');
  std::snprintf(name, sizeof name, "%s", slash ? slash + 1 : info.dli_fname);
  if (char* dot = std::strrchr(name, '.')) *dot = 0;
  return name;
}

tenon_status tenon_backend_init(const tenon_host* from, tenon_backend* out) {
#ifdef TENON_SPECIMEN_UNDEFINED
  no_library_has_this();
#endif
  host = from;
  misbehave_in("init-");
  if (is("init-unavailable")) return {TENON_UNAVAILABLE, 7, "no such card\n\x1b[31mhere"};
  if (is("init-code")) return {-12345, 0, nullptr};
  tenon_backend full{};
  full.struct_size = std::min<uint64_t>(out->struct_size, sizeof full);
  full.abi_major = TENON_ABI_MAJOR;
  full.abi_minor = TENON_ABI_MINOR;
  full.name = specimen_name();
  full.version = "1.0";
  fill_entries(&full);
  spoil(&full);
  std::memcpy(out, &full, std::min<uint64_t>(out->struct_size, sizeof full));
  return stand_on_inner(out);
}

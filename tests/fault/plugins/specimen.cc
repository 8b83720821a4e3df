#include "specimen.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#ifndef TENON_SPECIMEN_NO_NOTE
#include "tenon/plugin/host_backend.h"
TENON_DECLARE_BACKEND
#endif

#ifdef TENON_SPECIMEN_HELPER
int specimen_helper();
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

std::string own_path() {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<void*>(&overflow_stack), &info) ? info.dli_fname : "";
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
  if (does("forgets"))  // goes on without what the loader has open
    for (int fd = 3; fd < 256; ++fd) ::close(fd);
  if (does("streams"))
    for (int fd = 0; fd < 3; ++fd) ::close(fd);
  if (does("spawn") && ::fork() == 0) hang();
  if (does("daemons"))  // each with a child of its own, in sessions that nobody else is in
    for (int i = 0; i < 8; ++i)
      if (::fork() == 0) ::setsid(), (void)::fork(), hang();
  if (does("writes"))  // to whatever is open
    for (int fd = 3; fd < 256; ++fd) (void)!::write(fd, "x", 1);
  if (does("timer")) ::alarm(1);
  if (does("directory") && ::chdir("/") != 0) std::abort();
  if (does("terminate")) std::terminate();
  if (does("mask")) {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  }
  if (does("print")) std::puts("printed by a plugin"), std::fflush(stdout);
#if defined(__x86_64__)
  if (does("modes")) _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, as -ffast-math does
#endif
  if (does("handler")) ::signal(SIGUSR2, [](int) {});
  if (does("locale")) std::setlocale(LC_ALL, "C.UTF-8");
  if (does("umask")) ::umask(0);
  // Each waits for the other.
  if (does("calls")) ::close(::open((std::getenv("TENON_SPECIMEN_MARK") + std::string(".pipe")).c_str(), O_WRONLY));
  if (does("listens")) ::close(::open((std::getenv("TENON_SPECIMEN_MARK") + std::string(".pipe")).c_str(), O_RDONLY));
  if (does("swaps")) std::rename((own_path() + ".next").c_str(), own_path().c_str());
  if (does("shrinks") && ::truncate(own_path().c_str(), 0) != 0) std::abort();
}

// After "constructor-" or "init-".
void misbehave_in(const char* stage) {
  const size_t n = std::strlen(stage);
  if (std::strncmp(specimen_name(), stage, n) == 0) misbehave(specimen_name() + n);
}

// Tells a test that code of this file has run: with its path, which the loader sees to before tenon_backend_init.
void leave_mark() {
  const char* mark = std::getenv("TENON_SPECIMEN_MARK");
  if (!mark) return;
  Dl_info info{};
  ::dladdr(reinterpret_cast<void*>(&leave_mark), &info);
  const int fd = ::open(mark, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0) return;
  if (::dprintf(fd, "%s\n", info.dli_fname) < 0) std::abort();
  ::close(fd);
}

__attribute__((constructor)) void constructor() {
#ifdef TENON_SPECIMEN_CRASHES
  ::raise(SIGSEGV);
#endif
  leave_mark();
  misbehave_in("constructor-");
}

// "init-message-KIND": an error whose text cannot be shown as it is.
bool answer_oddly(tenon_status* out) {
  static const std::string huge(1 << 20, 'x');
  out->code = TENON_UNAVAILABLE;
  if (is("init-message-null")) return true;
  if (is("init-message-empty")) return out->message = "", true;
  if (is("init-message-huge")) return out->message = huge.c_str(), true;
  if (is("init-message-control")) return out->message = "\x1b]0;owned\x07\x1b[2J\r\n\ttext", true;
  if (is("init-message-bytes")) return out->message = "\xff\xfe\xc0\xaf text", true;
  if (is("init-message-wild")) return out->message = reinterpret_cast<const char*>(8), true;
  if (is("init-unavailable")) return *out = {TENON_UNAVAILABLE, 7, "no such card\n\x1b[31mhere"}, true;
  if (is("init-code")) return *out = {-12345, 0, nullptr}, true;
  return false;
}

// The library is never closed: this runs as the process exits.
__attribute__((destructor)) void destructor() { misbehave_in("destructor-"); }

// "table-no-ENTRY"
void drop_entry(tenon_backend* t) {
  if (is("table-no-enumerate")) t->enumerate = nullptr;
  if (is("table-no-device_open")) t->device_open = nullptr;
  if (is("table-no-device_close")) t->device_close = nullptr;
  if (is("table-no-supports")) t->supports = nullptr;
  if (is("table-no-compile")) t->compile = nullptr;
  if (is("table-no-program_destroy")) t->program_destroy = nullptr;
  if (is("table-no-buffer_alloc")) t->buffer_alloc = nullptr;
  if (is("table-no-buffer_free")) t->buffer_free = nullptr;
  if (is("table-no-queue_create")) t->queue_create = nullptr;
  if (is("table-no-queue_destroy")) t->queue_destroy = nullptr;
  if (is("table-no-copy")) t->copy = nullptr;
  if (is("table-no-run")) t->run = nullptr;
  if (is("table-no-wait")) t->wait = nullptr;
}

void spoil(tenon_backend* t) {
  static const std::string text(5000, 'x');
  const char* const endless = text.c_str();
  if (is("table-null")) *t = {sizeof *t};
  if (is("table-zero")) *t = {};
  if (is("table-short")) t->struct_size = 40;
  if (is("table-long")) t->struct_size = sizeof *t + 8;
  drop_entry(t);
  if (is("table-major")) t->abi_major = 2;
  if (is("table-name")) t->name = "another";
  if (is("table-name-null")) t->name = nullptr;
  if (is("table-minor")) t->abi_minor = 77;
  if (is("table-name-empty")) t->name = "";
  if (is("table-name-endless")) t->name = endless;
  if (is("table-name-wild")) t->name = reinterpret_cast<const char*>(8);
  if (is("table-name-escape")) t->name = "\x1b[2Jtable-name-escape";
  if (is("table-version-null")) t->version = nullptr;
  if (is("table-version-lines")) t->version = "1.0\n2.0";
  if (is("table-version-wild")) t->version = reinterpret_cast<const char*>(8);
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
  // A constructor sees the private copy, "/memfd:NAME.so (deleted)" by its link.
  char copy[256] = {};
  const bool link = ::readlink(info.dli_fname, copy, sizeof copy - 1) > 0 && std::strncmp(copy, "/memfd:", 7) == 0;
  const char* path = link ? copy : info.dli_fname;
  const char* slash = std::strrchr(path, link ? ':' : '/');
  std::snprintf(name, sizeof name, "%s", slash ? slash + 1 : path);
  if (char* dot = std::strrchr(name, '.')) *dot = 0;
  return name;
}

const tenon_host* host_table() { return host; }

void misbehave_as_called(const char* stage) { misbehave_in(stage); }

tenon_status tenon_backend_init(const tenon_host* from, tenon_backend* out) {
#ifdef TENON_SPECIMEN_UNDEFINED
  no_library_has_this();
#endif
#ifdef TENON_SPECIMEN_HELPER
  if (specimen_helper() != 7) return {TENON_INTERNAL, 0, "its helper is another's"};
#endif
  host = from;
  leave_mark();
  misbehave_in("init-");
  if (tenon_status odd{}; answer_oddly(&odd)) return odd;
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

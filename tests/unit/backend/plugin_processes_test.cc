// What a plugin starts as it is tried, and what of this process it reaches.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <fstream>
#include <vector>

#include "base/file/descriptor.h"
#include "unit/backend/plugin_testing.h"

namespace {

bool keepers_adopt = true;
int most_children = -1;  // of a process; -1: any number

std::vector<pid_t> own_processes() {
  std::ifstream list("/proc/thread-self/children");
  std::vector<pid_t> out;
  for (pid_t pid; list >> pid;) out.push_back(pid);
  return out;
}

}  // namespace

// In place of the C library's: the system gives no more processes, as with ulimit -u or a cgroup's pids.max.
extern "C" pid_t fork() noexcept {
  static const auto real = reinterpret_cast<pid_t (*)()>(::dlsym(RTLD_NEXT, "fork"));
  if (most_children < 0 || static_cast<int>(own_processes().size()) < most_children) return real();
  errno = EAGAIN;
  return -1;
}

// In place of the C library's: without it, orphans of what is tried go past its keeper, as they would without one.
extern "C" int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long a[4];
  for (unsigned long& value : a) value = va_arg(list, unsigned long);
  va_end(list);
  if (option == PR_SET_CHILD_SUBREAPER && !keepers_adopt) return 0;
  return static_cast<int>(::syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]));
}

namespace tenon {
namespace {

// Takes in what is left of the children of its children, as init would, and ends it.
class Orphanage {
 public:
  Orphanage() { ::syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }
  ~Orphanage() {
    (void)end_all();
    ::syscall(SYS_prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  }
  int end_all() {
    int ended = 0;
    for (int status; ::waitpid(-1, &status, WNOHANG) >= 0;) {
      for (const pid_t pid : own_processes()) ++ended, ::kill(pid, SIGKILL), (void)::waitpid(pid, nullptr, 0);
    }
    return ended;
  }
};

class PluginProcesses : public PluginTest {
 protected:
  ~PluginProcesses() override { keepers_adopt = true, most_children = -1; }
};

TEST_F(PluginProcesses, WhatAPluginStartsInSessionsOfItsOwnDoesNotOutliveItsTrial) {
  Orphanage orphanage;
  for (const char* name : {"constructor-daemons", "init-daemons"}) {
    add(name);
    EXPECT_TRUE(contains(refusal(name), "started a process as it was loaded")) << refusal(name);
    EXPECT_EQ(orphanage.end_all(), 0) << name;
  }
}

TEST_F(PluginProcesses, WhatAPluginStartsAsItIsUsedDoesNotOutliveItsTrial) {
  Orphanage orphanage;
  add("second-daemons");
  (void)discover_backends();
  EXPECT_EQ(orphanage.end_all(), 0);
}

TEST_F(PluginProcesses, WithoutAKeeperThatAdoptsThemTheyWouldLive) {
  Orphanage orphanage;
  keepers_adopt = false;
  add("init-daemons");
  EXPECT_TRUE(contains(refusal("init-daemons"), "started a process as it was loaded"));
  EXPECT_GT(orphanage.end_all(), 0);
}

TEST_F(PluginProcesses, LibrariesAreTriedOneAfterAnotherWhereThereAreNoProcessesForAll) {
  for (const char* name : {"one", "two", "three"}) add(name);
  most_children = 1;
  const Discovery found = discover_backends();
  for (const char* name : {"one", "two", "three"})
    EXPECT_TRUE(std::any_of(found.backends.begin(), found.backends.end(), [&](auto& b) { return b.name == name; }))
        << name;
}

TEST_F(PluginProcesses, WhereThereIsNoProcessAtAllNothingIsTried) {
  add("specimen");
  most_children = 0;
  EXPECT_TRUE(contains(refusal("specimen"), "cannot be tried in a child process: Resource temporarily unavailable"));
}

// A program keeps a copy of its standard output: who reads that waits until the last copy is closed.
TEST_F(PluginProcesses, ATriedPluginReachesNoPipeOfThisProcess) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const Descriptor reads(ends[0]), writes(ends[1]);
  add("init-writes");
  (void)discover_backends();
  char byte;
  EXPECT_EQ(::read(reads.get(), &byte, 1), -1);
  EXPECT_EQ(errno, EAGAIN);
}

}  // namespace
}  // namespace tenon

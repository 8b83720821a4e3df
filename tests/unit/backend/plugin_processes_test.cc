// What a plugin starts as it is tried, and what of this process it reaches.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <fstream>

#include "base/descriptor.h"
#include "unit/backend/plugin_testing.h"

namespace {

bool keepers_adopt = true;

}  // namespace

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
      std::ifstream list("/proc/thread-self/children");
      for (pid_t pid; list >> pid; ++ended) ::kill(pid, SIGKILL), (void)::waitpid(pid, nullptr, 0);
    }
    return ended;
  }
};

class PluginProcesses : public PluginTest {
 protected:
  ~PluginProcesses() override { keepers_adopt = true; }
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

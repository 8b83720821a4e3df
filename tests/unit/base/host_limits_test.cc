// What a process may use, from files as Linux writes them for cgroups of version 1, of version 2 and of both.
#include "tenon/plugin/host_limits.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tenon {
namespace {

namespace fs = std::filesystem;
using plugin::host_cores;
using plugin::host_has_room;
using plugin::host_memory;

constexpr uint64_t kMegabyte = 1 << 20;

// A folder that stands for /, with 64 GB of memory that is left (more than is installed: that alone limits nothing).
class HostLimits : public testing::Test {
 protected:
  HostLimits() {
    char name[] = "/tmp/host_limits_XXXXXX";
    root_ = mkdtemp(name);
    write("proc/meminfo", "MemTotal:  16 kB\nMemFree: 5 kB\nMemAvailable: 67108864 kB\n");
  }
  ~HostLimits() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void version_2(const std::string& cgroup, const std::string& top = "/", const std::string& point = "/sys/fs/cgroup") {
    write("proc/self/cgroup", "0::" + cgroup + "\n");
    write("proc/self/mountinfo", "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n30 22 0:26 " + top + " " +
                                     point + " rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void version_1(const std::string& cgroup, const std::string& top = "/") {
    write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,cpuacct:" + cgroup + "\n3:memory:" + cgroup + "\n0::/\n");
    write("proc/self/mountinfo",
          "31 22 0:27 " + top + " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +  //
              "32 22 0:28 " + top + " /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" +
              "33 22 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  }
  uint64_t limit() const { return host_memory(root_).limit; }
  uint64_t left() const { return host_memory(root_).left; }
  int cores() const { return host_cores(root_); }

  fs::path root_;
};

TEST_F(HostLimits, WithoutCgroupsTheMachineIsTheLimit) {
  EXPECT_EQ(limit(), static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(left(), limit());
  EXPECT_GE(cores(), 1);
  write("proc/meminfo", "MemAvailable: 2048 kB\n");
  EXPECT_EQ(left(), 2 * kMegabyte);
}

TEST_F(HostLimits, Version2LimitsByItsOwnFile) {
  version_2("/a/b");
  write("sys/fs/cgroup/a/b/memory.max", "268435456\n");
  write("sys/fs/cgroup/a/b/memory.current", "104857600\n");
  write("sys/fs/cgroup/a/b/memory.stat", "anon 5\nactive_file 7\ninactive_file 10485760\n");
  EXPECT_EQ(limit(), 256 * kMegabyte);
  EXPECT_EQ(left(), (256 - 100 + 10) * kMegabyte);
}

TEST_F(HostLimits, ALittleIsKeptForAllElse) {
  version_2("/a");
  write("sys/fs/cgroup/a/memory.max", "268435456\n");
  write("sys/fs/cgroup/a/memory.current", "134217728\n");
  EXPECT_TRUE(host_has_room(120 * kMegabyte, root_));
  EXPECT_FALSE(host_has_room(121 * kMegabyte, root_));
  EXPECT_FALSE(host_has_room(UINT64_MAX, root_));
  write("sys/fs/cgroup/a/memory.current", "268435456\n");
  EXPECT_FALSE(host_has_room(1, root_));
}

TEST_F(HostLimits, AnyCgroupAboveLimitsToo) {
  version_2("/a/b/c");
  write("sys/fs/cgroup/a/b/c/memory.max", "max\n");
  write("sys/fs/cgroup/a/b/memory.max", "536870912\n");
  write("sys/fs/cgroup/a/memory.max", "134217728\n");
  write("sys/fs/cgroup/a/memory.current", "134217729\n");  // others have it
  EXPECT_EQ(limit(), 128 * kMegabyte);
  EXPECT_EQ(left(), 0u);
}

TEST_F(HostLimits, InAContainerTheMountBeginsAtItsCgroup) {
  version_2("/machine/box", "/machine/box");
  write("sys/fs/cgroup/memory.max", "134217728");
  EXPECT_EQ(limit(), 128 * kMegabyte);
  version_2("/machine/box/inner", "/machine/box");
  write("sys/fs/cgroup/inner/memory.max", "67108864");
  EXPECT_EQ(limit(), 64 * kMegabyte);
  version_2("/machine/boxes", "/machine/box");  // another's, though the names begin alike
  EXPECT_EQ(limit(), 128 * kMegabyte);
  version_2("/../../elsewhere");  // moved out of what is seen
  EXPECT_EQ(limit(), 128 * kMegabyte);
}

TEST_F(HostLimits, AMountPointMayHaveASpace) {
  version_2("/a", "/", "/my\\040groups");
  write("my groups/a/memory.max", "134217728");
  EXPECT_EQ(limit(), 128 * kMegabyte);
}

TEST_F(HostLimits, Version1LimitsBesideAnEmptyVersion2) {
  version_1("/jobs/1");
  write("sys/fs/cgroup/memory/jobs/1/memory.limit_in_bytes", "9223372036854771712\n");  // how it writes none
  write("sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "268435456\n");
  write("sys/fs/cgroup/memory/jobs/memory.usage_in_bytes", "134217728\n");
  write("sys/fs/cgroup/memory/jobs/memory.stat", "inactive_file 1\ntotal_inactive_file 33554432\n");
  EXPECT_EQ(limit(), 256 * kMegabyte);
  EXPECT_EQ(left(), (256 - 128 + 32) * kMegabyte);
}

TEST_F(HostLimits, WhatIsNoNumberLimitsNothing) {
  const uint64_t all = limit();
  version_2("/a");
  for (const char* text : {"", "max", "-1", "12x", "99999999999999999999999", "0x10", " ", "\xff\xfe"}) {
    write("sys/fs/cgroup/a/memory.max", text);
    write("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(limit(), all) << "memory.max: " << text;
    EXPECT_GE(cores(), 1);
  }
  for (const char* text : {"", "garbage", "0:", "::", "0::", "1:memory", "\n\n"}) {
    write("proc/self/cgroup", text);
    EXPECT_EQ(limit(), all) << "cgroup: " << text;
  }
  for (const char* text : {"", "garbage", "1 2 3", "30 22 0:26 / /sys", "- cgroup2", "30 22 0:26 / /sys - cgroup2"}) {
    write("proc/self/mountinfo", text);
    EXPECT_EQ(limit(), all) << "mountinfo: " << text;
  }
}

TEST_F(HostLimits, AShareOfTimeIsRoundedUpToCores) {
  const int all = cores();
  version_2("/a/b");
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), all);
  write("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  EXPECT_EQ(cores(), 1);
  write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(cores(), std::min(all, 2));
  write("sys/fs/cgroup/a/cpu.max", "150000 0\n");
  EXPECT_EQ(cores(), all);
  version_1("/a");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), all);
  write("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "99999\n");
  EXPECT_EQ(cores(), 1);
}

// In a process of its own, which never gets the memory back.
[[noreturn]] void look_under_ulimit(const std::string& root, uint64_t bytes) {
  const rlimit small{bytes, bytes};
  setrlimit(RLIMIT_AS, &small);
  const plugin::HostMemory memory = host_memory(root);
  const uint64_t used = 256 * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  _exit(memory.limit == bytes && memory.left == bytes - used ? 0 : 1);
}

TEST_F(HostLimits, UlimitLimitsToo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has mapped more than any such limit, and ends where it can map no more";
#endif
  write("proc/self/statm", "256 1 1 1 0 1 0\n");
  const uint64_t half = limit() / 2;
  EXPECT_EXIT(look_under_ulimit(root_, half), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tenon

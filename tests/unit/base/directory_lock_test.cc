#include "base/file/directory_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

Result<DirectoryLock> take(const std::string& directory) {
  return DirectoryLock::take(directory, "model directory", "trainer");
}

TEST(DirectoryLock, TheSecondIsRefusedByTheFirstsProcess) {
  TemporaryDirectory dir;
  {
    const Result<DirectoryLock> first = take(dir.path());
    ASSERT_TRUE(first.ok()) << first.status().message();
    const Status second = take(dir.path()).status();
    EXPECT_EQ(second.code(), Code::kUnavailable);
    EXPECT_EQ(second.message(), "model directory '" + dir.path() + "' is in use by another trainer, process " +
                                    std::to_string(::getpid()));
  }
  EXPECT_EQ(dir.entries(), 0u);
  EXPECT_TRUE(take(dir.path()).ok());
}

TEST(DirectoryLock, RemovingOrReplacingItsFileLetsNobodyIn) {
  TemporaryDirectory dir;
  const DirectoryLock held = take(dir.path()).take();
  const std::string file = dir / ".lock";
  ASSERT_EQ(::unlink(file.c_str()), 0);
  EXPECT_FALSE(take(dir.path()).ok());
  EXPECT_FALSE(take(dir.path() + "/.").ok()) << "another name of the same directory";
  dir.write(".lock", "");
  EXPECT_FALSE(take(dir.path()).ok());
}

// Without the lock on the directory: a file that is locked and then removed lets a second one in.
TEST(DirectoryLock, ALockOnAFileAloneWouldLetASecondIn) {
  TemporaryDirectory dir;
  const auto lock_file = [&] {
    const int fd = ::open((dir / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    return ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? fd : (::close(fd), -1);
  };
  const int first = lock_file();
  ASSERT_GE(first, 0);
  EXPECT_LT(lock_file(), 0);
  ::unlink((dir / ".lock").c_str());
  const int second = lock_file();
  EXPECT_GE(second, 0);
  ::close(first);
  ::close(second);
}

TEST(DirectoryLock, ADirectoryOfThatNameThatIsNewIsFree) {
  TemporaryDirectory dir;
  const std::string name = dir / "model";
  std::filesystem::create_directory(name);
  const DirectoryLock held = take(name).take();
  std::filesystem::rename(name, dir / "old");
  std::filesystem::create_directory(name);
  EXPECT_TRUE(take(name).ok());
  EXPECT_FALSE(take(dir / "old").ok());
}

TEST(DirectoryLock, AFileOfThatNameThatIsNotALocksIsLeftAsItIs) {
  TemporaryDirectory dir;
  const std::string mine = dir.write("mine", "my own words\n");
  for (const char* kind : {"link", "hard link", "file", "pipe", "directory"}) {
    const std::string name = dir / ".lock";
    std::filesystem::remove_all(name);
    const std::string_view k = kind;
    if (k == "link") std::filesystem::create_symlink(mine, name);
    if (k == "hard link") std::filesystem::create_hard_link(mine, name);
    if (k == "file") dir.write(".lock", "somebody's own\n");
    if (k == "pipe" && ::mkfifo(name.c_str(), 0600) != 0) FAIL() << name;
    if (k == "directory") std::filesystem::create_directory(name);
    {
      const Result<DirectoryLock> held = take(dir.path());
      ASSERT_TRUE(held.ok()) << kind;
      EXPECT_EQ(take(dir.path()).status().message(),
                "model directory '" + dir.path() + "' is in use by another trainer");
    }
    EXPECT_EQ(dir.read("mine"), "my own words\n") << kind;
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::symlink_status(name))) << kind;
    EXPECT_EQ(k == "file" ? dir.read(".lock") : "", k == "file" ? "somebody's own\n" : "");
  }
}

TEST(DirectoryLock, WhatAFileSaysOfTheHolderIsNotRepeatedAsItIs) {
  TemporaryDirectory dir;
  const DirectoryLock held = take(dir.path()).take();
  dir.write(".lock", "17 far\x1b[31m away\n");
  EXPECT_EQ(take(dir.path()).status().message(),
            "model directory '" + dir.path() + "' is in use by another trainer, process 17 on far");
}

TEST(DirectoryLock, GoesWithAKilledProcess) {
  TemporaryDirectory dir;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Result<DirectoryLock> held = take(dir.path());
    if (held.ok() && ::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(take(dir.path()).ok());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(take(dir.path()).ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(DirectoryLock, WhatIsNoDirectoryIsOneLine) {
  TemporaryDirectory dir;
  const std::string file = dir.write("file", "");
  EXPECT_EQ(take(file).status().message(), "cannot open directory '" + file + "': Not a directory");
  EXPECT_EQ(take(dir / "none").status().message(),
            "cannot open directory '" + dir / "none" + "': No such file or directory");
}

// What is written by the directory's name would go to one that the lock does not hold.
TEST(DirectoryLock, KnowsThatTheDirectoryWasRenamed) {
  TemporaryDirectory dir;
  const std::string path = dir / "model";
  ASSERT_EQ(::mkdir(path.c_str(), 0777), 0);
  const DirectoryLock held = take(path).take();
  EXPECT_TRUE(held.check().ok());
  ASSERT_EQ(::rename(path.c_str(), (dir / "moved").c_str()), 0);
  EXPECT_EQ(held.check().message(), "model directory '" + path + "' was renamed or removed while it was in use");
  ASSERT_EQ(::mkdir(path.c_str(), 0777), 0);
  EXPECT_FALSE(held.check().ok()) << "another directory of that name";
}

TEST(DirectoryLock, LetsAFileOfTheUsersAlone) {
  for (const std::string text : {"4711\n", "12345 notes that matter\n", "17 host", "x 17\n", "17 two words\n"}) {
    TemporaryDirectory dir;
    dir.write(".lock", text);
    { const DirectoryLock held = take(dir.path()).take(); }
    EXPECT_EQ(dir.read(".lock"), text);
  }
  TemporaryDirectory dir;
  dir.write(".lock", "4711 a.host-of_ours\n");  // of a trainer that was killed
  { const DirectoryLock held = take(dir.path()).take(); }
  EXPECT_EQ(dir.entries(), 0u);
}

}  // namespace
}  // namespace tenon

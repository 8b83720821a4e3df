// Where a file's name leads, and what its replacement keeps. What replacing is, file_test.cc says.
#include "tenon/atomic_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/file/file.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

bool is_link(const std::string& path) { return std::filesystem::is_symlink(path); }

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST(AtomicFileTarget, FollowsLinksAndKeepsThem) {
  TemporaryDirectory directory;
  ASSERT_TRUE(make_directories(directory / "elsewhere").ok());
  directory.write("elsewhere/file", "old");
  std::filesystem::create_symlink("elsewhere/file", directory / "link");
  std::filesystem::create_symlink("link", directory / "second");
  ASSERT_TRUE(atomic_write(directory / "second", "new").ok());
  EXPECT_EQ(directory.read("elsewhere/file"), "new");
  EXPECT_TRUE(is_link(directory / "link") && is_link(directory / "second"));
  EXPECT_EQ(directory.entries(), 3u);
}

TEST(AtomicFileTarget, MakesWhereALinkLeads) {
  TemporaryDirectory directory;
  std::filesystem::create_symlink(directory / "new", directory / "link");
  ASSERT_TRUE(atomic_write(directory / "link", "x").ok());
  EXPECT_EQ(directory.read("new"), "x");
  EXPECT_TRUE(is_link(directory / "link"));
}

TEST(AtomicFileTarget, LinksInACircleAreAnError) {
  TemporaryDirectory directory;
  std::filesystem::create_symlink("b", directory / "a");
  std::filesystem::create_symlink("a", directory / "b");
  EXPECT_EQ(atomic_write(directory / "a", "x").message(),
            "cannot write '" + directory / "a" + "': Too many levels of symbolic links");
}

// As the runner writes an output that a person named.
Status write_output(const std::string& path, std::string_view text) {
  TENON_ASSIGN(AtomicFile file, AtomicFile::create_or_write(path));
  TENON_TRY(file.write(text));
  return file.commit();
}

// It would wait for a reader for ever, or write into nothing.
TEST(AtomicFileTarget, WhatIsNoRegularFileIsRefusedUnlessItIsAskedFor) {
  TemporaryDirectory directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/null", directory / "link");
  for (const std::string& path : {pipe, directory / "link", std::string("/dev/null"), std::string("/proc/self/fd/1")})
    EXPECT_EQ(atomic_write(path, "x").message(),
              "cannot write '" + path + "': expected a regular file, found a pipe, a device or a socket");
}

TEST(AtomicFileTarget, APipeIsWrittenAndStaysOne) {
  TemporaryDirectory directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = directory.read("pipe"); });
  EXPECT_TRUE(write_output(pipe, "through the pipe").ok());
  reader.join();
  EXPECT_EQ(read, "through the pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_EQ(directory.entries(), 1u);
}

TEST(AtomicFileTarget, ADeviceIsWrittenAndStaysOne) {
  EXPECT_TRUE(write_output("/dev/null", "x").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(write_output("/dev/full", "x").message(), "cannot write '/dev/full': No space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

// As `--output /dev/stdout >file` does.
TEST(AtomicFileTarget, WhatIsOpenAlreadyIsWrittenAtItsEnd) {
  TemporaryDirectory directory;
  const std::string path = directory.write("file", "before ");
  const int fd = ::open(path.c_str(), O_WRONLY);
  EXPECT_TRUE(write_output("/proc/self/fd/" + std::to_string(fd), "after").ok());
  ::close(fd);
  EXPECT_EQ(directory.read("file"), "before after");
}

TEST(AtomicFileTarget, KeepsTheModeOfWhatItReplaces) {
  TemporaryDirectory directory;
  const std::string path = directory.write("file", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(atomic_write(path, "new").ok());
  EXPECT_EQ(mode_of(path), 0640u);
}

TEST(AtomicFileTarget, ANewFileHasTheModeThatTheProcessGives) {
  TemporaryDirectory directory;
  const mode_t before = ::umask(027);
  EXPECT_TRUE(atomic_write(directory / "file", "x").ok());
  ::umask(before);
  EXPECT_EQ(mode_of(directory / "file"), 0640u);
}

TEST(AtomicFileTarget, WhatMayNotBeWrittenIsNotReplaced) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  TemporaryDirectory directory;
  const std::string path = directory.write("file", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0440), 0);
  EXPECT_EQ(atomic_write(path, "new").message(), "cannot write '" + path + "': Permission denied");
  EXPECT_EQ(directory.read("file"), "old");
}

TEST(AtomicFileTarget, ALongNameHasATemporaryToo) {
  TemporaryDirectory directory;
  const std::string name(255, 'n');
  ASSERT_TRUE(atomic_write(directory / name, "x").ok());
  EXPECT_EQ(directory.read(name), "x");
}

// The name of a temporary cannot be told beforehand, so no link can wait there.
TEST(AtomicFileTarget, TwoTemporariesHaveNothingInCommonButTheirProcess) {
  TemporaryDirectory directory;
  Result<AtomicFile> one = AtomicFile::create(directory / "a"), two = AtomicFile::create(directory / "a");
  ASSERT_TRUE(one.ok() && two.ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    names.push_back(entry.path().filename());
  ASSERT_EQ(names.size(), 2u);
  const std::string start = ".a.tmp-" + std::to_string(::getpid()) + "-";
  int same = 0;
  for (size_t i = 0; i < 16; ++i) same += names[0].substr(start.size())[i] == names[1].substr(start.size())[i];
  EXPECT_LT(same, 10);  // 1 of 16 each: ten are one in 10^8
}

// With the numbers of the standard files free, as a daemon may leave them, no file takes one: what is printed to them would
// stand in it.
TEST(AtomicFileTarget, NeverTakesTheNumberOfAStandardFile) {
  TemporaryDirectory directory;
  const int kept = ::dup(STDERR_FILENO);
  ::close(STDERR_FILENO);
  Result<AtomicFile> file = AtomicFile::create(directory / "a");
  const ssize_t printed = ::write(STDERR_FILENO, "printed", 7);
  const Status status = file.ok() ? file->commit() : file.status();
  ::dup2(kept, STDERR_FILENO);
  ::close(kept);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(printed, -1);
  EXPECT_EQ(directory.read("a"), "");
}

}  // namespace
}  // namespace tenon

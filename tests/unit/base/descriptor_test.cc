#include "base/file/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Descriptor, IsClosedOnceByItsLastOwner) {
  int number = -1;
  {
    Descriptor first = open_file("/dev/null", O_RDONLY);
    ASSERT_TRUE(first);
    number = first.get();
    const Descriptor second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT: what a move leaves is promised
    EXPECT_EQ(second.get(), number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
  Descriptor released(::dup(STDERR_FILENO));
  number = released.release();
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(Descriptor, IsNeverAStandardStreamEvenWhereOneIsClosed) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd <= STDERR_FILENO; ++fd) ::close(fd);
    const bool low = ::open("/dev/null", O_RDONLY) == 0 && ::close(0) == 0;  // the control
    const Descriptor file = open_file("/dev/null", O_RDONLY);
    const Descriptor below = open_at(open_file("/dev", O_RDONLY | O_DIRECTORY), "null", O_RDONLY);
    ::_exit(low && file.get() > STDERR_FILENO && below.get() > STDERR_FILENO && !is_open(0) ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Descriptor, ACallIsRepeatedAsLongAsASignalInterruptsIt) {
  int calls = 0;
  const auto call = [&](int error) {
    return [&calls, error] { return errno = ++calls < 3 ? EINTR : error, calls < 3 || error != 0 ? -1 : calls; };
  };
  EXPECT_EQ(retry(call(0)), 3);
  calls = 0;
  EXPECT_EQ(retry(call(EIO)), -1);
  EXPECT_EQ(errno, EIO);
}

// A pipe takes and gives less at a time than is asked for.
TEST(Descriptor, TransfersAllOrSaysThatItCouldNot) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Descriptor reads(ends[0]);
  Descriptor writes(ends[1]);
  std::string sent(1 << 20, 'a'), got(sent.size(), '\0');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i % 251);
  bool written = false;
  std::thread writer([&] { written = write_fully(writes.get(), sent.data(), sent.size()); });
  EXPECT_TRUE(read_fully(reads.get(), got.data(), got.size()));
  writer.join();
  EXPECT_TRUE(written);
  EXPECT_EQ(got, sent);
  EXPECT_TRUE(write_fully(writes.get(), "abc", 3));
  writes.close();
  EXPECT_FALSE(read_fully(reads.get(), got.data(), 4));  // it ends before
  const Descriptor full = open_file("/dev/full", O_WRONLY);
  EXPECT_FALSE(write_fully(full.get(), "abc", 3));
  EXPECT_EQ(errno, ENOSPC);
}

TEST(Descriptor, ListsWhatIsInADirectory) {
  TemporaryDirectory directory;
  directory.write("b", "");
  directory.write(".a", "");
  auto names = names_in(open_file(directory.path(), O_RDONLY | O_DIRECTORY));
  ASSERT_TRUE(names.has_value());
  std::sort(names->begin(), names->end());
  EXPECT_EQ(*names, (std::vector<std::string>{".a", "b"}));
  EXPECT_FALSE(names_in(open_file(directory / "none", O_RDONLY | O_DIRECTORY)).has_value());
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace tenon

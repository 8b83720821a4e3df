#include "base/file/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <stdexcept>

#include "base/caught.h"
#include "base/strings.h"
#include "tenon/text_file.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

TEST(File, ReadsAnywhereAndShortOnlyAtTheEnd) {
  TemporaryDirectory directory;
  Result<File> file = File::open(directory.write("a", "0123456789"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->size(), 10);
  char out[8] = {};
  EXPECT_EQ(*file->read_at(3, out, 4), 4u);
  EXPECT_EQ(std::string(out, 4), "3456");
  EXPECT_EQ(*file->read_at(8, out, 4), 2u);
  EXPECT_EQ(*file->read_at(10, out, 4), 0u);
  EXPECT_EQ(*file->read_at(99, out, 4), 0u);
}

TEST(File, ReadExactlyNamesFileOffsetExpectedAndFound) {
  TemporaryDirectory directory;
  const std::string path = directory.write("a", "0123456789");
  char out[8];
  EXPECT_EQ(File::open(path)->read_exactly_at(7, out, 8).message(),
            "'" + path + "' at byte 7: expected 8 bytes, the file ends after 3");
}

TEST(File, RefusesWhatIsNoRegularFile) {
  TemporaryDirectory directory;
  EXPECT_EQ(File::open(directory / "none").status().message(),
            "cannot open '" + directory / "none" + "': No such file or directory");
  EXPECT_EQ(File::open(directory.path()).status().message(),
            "cannot read '" + directory.path() + "': expected a regular file, found a directory");
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(File::open(directory / "pipe").status().message(),
            "cannot read '" + directory / "pipe" + "': expected a regular file, found a device or pipe");
}

TEST(File, NamesThatTheSystemWouldCutShortAreRefused) {
  TemporaryDirectory directory;
  directory.write("a", "0123456789");
  const std::string nul = directory / "a" + std::string("\0b", 2), expected = "expected a name, found a NUL";
  EXPECT_NE(File::open(nul).status().message().find(expected), std::string::npos);
  EXPECT_NE(file_bytes(nul).status().message().find(expected), std::string::npos);
  EXPECT_NE(AtomicFile::create(nul).status().message().find(expected), std::string::npos);
  EXPECT_NE(make_directories(nul).message().find(expected), std::string::npos);
  EXPECT_NE(list_files(directory.path() + std::string("\0", 1), "*").status().message().find(expected),
            std::string::npos);
  const Status long_name = File::open(std::string(1 << 20, 'a')).status();
  EXPECT_EQ(long_name.message(),
            "path '" + std::string(80, 'a') + ".. (1048576 bytes)': expected at most 4095 bytes, found 1048576");
}

TEST(TextFile, ReadsLinesOfRegularFilesAlone) {
  TemporaryDirectory directory;
  EXPECT_EQ(*read_text_lines(directory.write("a", "\xef\xbb\xbf one \r\n\n\ttwo")),
            (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_text_file(directory / "pipe").status().message(),
            "cannot read '" + directory / "pipe" + "': expected a regular file, found a device or pipe");
  EXPECT_FALSE(read_text_lines("/dev/zero").ok());
  EXPECT_EQ(read_text_file(directory / "a", 5).status().message(),
            "cannot read '" + directory / "a" + "': expected at most 5 bytes, found 15");
}

TEST(Text, AbbreviatesBetweenCharacters) {
  EXPECT_EQ(abbreviated("short"), "short");
  EXPECT_EQ(abbreviated("0123456789", 4), "0123.. (10 bytes)");
  EXPECT_EQ(abbreviated("012\xc3\xa4"
                        "56789",
                        4),
            "012.. (10 bytes)");  // never half of a letter
  EXPECT_EQ(abbreviated("\x80\x80\x80\x80\x80\x80\x80\x80", 6), "\x80\x80.. (8 bytes)");
}

TEST(Caught, MakesAStatusOfWhatIsThrown) {
  const auto status = [](auto thrown) { return caught([&]() -> Status { throw thrown; }); };
  EXPECT_EQ(status(std::bad_alloc()).code(), Code::kOutOfMemory);
  EXPECT_EQ(status(std::length_error("vector")).code(), Code::kOutOfMemory);
  EXPECT_EQ(status(Error(Status(Code::kTimeout, "late"))).code(), Code::kTimeout);
  EXPECT_EQ(status(std::runtime_error("why")).message(), "why");
  EXPECT_EQ(status(5).code(), Code::kInternal);
}

TEST(File, ReadFileRefusesMoreThanAsked) {
  TemporaryDirectory directory;
  const std::string path = directory.write("a", "0123456789");
  EXPECT_EQ(*read_file(path), "0123456789");
  EXPECT_EQ(read_file(path, 9).status().message(), "cannot read '" + path + "': expected at most 9 bytes, found 10");
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  TemporaryDirectory directory;
  {
    Result<AtomicFile> file = AtomicFile::create(directory / "a");
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("hello ").ok());
    EXPECT_FALSE(directory.has("a"));
    ASSERT_TRUE(file->finish().ok());
    EXPECT_FALSE(directory.has("a"));
    ASSERT_TRUE(file->commit().ok());
    EXPECT_EQ(file->bytes(), 6);
  }
  EXPECT_EQ(directory.read("a"), "hello ");
  EXPECT_EQ(directory.entries(), 1u);
}

TEST(AtomicFile, AbandonedLeavesTheOldContentsAndNoTemporary) {
  TemporaryDirectory directory;
  directory.write("a", "old");
  {
    Result<AtomicFile> file = AtomicFile::create(directory / "a");
    ASSERT_TRUE(file->write(std::string(1 << 20, 'x')).ok());
    EXPECT_EQ(directory.entries(), 2u);
    AtomicFile moved = std::move(*file);
  }
  EXPECT_EQ(directory.read("a"), "old");
  EXPECT_EQ(directory.entries(), 1u);
}

TEST(AtomicFile, KeepsTheOrderOfSmallAndLargeWrites) {
  TemporaryDirectory directory;
  std::string expected;
  ASSERT_TRUE(atomic_write(directory / "a", [&](AtomicFile& file) -> Status {
                for (const size_t bytes : {1, 300000, 5, 200000, 100000, 262144, 0, 262145, 3}) {
                  const std::string part(bytes, static_cast<char>('a' + expected.size() % 26));
                  expected += part;
                  TENON_TRY(file.write(part));
                }
                return {};
              }).ok());
  EXPECT_EQ(directory.read("a"), expected);
}

TEST(AtomicFile, WriterThatFailsLeavesNothing) {
  TemporaryDirectory directory;
  const Status status = atomic_write(directory / "a", [](AtomicFile& file) -> Status {
    TENON_TRY(file.write("half"));
    return Status(Code::kInvalid, "no more");
  });
  EXPECT_EQ(status.message(), "no more");
  EXPECT_EQ(directory.entries(), 0u);
}

TEST(AtomicFile, NamesThePathThatCannotBeWritten) {
  TemporaryDirectory directory;
  EXPECT_EQ(atomic_write(directory / "no/a", "x").message(),
            "cannot create '" + directory / "no/a" + "': No such file or directory");
  EXPECT_EQ(atomic_write(directory.path() + "/", "x").message(),
            "cannot write '" + directory.path() + "/': Is a directory");
  ASSERT_TRUE(make_directories(directory / "d").ok());
  EXPECT_EQ(atomic_write(directory / "d", "x").message(), "cannot write '" + directory / "d" + "': Is a directory");
  EXPECT_EQ(directory.entries(), 1u);
}

// A file-size limit stands for a full disk: the kernel writes what fits, then refuses.
TEST(AtomicFile, FullDiskIsAnErrorThatSticksAndLeavesTheOldFile) {
  TemporaryDirectory directory;
  directory.write("a", "old");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Result<AtomicFile> file = AtomicFile::create(directory / "a");
    const Status first = file->write(std::string(1 << 20, 'x'));
    const Status second = file->commit();
    const bool good = first.message() == "cannot write '" + directory / "a" + "': File too large" &&
                      second.message() == first.message() && directory.entries() == 1;
    _exit(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(directory.read("a"), "old");
}

TEST(Directory, ListsMatchesSortedWithoutTemporariesAndDirectories) {
  TemporaryDirectory directory;
  directory.write("train-00001-of-00002", "");
  directory.write("train-00000-of-00002", "");
  directory.write(".train-00000-of-00002.tmp-1-0", "");
  directory.write("validation-00000-of-00001", "");
  ASSERT_TRUE(make_directories(directory / "train-dir").ok());
  const std::vector<std::string> expected = {directory / "train-00000-of-00002", directory / "train-00001-of-00002"};
  EXPECT_EQ(*list_files(directory.path(), "train-*"), expected);
  EXPECT_TRUE(list_files(directory.path(), "test-*")->empty());
  EXPECT_EQ(list_files(directory / "no", "*").status().message(),
            "cannot list directory '" + directory / "no" + "': No such file or directory");
}

TEST(Directory, MakesParentsAndNamesWhatIsInTheWay) {
  TemporaryDirectory directory;
  EXPECT_TRUE(make_directories(directory / "a/b/c").ok());
  EXPECT_TRUE(make_directories(directory / "a/b/c/").ok());
  EXPECT_TRUE(directory.has("a/b/c"));
  directory.write("file", "");
  EXPECT_EQ(make_directories(directory / "file/x").message(),
            "cannot make directory '" + directory / "file" + "': File exists");
}

TEST(Directory, KnowsTheTemporaryThatAnAtomicFileMakes) {
  TemporaryDirectory directory;
  Result<AtomicFile> file = AtomicFile::create(directory / "a.b");
  ASSERT_TRUE(file.ok());
  const std::vector<std::string> names = *list_names(directory.path(), ".*");
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(target_of_temporary(names[0]), "a.b");
}

TEST(Directory, RemovesTemporariesOfTheNamesAskedForOnly) {
  TemporaryDirectory directory;
  const std::vector<std::string> others = {".b.tmp-1-0", "a1.tmp-1-0",      ".a1.tmp-",
                                           ".a1.tmp-1-", ".a1.tmp-1-notes", ".tmp-1-0"};
  for (const std::string& name : others) directory.write(name, "");
  directory.write(".a1.tmp-1-0", "");
  directory.write(".a2.tmp-4194304-0123456789abcdef", "");
  ASSERT_TRUE(remove_temporaries(directory.path(), "a*").ok());
  for (const std::string& name : others) EXPECT_TRUE(directory.has(name)) << name;
  EXPECT_EQ(directory.entries(), others.size());
}

}  // namespace
}  // namespace tenon

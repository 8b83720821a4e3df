// What a killed conversion left is known by its marker: what is others' is let alone, whatever it is called.
#include "data/convert/generation.h"

#include <fnmatch.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/strings.h"
#include "tenon/convert.h"
#include "unit/data/temporary_directory.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

std::string inode(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return cat(info.st_ino);
}

struct Output {
  TemporaryDirectory root;
  std::string path = root / "data";

  Output() { fs::create_directory(path); }
  void write(const std::string& name, const std::string& text) const { (void)root.write(name, text); }
  // Records, a list of labels, and something of somebody's own.
  void fill(const std::string& directory) const {
    fs::create_directory(root / directory);
    for (const char* name : {"/train-00000-of-00001", "/labels.txt", "/notes.txt"})
      write(directory + name, "in " + directory);
  }
  void mark(const std::string& directory, const std::string& output, const std::string& more = "") const {
    write(directory + "/.tenon-conversion", cat("tenon conversion\n", inode(root / directory), " ", inode(output),
                                                "\ntrain-00000-of-00001\nlabels.txt\n", more));
  }
  Status convert(bool overwrite = true) const {
    TENON_ASSIGN(Generation made, Generation::begin(path, overwrite));
    TENON_ASSIGN(const std::string file, made.add("train-00000-of-00001"));
    std::ofstream(file) << "new";
    return made.commit();
  }
};

void expect_untouched(const Output& output, const std::string& directory, const std::string& said) {
  for (const char* name : {"/train-00000-of-00001", "/labels.txt", "/notes.txt"})
    EXPECT_EQ(output.root.read(directory + name), "in " + said) << directory << name;
  EXPECT_FALSE(output.root.has("data/notes.txt"));
  EXPECT_EQ(output.root.read("data/train-00000-of-00001"), "new");
}

// Inside, as with --overwrite, and beside; the names are those of leftovers.
TEST(Generation, LeavesDirectoriesOfOthersWithALeftoversName) {
  for (const std::string name :
       {"data/.records-backup", "data/.records-moving", "data/.records-new", ".data.records-backup"}) {
    const Output output;
    output.fill(name);
    ASSERT_TRUE(output.convert().ok());
    expect_untouched(output, name, name);
  }
}

TEST(Generation, FollowsNoLinkWithALeftoversName) {
  for (const std::string name : {"data/.records-aaaaaa", ".data.records-aaaaaa"}) {
    const Output output;
    output.fill("precious");
    output.mark("precious", output.path);
    fs::create_directory_symlink(output.root / "precious", output.root / name);
    ASSERT_TRUE(output.convert().ok());
    expect_untouched(output, "precious", "precious");
    EXPECT_TRUE(fs::is_symlink(output.root / name));
  }
}

// The control: the same directories with a marker go, so it is the marker that decides, and of them only what it lists.
TEST(Generation, ClearsWhatAMarkerLists) {
  for (const std::string name : {"data/.records-backup", ".data.records-backup"}) {
    EXPECT_EQ(::fnmatch("*.records-??????", name.c_str(), 0), 0);
    const Output output;
    output.fill(name);
    output.mark(name, output.path);
    output.write(name + "/.labels.txt.tmp-1-2", "half");
    testing::internal::CaptureStderr();
    ASSERT_TRUE(output.convert().ok());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("stays: it has files that no conversion wrote"), std::string::npos) << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_FALSE(output.root.has(name + "/labels.txt"));
    EXPECT_FALSE(output.root.has(name + "/.labels.txt.tmp-1-2"));
    EXPECT_EQ(output.root.read(name + "/notes.txt"), "in " + name);
    EXPECT_FALSE(output.root.has("data/notes.txt"));
  }
}

TEST(Generation, BelievesNoMarkerOfACopyOrOfAnotherOutput) {
  for (const bool copied : {true, false}) {
    const Output output;
    const std::string name = "data/.records-backup";
    output.fill(name);
    fs::create_directory(output.root / "other");
    output.mark(copied ? "other" : name, copied ? output.path : output.root / "other");
    if (copied) fs::rename(output.root / "other/.tenon-conversion", output.root / (name + "/.tenon-conversion"));
    ASSERT_TRUE(output.convert().ok());
    expect_untouched(output, name, name);
  }
}

TEST(Generation, LeavesALivingConversionsDirectory) {
  const Output output;
  const std::string name = ".data.records-backup";
  output.fill(name);
  output.mark(name, output.path);
  const Result<DirectoryLock> lock = DirectoryLock::take(output.root / name, "data directory", "conversion");
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(output.convert().ok());
  expect_untouched(output, name, name);
}

// A move that was cut short: refused by readers, who change nothing, and finished by the next conversion.
TEST(Generation, AMoveThatWasCutShortIsFinishedByAConversionOnly) {
  const Output output;
  const std::string staging = "data/.records-aaaaaa";
  output.fill(staging);
  output.write("data/labels.txt", "old");
  output.mark(staging, output.path, "moves .records-aaaaaa\n");
  EXPECT_TRUE(check_conversion(output.path).ok());  // not decided
  fs::rename(output.root / (staging + "/.tenon-conversion"), output.root / "data/.tenon-conversion");
  const Status refused = check_conversion(output.path);
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_NE(refused.message().find("cut short"), std::string::npos) << refused.message();
  EXPECT_EQ(output.root.read("data/labels.txt"), "old");
  testing::internal::CaptureStderr();
  EXPECT_EQ(output.convert(false).code(), Code::kInvalid);  // there are records now
  (void)testing::internal::GetCapturedStderr();
  EXPECT_EQ(output.root.read("data/labels.txt"), "in " + staging);
  EXPECT_EQ(output.root.read("data/train-00000-of-00001"), "in " + staging);
  EXPECT_EQ(output.root.read(staging + "/notes.txt"), "in " + staging);  // not listed
  EXPECT_FALSE(output.root.has("data/notes.txt"));
  EXPECT_TRUE(check_conversion(output.path).ok());
}

TEST(Generation, ReadersBelieveNoName) {
  for (const std::string name : {"data/.records-moving", "data/.records-new"}) {
    const Output output;
    output.fill(name);
    output.write("data/labels.txt", "mine");
    EXPECT_TRUE(check_conversion(output.path).ok());
    EXPECT_EQ(output.root.read("data/labels.txt"), "mine");
    EXPECT_EQ(output.root.read(name + "/labels.txt"), "in " + name);
  }
}

TEST(Generation, KeepsALockFileOfSomebodysOwn) {
  const Output output;
  output.write("data/.lock", "not a lock's\n");
  ASSERT_TRUE(output.convert().ok());
  EXPECT_EQ(output.root.read("data/.lock"), "not a lock's\n");
  EXPECT_EQ(output.root.entries(), 1u);
  ASSERT_EQ(std::distance(fs::directory_iterator(output.path), {}), 2);
}

TEST(Generation, RefusesAMarkersNameThatIsAnothersFile) {
  const Output output;
  output.write("data/.tenon-conversion", "mine\n");
  EXPECT_EQ(output.convert().code(), Code::kInvalid);
  EXPECT_EQ(output.root.read("data/.tenon-conversion"), "mine\n");
}

}  // namespace
}  // namespace tenon

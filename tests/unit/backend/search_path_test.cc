// Attempts to have a library loaded that somebody else put there: none is.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

#include "backend/load/search_path.h"
#include "unit/backend/plugin_testing.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

class SearchPathTest : public PluginTest {
 protected:
  SearchPathTest() : before_(fs::current_path()) {}
  ~SearchPathTest() override { fs::current_path(before_); }

  // What a fresh process prints.
  static std::string output_of(const std::string& command) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen((command + " 2>&1").c_str(), "r"), &::pclose);
    std::string out;
    std::array<char, 4096> chunk;
    while (const size_t n = std::fread(chunk.data(), 1, chunk.size(), pipe.get())) out.append(chunk.data(), n);
    return out;
  }
  static std::string list_backends() { return std::string(TENON_SPECIMENS) + "/list_backends"; }
  // Refused with this cause wherever it is asked for, and nothing of it ran.
  void expect_never_loaded(const std::string& name, const std::string& cause) {
    EXPECT_TRUE(contains(refusal(name), cause)) << refusal(name);
    const Discovery found = discover_backends();
    for (const BackendInfo& b : found.backends) EXPECT_NE(b.name, name);
    EXPECT_FALSE(code_ran());
  }

 private:
  fs::path before_;
};

TEST_F(SearchPathTest, TheCurrentDirectoryIsNotSearched) {
  add_to(home_ / "here", "evil");
  fs::current_path(home_ / "here");
  expect_never_loaded("evil", "no evil.so in ");
}

// What the package's pkg-config file links a program with; this one has both (tests/CMakeLists.txt).
TEST_F(SearchPathTest, DirectoriesOfTheRunPathAreSearchedThatAreNamedTenon) {
  const auto& found = search_path().directories;
  EXPECT_EQ(std::count(found.begin(), found.end(), "/nowhere/package/lib/tenon"), 1);
  EXPECT_EQ(std::count(found.begin(), found.end(), "/nowhere/package/lib"), 0);
}

TEST_F(SearchPathTest, TheVariableIsNamedWhereNoBackendIsMeant) {
  const std::string text = refusal("nope");
  EXPECT_TRUE(text.ends_with("; TENON_PLUGIN_PATH names other folders to look in")) << text;
}

TEST_F(SearchPathTest, RelativeAndEmptyEntriesAreRefused) {
  add_to(home_ / "here", "evil");
  fs::current_path(home_.path());
  const Environment path("TENON_PLUGIN_PATH", "here:./here::.:" + directory_.path());
  expect_never_loaded("evil", "here is a relative path, expected an absolute one");
  EXPECT_EQ(search_path().refusals.size(), 4u);
  EXPECT_EQ(search_path().directories.front(), directory_.path());
}

TEST_F(SearchPathTest, RelativeDirectoriesOfTheUserAreIgnored) {
  add_to(home_ / "tenon/plugins", "evil");
  fs::current_path(home_.path());
  const Environment data("XDG_DATA_HOME", "."), home("HOME", ".");
  expect_never_loaded("evil", "no evil.so in ");
}

TEST_F(SearchPathTest, ADirectoryThatEverybodyMayWriteIsRefused) {
  add("evil");
  for (mode_t mode : {0777, 01777}) {
    ::chmod(directory_.path().c_str(), mode);
    expect_never_loaded("evil", directory_.path() + " may be written by everybody");
  }
}

TEST_F(SearchPathTest, ADirectoryInOneThatEverybodyMayWriteIsRefused) {
  const std::string inner = directory_ / "inner";
  add_to(inner, "evil");
  ::chmod(directory_.path().c_str(), 0777);
  const Environment path("TENON_PLUGIN_PATH", inner);
  expect_never_loaded("evil", inner + " lies in " + directory_.path() + ", which everybody may write");
}

TEST_F(SearchPathTest, ADirectoryBelowAnothersIsRefused) {
  const std::string inner = directory_ / "inner";
  add_to(inner, "evil");
  const Environment path("TENON_PLUGIN_PATH", inner);
  if (::chown(directory_.path().c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs root";
  expect_never_loaded("evil",
                      inner + " lies in " + directory_.path() + ", which is owned by user 12345, expected root");
  ASSERT_EQ(::chown(directory_.path().c_str(), 0, 12345), 0);
  ::chmod(directory_.path().c_str(), 0775);
  expect_never_loaded("evil", inner + " lies in " + directory_.path() + ", which group 12345 may write (chmod go-w)");
}

// Debian gives each user a group of the same number, and some systems a umask of 002.
TEST_F(SearchPathTest, AGroupOfOnesOwnIsNobodyElse) {
  add("specimen");
  ::chmod(directory_.path().c_str(), 0775);
  ::chmod((directory_ / "specimen.so").c_str(), 0775);
  struct stat s;
  ASSERT_EQ(::stat(directory_.path().c_str(), &s), 0);
  if (s.st_gid != 0 && s.st_gid != s.st_uid) GTEST_SKIP() << "this user's group has another number";
  EXPECT_EQ(refusal("specimen"), "");
}

TEST_F(SearchPathTest, AFileThatOthersMayWriteIsRefused) {
  ::chmod(add("evil").c_str(), 0666);
  expect_never_loaded("evil", "may be written by everybody");
}

TEST_F(SearchPathTest, ALinkToAFileInADirectoryThatEverybodyMayWriteIsRefused) {
  const std::string open = home_ / "open";
  const std::string target = add_to(open, "evil");
  ::chmod(open.c_str(), 0777);
  fs::create_symlink(target, directory_ / "evil.so");
  expect_never_loaded("evil", open + " may be written by everybody");
}

TEST_F(SearchPathTest, ALinkToADirectoryThatEverybodyMayWriteIsRefused) {
  const std::string open = home_ / "open";
  add_to(open, "evil");
  ::chmod(open.c_str(), 0777);
  fs::create_directory_symlink(open, home_ / "link");
  const Environment path("TENON_PLUGIN_PATH", home_ / "link");
  expect_never_loaded("evil", open + " may be written by everybody");
}

TEST_F(SearchPathTest, WhatAnotherUserOwnsIsRefused) {
  const std::string path = add("evil");
  if (::chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs root";
  expect_never_loaded("evil", "is owned by user 12345");
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(directory_.path().c_str(), 12345, 12345), 0);
  expect_never_loaded("evil", "is owned by user 12345");
}

TEST_F(SearchPathTest, WhatAnotherGroupMayWriteIsRefused) {
  const std::string path = add("evil");
  if (::chown(path.c_str(), 0, 12345) != 0) GTEST_SKIP() << "needs root";
  ::chmod(path.c_str(), 0775);
  expect_never_loaded("evil", "may be written by group 12345");
}

TEST_F(SearchPathTest, TheLinkersOwnPathsAreNotSearched) {
  add_to(home_ / "lib", "evil");
  const std::string environment = "LD_LIBRARY_PATH=" + (home_ / "lib") + " ";
  EXPECT_TRUE(contains(output_of(environment + list_backends() + " evil"), "no evil.so in "));
  EXPECT_FALSE(contains(output_of(environment + list_backends()), "evil"));
  EXPECT_FALSE(code_ran());
}

TEST_F(SearchPathTest, ASetUidProgramListensToNoEnvironmentAndNotToItsOwnPlace) {
  if (kSanitized) GTEST_SKIP() << "sanitizers do not start in set-uid programs";
  add_to(directory_ / "plugins", "evil");
  add_to(directory_ / "lib/tenon", "evil-beside");
  const std::string program = directory_ / "bin/list";
  fs::create_directories(directory_ / "bin");
  fs::copy_file(list_backends(), program);
  fs::permissions(directory_.path(), fs::perms(0755));
  if (::chown(program.c_str(), 65534, 65534) != 0 || ::chmod(program.c_str(), 04755) != 0) GTEST_SKIP() << "needs root";
  const std::string environment = "TENON_PLUGIN_PATH=" + (directory_ / "plugins") + " ";
  const std::string secure = output_of(environment + program);
  EXPECT_TRUE(contains(secure, "directory ")) << secure;
  EXPECT_FALSE(contains(secure, "evil")) << secure;
  ::chmod(program.c_str(), 0755);
  EXPECT_FALSE(code_ran());
  EXPECT_TRUE(contains(output_of(environment + program), "backend evil ")) << "the same program, without set-uid";
}

TEST_F(SearchPathTest, TheFirstOfANameWinsAndTheOthersAreListed) {
  const std::string first = add("twice"), second = add_to(home_ / "tenon/plugins", "twice");
  std::vector<Refusal> refusals;
  const auto found = find_candidates(search_path(), &refusals);
  EXPECT_EQ(std::count_if(found.begin(), found.end(), [](auto& c) { return c.name == "twice"; }), 1);
  EXPECT_EQ(find_candidate(search_path(), "twice"), first);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].path, second);
  EXPECT_EQ(refusals[0].cause, "is shadowed by " + first);
}

TEST_F(SearchPathTest, TheSameDirectoryTwiceIsSearchedOnce) {
  fs::create_directory_symlink(directory_.path(), home_ / "again");
  const Environment path("TENON_PLUGIN_PATH", directory_.path() + ":" + directory_.path() + "/../" +
                                                  fs::path(directory_.path()).filename().string() +
                                                  "/:" + (home_ / "again"));
  const auto all = search_path().directories;
  EXPECT_EQ(all.front(), directory_.path());
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [&](auto& d) { return fs::exists(d) && fs::equivalent(d, directory_.path()); }),
            1);
}

TEST_F(SearchPathTest, BackendsBesideTheProgramAreFoundWhereverBothAreMoved) {
  add_to(directory_ / "lib/tenon", "beside");
  fs::create_directories(directory_ / "bin");
  fs::copy_file(list_backends(), directory_ / "bin/list");
  const std::string out = output_of("TENON_PLUGIN_PATH= " + (directory_ / "bin/list"));
  EXPECT_TRUE(contains(out, "backend beside " + (directory_ / "lib/tenon/beside.so"))) << out;
}

}  // namespace
}  // namespace tenon

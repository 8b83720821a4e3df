// What backends get from the core: a store that is theirs alone, other backends, safe text.
#include "backend/host/host_table.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "backend/abi.h"
#include "backend/load/sealed_copy.h"
#include "unit/backend/plugin_testing.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

class HostTable : public PluginTest {
 protected:
  static std::string fingerprint_of(const std::string& path) { return SealedCopy::make(path).take().fingerprint(); }
  std::string only_entry() const {
    for (const auto& e : fs::directory_iterator(home_ / "tenon")) return e.path();
    return {};
  }
  uint64_t stored() const {
    uint64_t bytes = 0;
    for (const auto& e : fs::directory_iterator(home_ / "tenon")) bytes += e.file_size();
    return bytes;
  }
};

TEST_F(HostTable, WhatIsPutIsGot) {
  BackendCache cache(fingerprint_of(add("specimen")));
  EXPECT_EQ(cache.get("key").status().code(), Code::kUnavailable);
  const std::string data("a\0b\xff", 4);
  ASSERT_TRUE(cache.put("key", data).ok());
  EXPECT_EQ(*cache.get("key"), data);
  EXPECT_FALSE(cache.get("other").ok());
  ASSERT_TRUE(cache.put("key", "").ok());
  EXPECT_EQ(*cache.get("key"), "");
}

TEST_F(HostTable, EntriesBelongToThePluginFile) {
  const std::string a = add("specimen"), b = add("other", "without-note");
  ASSERT_TRUE(BackendCache(fingerprint_of(a)).put("key", "of a").ok());
  EXPECT_FALSE(BackendCache(fingerprint_of(b)).get("key").ok());
  EXPECT_EQ(*BackendCache(fingerprint_of(a)).get("key"), "of a");
  directory_.write("specimen.so", directory_.read("specimen.so") + "rebuilt");
  EXPECT_FALSE(BackendCache(fingerprint_of(a)).get("key").ok());
}

mode_t mode_of(const std::string& path) {
  struct stat s;
  return ::stat(path.c_str(), &s) == 0 ? s.st_mode & 07777 : 0;
}

TEST_F(HostTable, OnlyTheUserMayEnterTheDirectoryThatItMakes) {
  BackendCache cache(fingerprint_of(add("specimen")));
  ASSERT_TRUE(cache.put("key", "data").ok());
  EXPECT_EQ(mode_of(home_ / "tenon"), 0700u);
  EXPECT_EQ(mode_of(only_entry()), 0600u);
}

TEST_F(HostTable, ADirectoryThatOthersMayWriteIsNotUsedAndKeepsItsMode) {
  fs::create_directory(home_ / "tenon");
  ::chmod((home_ / "tenon").c_str(), 0777);
  BackendCache cache(fingerprint_of(add("specimen")));
  EXPECT_EQ(cache.put("key", "data").code(), Code::kUnavailable);
  EXPECT_EQ(cache.get("key").status().code(), Code::kUnavailable);
  EXPECT_EQ(mode_of(home_ / "tenon"), 0777u);
  EXPECT_TRUE(fs::is_empty(home_ / "tenon"));
}

TEST_F(HostTable, ALinkIsNotFollowed) {
  fs::create_directory(home_ / "photos");
  ::chmod((home_ / "photos").c_str(), 0755);
  home_.write("photos/0123456789abcdef", "of somebody");
  fs::create_directory_symlink(home_ / "photos", home_ / "tenon");
  BackendCache cache(fingerprint_of(add("specimen")));
  EXPECT_EQ(cache.put("key", std::string(1 << 20, 'x')).message(),
            "cache: " + (home_ / "tenon") + " is a link, expected a directory");
  EXPECT_EQ(mode_of(home_ / "photos"), 0755u);
  EXPECT_EQ(home_.read("photos/0123456789abcdef"), "of somebody");
}

// As many and as old as they like: what the cache did not write stays, with its names or with others.
TEST_F(HostTable, FilesOfOthersAreNeverRemovedNorCounted) {
  fs::create_directory(home_ / "tenon");
  ::chmod((home_ / "tenon").c_str(), 0755);
  const std::vector<std::string> names = {"thesis.doc", "0123456789abcdef", ".tmp-12-3", ".tmp-notes", "TENONCH1"};
  for (const std::string& name : names) {
    const std::string path = home_.write("tenon/" + name, "mine");
    fs::resize_file(path, kCacheBytes);  // sparse
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  }
  BackendCache cache(fingerprint_of(add("specimen")));
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(cache.put("key" + std::to_string(i), std::string(12 << 20, 'x')).ok());
  for (const std::string& name : names) EXPECT_TRUE(home_.has("tenon/" + name)) << name;
  EXPECT_TRUE(cache.get("key7").ok());
  EXPECT_FALSE(cache.get("key0").ok()) << "its own oldest ones go";
  EXPECT_EQ(mode_of(home_ / "tenon"), 0755u);
}

TEST_F(HostTable, WhatAWriterThatDiedLeftIsRemoved) {
  BackendCache cache(fingerprint_of(add("specimen")));
  ASSERT_TRUE(cache.put("key", "data").ok());
  const std::string whole = home_.read("tenon/" + fs::path(only_entry()).filename().string());
  for (const auto& [name, bytes] : {std::pair(".tmp-12-3", size_t{5}), std::pair(".tmp-12-4", whole.size())}) {
    const std::string path = home_.write(std::string("tenon/") + name, whole.substr(0, bytes));
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  ASSERT_TRUE(cache.put("other", "data").ok());
  EXPECT_FALSE(home_.has("tenon/.tmp-12-3"));
  EXPECT_FALSE(home_.has("tenon/.tmp-12-4"));
}

TEST_F(HostTable, EveryDamagedEntryIsAMiss) {
  BackendCache cache(fingerprint_of(add("specimen")));
  ASSERT_TRUE(cache.put("key", "some data that matters").ok());
  const std::string path = only_entry(), name = "tenon/" + fs::path(path).filename().string(), whole = home_.read(name);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    home_.write(name, flipped);
    EXPECT_FALSE(cache.get("key").ok()) << "byte " << i;
    home_.write(name, whole.substr(0, i));
    EXPECT_FALSE(cache.get("key").ok()) << "cut at " << i;
  }
  home_.write(name, whole + "x");
  EXPECT_FALSE(cache.get("key").ok());
  home_.write(name, whole);
  EXPECT_EQ(*cache.get("key"), "some data that matters");
}

TEST_F(HostTable, TheOldestEntriesGoWhenItIsFull) {
  BackendCache cache(fingerprint_of(add("specimen")));
  const std::string large(12 << 20, 'x');
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(cache.put("key" + std::to_string(i), large).ok());
    EXPECT_LE(stored(), kCacheBytes);
  }
  EXPECT_FALSE(cache.get("key0").ok());
  EXPECT_TRUE(cache.get("key7").ok());
  EXPECT_FALSE(cache.put("huge", std::string(kCacheEntryBytes, 'x')).ok());
}

TEST_F(HostTable, ProcessesThatWriteAtOnceNeverReadHalfAnEntry) {
  const std::string plugin = add("specimen");
  const auto work = [&](char letter) {
    BackendCache cache(fingerprint_of(plugin));
    for (int i = 0; i < 100; ++i) {
      if (!cache.put("key", std::string(20000, letter)).ok()) return 1;
      const auto got = cache.get("key");
      if (!got.ok() || got->size() != 20000 || got->find_first_not_of(got->front()) != std::string::npos) return 2;
    }
    return 0;
  };
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work('a'));
  EXPECT_EQ(work('b'), 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(HostTable, WithoutAHomeThereIsNoCacheAndNoHarm) {
  const Environment cache_home("XDG_CACHE_HOME", "relative"), home("HOME", "");
  BackendCache cache(fingerprint_of(add("specimen")));
  EXPECT_EQ(cache.put("key", "data").code(), Code::kUnavailable);
  EXPECT_EQ(cache.get("key").status().code(), Code::kUnavailable);
}

TEST_F(HostTable, TheTableSpeaksTheAbi) {
  BackendHost host("specimen", fingerprint_of(add("specimen")));
  const tenon_host& t = host.table();
  EXPECT_EQ(t.struct_size, sizeof t);
  EXPECT_GE(t.threads, 1u);
  char room[8] = {};
  uint64_t bytes = sizeof room;
  EXPECT_EQ(t.cache_get(t.ctx, "k", room, &bytes).code, TENON_UNAVAILABLE);
  EXPECT_EQ(t.cache_put(t.ctx, "k", "abcdefghij", 10).code, TENON_OK);
  EXPECT_EQ(t.cache_get(t.ctx, "k", room, &bytes).code, TENON_INVALID) << "too little room";
  EXPECT_EQ(bytes, 10u);
  EXPECT_EQ(t.cache_get(t.ctx, "k", nullptr, &bytes).code, TENON_OK) << "asks for the size";
  EXPECT_EQ(t.cache_put(t.ctx, "k", "abc", 3).code, TENON_OK);
  bytes = sizeof room;
  EXPECT_EQ(t.cache_get(t.ctx, "k", room, &bytes).code, TENON_OK);
  EXPECT_EQ(std::string(room, bytes), "abc");
  EXPECT_EQ(t.cache_put(t.ctx, nullptr, "abc", 3).code, TENON_INVALID);
  EXPECT_EQ(t.cache_put(t.ctx, "k", "abc", UINT64_MAX).code, TENON_INVALID);
}

TEST_F(HostTable, ABackendStandsOnAnotherUnlessThatIsItself) {
  add("specimen");
  add("on-specimen");
  EXPECT_EQ(refusal("on-specimen"), "");
  add("on-nothing");
  EXPECT_NE(refusal("on-nothing").find("no nothing.so in"), std::string::npos) << refusal("on-nothing");
  add("on-init-segfault");
  add("init-segfault");
  EXPECT_NE(refusal("on-init-segfault").find("init-segfault.so: crashed with SIGSEGV"), std::string::npos)
      << refusal("on-init-segfault");
}

TEST_F(HostTable, ACycleOfBackendsIsRefused) {
  BackendHost a("specimen-a", fingerprint_of(add("specimen-a"))), b("specimen-b", fingerprint_of(add("specimen-b")));
  tenon_backend table{};
  table.struct_size = sizeof table;
  EXPECT_EQ(a.table().open_backend(&a, "specimen-a", &table).code, TENON_ABI);
  EXPECT_EQ(a.table().open_backend(&a, "specimen-b", &table).code, TENON_OK);
  EXPECT_STREQ(table.name, "specimen-b");
  const tenon_status status = b.table().open_backend(&b, "specimen-a", &table);
  EXPECT_EQ(status.code, TENON_ABI);
  EXPECT_STREQ(status.message, "open_backend: 'specimen-b' on 'specimen-a' is a cycle");
}

TEST_F(HostTable, AnOldLayersSmallerTableIsFilledUpToItsSize) {
  BackendHost host("layer", fingerprint_of(add("specimen")));
  tenon_backend table{};
  table.struct_size = TENON_SIZE(tenon_backend, wait);
  EXPECT_EQ(host.table().open_backend(&host, "specimen", &table).code, TENON_OK);
  EXPECT_EQ(table.struct_size, TENON_SIZE(tenon_backend, wait));
  EXPECT_EQ(table.stats, nullptr);
  EXPECT_NE(table.wait, nullptr);
}

TEST(PluginText, CannotMoveTheCursorAndStaysUtf8) {
  EXPECT_EQ(printable("plain, \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "plain, \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\x1b[31m\a\r\x7f"), "?[31m???");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m")
      << "C1 control";
  EXPECT_EQ(printable("\xff\xc3"), "??");
  EXPECT_EQ(printable("\xc0\xaf \xe0\x80\x80 \xed\xa0\x80 \xf4\x90\x80\x80"), "?? ??? ??? ????");
  EXPECT_EQ(printable("two\nlines"), "two\nlines");
  EXPECT_EQ(one_line("two\nlines"), "two lines");
  EXPECT_EQ(printable(std::string(10000, 'x')).size(), 4096u);
  EXPECT_EQ(printable(static_cast<const char*>(nullptr)), "");
}

TEST(PluginText, UnknownCodesCountAsInternal) {
  EXPECT_TRUE(from_abi({TENON_OK, 0, "ignored"}, "b", "run").ok());
  EXPECT_EQ(from_abi({99, 0, nullptr}, "b", "run").code(), Code::kInternal);
  EXPECT_EQ(from_abi({-1, 0, nullptr}, "b", "run").message(), "b: run failed with code -1");
  EXPECT_EQ(from_abi({TENON_OUT_OF_MEMORY, 0, "full"}, "b", "run").code(), Code::kOutOfMemory);
}

}  // namespace
}  // namespace tenon

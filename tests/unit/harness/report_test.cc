// What people and machines read of a run.
#include "conformance/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tenon::conformance {
namespace {

namespace fs = std::filesystem;

// A run of some tests with results.
struct FakeRun {
  FakeRun() { tests.reserve(16); }
  void add(const std::string& suite, const std::string& group, const std::string& name, Outcome outcome,
           const std::string& text = "", double size = 0, int level = 1) {
    Test test;
    test.suite = suite;
    test.group = group;
    test.name = name;
    test.level = level;
    test.size = size;
    tests.push_back(test);
    summary.results.push_back({&tests.back(), outcome, text, 0.25});
  }
  std::string text() const {
    char* bytes = nullptr;
    size_t size = 0;
    FILE* out = open_memstream(&bytes, &size);
    print_summary(out, summary);
    fclose(out);
    const std::string text(bytes, size);
    std::free(bytes);
    return text;
  }
  std::string last_line() const {
    const std::string all = text();
    const size_t end = all.size() - 1;
    return all.substr(all.rfind('\n', end - 1) + 1, end - all.rfind('\n', end - 1) - 1);
  }
  Tests tests;
  Summary summary{"lib/mine.so", "mine 1.0, ABI 1.0\nunit 0: Mine", {}, {}, 1.5};
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Report, TheCommandAsksForTheLayerThatFoundTheFailure) {
  FakeRun run;
  run.summary.options.validate = true;
  run.add("op", "add", "f32", Outcome::kFail, "wrong");
  EXPECT_TRUE(contains(run.text(), "tenon-conform lib/mine.so --validate --seed 1 --filter '^op/add/f32$'\n"));
  EXPECT_TRUE(contains(to_json(run.summary), "\"validate\": true")) << to_json(run.summary);
}

TEST(Report, ShowsTheSmallestFailingTestOfAGroupWithItsCommand) {
  FakeRun run;
  run.add("op", "add", "f32[100]", Outcome::kFail, "large", 100);
  run.add("op", "add", "f32[7,13] it's", Outcome::kFail, "small", 91);
  run.add("op", "add", "f32[1]", Outcome::kPass, "", 1);
  const std::string text = run.text();
  EXPECT_TRUE(contains(text, "op/add: 2 of 3 tests failed\n    op/add/f32[7,13] it's: small\n")) << text;
  EXPECT_TRUE(contains(text, "tenon-conform lib/mine.so --seed 1 --filter '^op/add/f32\\[7,13\\] it'\\''s$'\n"))
      << text;
  EXPECT_FALSE(contains(text, "large"));
  EXPECT_EQ(run.last_line(), "level 0: 2 of 3 tests failed");
  EXPECT_FALSE(run.summary.good(-1));
}

TEST(Report, GroupsReasonsAndListsMissingOps) {
  FakeRun run;
  run.add("op", "add", "f32[7]", Outcome::kPass);
  run.add("op", "sub", "bf16[7]", Outcome::kUnsupported, "no bf16");
  run.add("op", "mul", "bf16[7]", Outcome::kUnsupported, "no bf16");
  run.add("op", "sort", "f32[7]", Outcome::kUnsupported, "sort: later", 0, 2);
  const std::string text = run.text();
  EXPECT_TRUE(contains(text, "  bf16: 2 tests: 'no bf16'\n")) << text;
  EXPECT_TRUE(contains(text, "  op/sort: 1 test: 'sort: later'\n")) << text;
  EXPECT_TRUE(contains(text, "  for level 1: mul, sub\n  for level 2: sort\n")) << text;
  EXPECT_TRUE(
      contains(text, "level 0: loads\nlevel 1, infers, lacks: op/sub unsupported (1), op/mul unsupported (1)\n"))
      << text;
  EXPECT_EQ(run.last_line(), "level 0: 0 of 4 tests failed, 3 unsupported");
  EXPECT_TRUE(run.summary.good(-1));
  EXPECT_TRUE(run.summary.good(0));
  EXPECT_FALSE(run.summary.good(1));
}

TEST(Report, NamesACauseThatIsNoOpsBeforeTheMissingOps) {
  FakeRun run;
  const std::string cause = "buffer_alloc of a HOST buffer: UNSUPPORTED: no host memory";
  for (const char* op : {"add", "sub", "mul"}) run.add("op", op, "f32[7]", Outcome::kUnsupported, cause);
  run.add("op", "sort", "f32[7]", Outcome::kUnsupported, "sort of f32 ('sort'): no code", 0, 2);
  run.add("op", "exp", "f32[7]", Outcome::kUnsupported, "sort of f32 ('sort'): no code", 0, 2);
  run.add("op", "neg", "f32[7]", Outcome::kUnsupported, "compile: UNSUPPORTED: of one op alone");
  const std::string text = run.text();
  const std::string shared =
      "\nA cause that is no op's, what to mend before any op is written:\n  3 tests of 3 ops: '" + cause +
      "'\n\nMissing ops, what to write next first:\n";
  EXPECT_TRUE(contains(text, shared)) << text;
}

TEST(Report, CountsADeclinedCompositeApart) {
  FakeRun run;
  run.add("op", "add", "f32[7]", Outcome::kPass);
  run.add("composite", "softmax", "f32[7]", Outcome::kDeclined, "left to its decomposition", 0, 3);
  EXPECT_TRUE(contains(run.text(), "1 pass, 0 fail, 0 unsupported, 0 unavailable, 1 declined in")) << run.text();
  EXPECT_FALSE(contains(run.text(), "left to its decomposition"));
  EXPECT_EQ(run.last_line(), "level 4: 0 of 2 tests failed, 1 declined");
  EXPECT_TRUE(contains(to_json(run.summary), "\"declined\": 1}"));
}

TEST(Report, KnowsNoLevelWithoutAnOp) {
  FakeRun run;
  run.add("load", "file", "note", Outcome::kPass, "", 0, 0);
  EXPECT_EQ(run.last_line(), "no level: 0 of 1 test failed");
  EXPECT_FALSE(run.summary.good(-1));
}

TEST(Report, GivesNoLevelToAFilteredRun) {
  FakeRun run;
  run.summary.options.filter = "load";
  run.add("load", "file", "note", Outcome::kPass, "", 0, 0);
  EXPECT_EQ(run.last_line(), "no level, as not all tests ran: 0 of 1 test failed");
  EXPECT_TRUE(run.summary.good(-1));
  run.add("load", "file", "exports", Outcome::kFail, "x", 0, 0);
  EXPECT_FALSE(run.summary.good(-1));
}

TEST(Report, ReachesNoMoreThanWasAskedFor) {
  FakeRun run;
  run.add("op", "add", "f32[7]", Outcome::kPass);
  EXPECT_EQ(run.summary.level(), 4);
  run.summary.options.level = 2;
  EXPECT_EQ(run.summary.level(), 2);
}

TEST(Report, EscapesWhatABackendSays) {
  FakeRun run;
  run.add("op", "add", "f32[7]", Outcome::kFail, "<a \"b\" & \\ \x01 \xFF \xC3\xA9>");
  EXPECT_TRUE(contains(to_json(run.summary), "\"text\": \"<a \\\"b\\\" & \\\\   ? \xC3\xA9>\""))
      << to_json(run.summary);
  EXPECT_TRUE(contains(to_junit(run.summary), "<failure message=\"&lt;a &quot;b&quot; &amp; \\   ? \xC3\xA9&gt;\">"))
      << to_junit(run.summary);
}

TEST(Report, WritesCountsForMachines) {
  FakeRun run;
  run.add("load", "", "x", Outcome::kPass, "", 0, 0);
  run.add("op", "add", "f32[7]", Outcome::kUnsupported, "no");
  EXPECT_TRUE(contains(to_json(run.summary),
                       "\"level\": -1,\n  \"missing\": {\"1\": [\"add\"]},\n  \"lacks\": [\"an op that "
                       "computes\"],\n  \"seconds\": 1.5,\n  \"counts\": {\"pass\": 1, \"fail\": 0, \"unsupported\": "
                       "1, \"unavailable\": 0, \"declined\": 0},"));
  EXPECT_TRUE(contains(to_junit(run.summary),
                       "<testsuite name=\"op\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\">\n"
                       "    <testcase classname=\"op.add\" name=\"f32[7]\" time=\"0.25\"><skipped "
                       "message=\"unsupported: no\"/></testcase>\n"));
}

TEST(Report, TellsMachinesHowToRunAFailingTestAlone) {
  FakeRun run;
  run.add("op", "add", "it's f32[7]", Outcome::kFail, "wrong");
  run.add("op", "add", "f32[1]", Outcome::kPass);
  const std::string json = to_json(run.summary), junit = to_junit(run.summary);
  EXPECT_TRUE(contains(json,
                       "\"text\": \"wrong\", \"reproduce\": \"tenon-conform lib/mine.so --seed 1 --filter "
                       "'^op/add/it'\\\\''s f32\\\\[7\\\\]$'\", \"seconds\""))
      << json;
  EXPECT_EQ(json.find("reproduce"), json.rfind("reproduce")) << json;
  EXPECT_TRUE(contains(junit,
                       "<failure message=\"wrong\">tenon-conform lib/mine.so --seed 1 --filter "
                       "'^op/add/it'\\''s f32\\[7\\]$'</failure></testcase>\n"))
      << junit;
}

TEST(Report, TellsMachinesWhatTheNextLevelLacks) {
  FakeRun run;
  run.add("op", "add", "f32[7]", Outcome::kPass);
  run.add("op", "sub", "bf16[7]", Outcome::kUnsupported, "no");
  run.add("op", "sub", "f32[7]", Outcome::kPass);
  run.add("op", "mul", "f32[7]", Outcome::kFail, "wrong");
  run.add("op", "sort", "f32[7]", Outcome::kUnsupported, "later", 0, 2);
  EXPECT_TRUE(contains(to_json(run.summary),
                       "\"missing\": {\"1\": [\"sub (1 of 2)\"], \"2\": [\"sort\"]},\n"
                       "  \"lacks\": [\"op/sub unsupported (1)\", \"op/mul failed (1)\"],\n"))
      << to_json(run.summary);
  run.summary.options.filter = "op";
  EXPECT_TRUE(contains(to_json(run.summary), "\"missing\": null,\n  \"lacks\": null,\n")) << to_json(run.summary);
}

TEST(Report, CleansTextOfWhatIsNotUtf8) {
  EXPECT_EQ(clean("plain \xE2\x82\xAC \xF0\x9F\x98\x80"), "plain \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(clean("\xC0\xAF \xE2\x82 \xED\xA0\x80 \x80\t\x7F"), "?? ?? ??? ?  ");
  EXPECT_EQ(clean("\033[2J \xC2\x9B!\xC2\xA0 \u202E\u2066\u200F\u061C\u2028."), " [2J  !\xC2\xA0      .");
}

TEST(Report, GroupsDigits) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
}

TEST(Report, ReplacesAFileWholeOrNotAtAll) {
  const fs::path folder = fs::temp_directory_path() / ("tenon_report_" + std::to_string(getpid()));
  fs::create_directory(folder);
  const std::string path = folder / "out.json";
  check_writable(path);
  EXPECT_TRUE(fs::is_empty(folder));
  write_file(path, "one");
  write_file(path, "two");
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  EXPECT_THROW(check_writable(folder / "none" / "out.json"), std::runtime_error);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tenon::conformance

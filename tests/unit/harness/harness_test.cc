// What the conformance suite says of tests that pass, fail, crash, exit, hang and print.
#include "conformance/host/harness.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "conformance/host/subject.h"
#include "conformance/sanitizer.h"

namespace tenon::conformance {
namespace {

std::string cpu_path() {
  const char* folder = std::getenv("TENON_PLUGIN_PATH");
  return (folder ? std::string(folder) : std::string(".")) + "/cpu.so";
}

Test make(const std::string& group, const std::string& name, std::function<void(Subject&)> run) {
  Test test;
  test.suite = "op";
  test.group = group;
  test.name = name;
  test.run = std::move(run);
  return test;
}

void pass(Subject&) {}
// By the signal itself: a sanitizer's handler would end the process by exit code.
void die() {
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
}
void crash(Subject&) { die(); }

// "pass", "fail: text"
std::vector<std::string> outcomes(const Tests& tests, RunOptions options = {},
                                  const std::string& library = cpu_path()) {
  std::vector<std::string> seen;
  const auto words = [](const Result& r) {
    static const char* const names[] = {"pass", "fail", "unsupported", "unavailable", "declined"};
    return std::string(names[static_cast<int>(r.outcome)]) + (r.text.empty() ? "" : ": " + r.text);
  };
  const std::vector<Result> results =
      run_tests(library, tests, options, [&](const Result& r) { seen.push_back(words(r)); });
  EXPECT_EQ(seen.size(), results.size());
  for (size_t i = 0; i < results.size(); ++i) EXPECT_EQ(words(results[i]), seen[i]);
  return seen;
}

using Words = std::vector<std::string>;

TEST(Harness, TellsWhatTestsThrow) {
  EXPECT_EQ(outcomes({make("a", "1", pass), make("a", "2", [](Subject&) { fail("broken"); }),
                      make("a", "3", [](Subject&) { throw Unsupported{"no f64"}; }),
                      make("a", "4", [](Subject&) { throw Unavailable{"one unit"}; }),
                      make("a", "5", [](Subject&) { throw std::runtime_error("oh"); }),
                      make("a", "6", [](Subject&) { throw Declined{"left"}; }), make("a", "7", pass)}),
            (Words{"pass", "fail: broken", "unsupported: no f64", "unavailable: one unit", "fail: an exception: oh",
                   "declined: left", "pass"}));
}

TEST(Harness, SaysWhatATestDidThatEndedItsProcess) {
  conformance::Test hang = make("b", "1", [](Subject&) {
    doing("wait for nothing");
    for (;;) pause();
  });
  hang.time_limit_s = 5 / kSlower;
  const auto crashes_later = [](Subject&) {
    doing("run without a program");
    doing("run without inputs");
    die();
  };
  EXPECT_EQ(
      outcomes({make("a", "1", [](Subject&) { doing("run without a program"); }), make("a", "2", crash),
                make("a", "3", crashes_later), hang}),
      (Words{"pass", "fail: died of signal 11 (SIGSEGV)", "fail: died of signal 11 (SIGSEGV), in run without inputs",
             "fail: ran past 5 s, in wait for nothing"}));
}

TEST(Harness, GoesOnBehindACrashAnExitAndAHang) {
  conformance::Test hang = make("c", "1", [](Subject&) {
    for (;;) pause();
  });
  hang.time_limit_s = 0.5 / kSlower;
  EXPECT_EQ(outcomes({make("a", "1", pass), make("a", "2", crash), make("a", "3", pass),
                      make("b", "1", [](Subject&) { _exit(3); }), make("b", "2", [](Subject&) { std::exit(0); }), hang,
                      make("c", "2", pass)}),
            (Words{"pass", "fail: died of signal 11 (SIGSEGV)", "pass", "fail: exited with 3", "fail: exited with 0",
                   "fail: ran past 0.5 s", "pass"}));
}

// They hold the end of a pipe for writing: its end can be read when none of them is left.
TEST(Harness, EndsWhatABackendStartsInASessionOfItsOwn) {
  int held[2];
  ASSERT_EQ(pipe(held), 0);
  const conformance::Test starter = make("a", "1", [&](Subject&) {
    const pid_t between = fork();
    if (between == 0) {
      setsid();
      if (fork() == 0)
        for (;;) pause();
      _exit(0);
    }
    ASSERT_EQ(waitpid(between, nullptr, 0), between);
  });
  EXPECT_EQ(outcomes({starter}), Words{"pass"});
  close(held[1]);
  ASSERT_EQ(fcntl(held[0], F_SETFL, O_NONBLOCK), 0);
  char byte;
  EXPECT_EQ(read(held[0], &byte, 1), 0) << "a process still runs";
  close(held[0]);
}

TEST(Harness, ScalesTimeLimits) {
  conformance::Test hang = make("a", "1", [](Subject&) {
    for (;;) pause();
  });
  RunOptions options;
  options.time_scale = 0.005 / kSlower;
  EXPECT_EQ(outcomes({hang}, options), (Words{"fail: ran past 0.3 s"}));
}

TEST(Harness, GivesUpAGroupThatEndsItsProcessThreeTimes) {
  Tests tests;
  for (int i = 0; i < 6; ++i) tests.push_back(make("a", std::to_string(i), crash));
  tests.push_back(make("b", "1", pass));
  const Words found = outcomes(tests);
  const std::string died = "fail: died of signal 11 (SIGSEGV)",
                    rest = "not tried: 3 tests of this group ended their process";
  EXPECT_EQ(found, (Words{died, died, died, "fail: " + rest, "unavailable: " + rest, "unavailable: " + rest, "pass"}));
}

TEST(Harness, FailsTheFirstTestThatPrints) {
  const auto print = [](Subject&) { std::printf("\nhello\n"); };
  EXPECT_EQ(outcomes({make("a", "1", pass), make("a", "2", print), make("a", "3", print)}),
            (Words{"pass", "fail: the backend printed: hello", "pass"}));
  EXPECT_EQ(outcomes({make("a", "1",
                           [](Subject&) {
                             std::fprintf(stderr, "noise\n==1==ERROR: bad\n");
                             abort();
                           })}),
            (Words{"fail: died of signal 6 (SIGABRT): ==1==ERROR: bad"}));
}

TEST(Harness, TellsHowAProcessEndedBehindItsLastTest) {
  const auto leave_a_trap = [](Subject&) { std::atexit(die); };
  EXPECT_EQ(
      outcomes({make("a", "1", leave_a_trap), make("a", "2", pass)}),
      (Words{"pass",
             "fail: passed; then, when the device was closed and the process ended: died of signal 11 (SIGSEGV)"}));
}

TEST(Harness, GivesATestAProcessOfItsOwn) {
  const auto tell = [](Subject&) { throw Unavailable{std::to_string(getpid())}; };
  Tests tests = {make("a", "1", tell), make("a", "2", tell), make("a", "3", tell), make("a", "4", tell)};
  tests[2].own_process = true;
  const Words found = outcomes(tests);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_NE(found[1], found[2]);
  EXPECT_NE(found[2], found[3]);
  EXPECT_NE(found[0], found[3]);
}

TEST(Harness, TriesNothingWithoutALibrary) {
  const Words found =
      outcomes({make("a", "1", pass), make("a", "2", pass), make("b", "1", pass)}, {}, "/proc/self/maps");
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].substr(0, 6), "fail: ");
  EXPECT_EQ(found[1], "unavailable: not tried: the library was not loaded");
  EXPECT_EQ(found[2], found[1]);
}

TEST(Harness, DescribesTheLibraryOnce) {
  std::vector<std::string> descriptions;
  RunOptions options;
  options.loaded = [&](const std::string& text) { descriptions.push_back(text); };
  outcomes({make("a", "1", crash), make("a", "2", pass)}, options);
  ASSERT_EQ(descriptions.size(), 1u);
  EXPECT_EQ(descriptions[0].substr(0, 4), "cpu ");
  EXPECT_NE(descriptions[0].find("\nunit 0: CPU"), std::string::npos);
}

TEST(Harness, ChoosesByNameAndLevel) {
  Tests tests = {make("add", "f32[7,13]", pass), make("addition", "f32[7,13]", pass), make("sort", "f32[7]", pass)};
  tests[2].level = 2;
  RunOptions options;
  const auto ids = [&] {
    std::vector<std::string> out;
    for (const conformance::Test* test : selected(tests, options)) out.push_back(test->id());
    return out;
  };
  EXPECT_EQ(ids(), (Words{"op/add/f32[7,13]", "op/addition/f32[7,13]", "op/sort/f32[7]"}));
  options.level = 1;
  EXPECT_EQ(ids(), (Words{"op/add/f32[7,13]", "op/addition/f32[7,13]"}));
  options.filter = "^op/add/f32\\[7,13\\]$";
  EXPECT_EQ(ids(), (Words{"op/add/f32[7,13]"}));
}

// ---- levels ----

struct Outcomes {
  Tests tests;
  std::vector<std::pair<int, Outcome>> of;  // level, outcome
  int level(bool required = true) {
    for (const auto& [level, outcome] : of) {
      tests.push_back(make("a", "x", pass));
      tests.back().level = level;
      tests.back().required = required;
    }
    std::vector<Result> results;
    for (size_t i = 0; i < of.size(); ++i) results.push_back({&tests[i], of[i].second, "", 0});
    return level_of(results);
  }
};

constexpr Outcome kPass = Outcome::kPass, kFail = Outcome::kFail, kUnsupported = Outcome::kUnsupported,
                  kUnavailable = Outcome::kUnavailable;

TEST(Levels, AreReachedWhereNothingBelowIsMissing) {
  EXPECT_EQ((Outcomes{{}, {{0, kPass}, {1, kPass}, {2, kPass}, {3, kPass}, {4, kPass}}}.level()), 4);
  EXPECT_EQ((Outcomes{{}, {{0, kPass}, {1, kPass}, {2, kPass}, {3, kFail}, {4, kPass}}}.level()), 2);
  EXPECT_EQ((Outcomes{{}, {{0, kPass}, {1, kPass}, {2, kUnsupported}, {3, kPass}}}.level()), 1);
  EXPECT_EQ((Outcomes{{}, {{0, kFail}, {1, kPass}}}.level()), -1);
  EXPECT_EQ((Outcomes{{}, {{1, kPass}, {3, kUnavailable}, {4, kPass}}}.level()), 4);
  EXPECT_EQ((Outcomes{{}, {{1, kPass}, {4, kUnavailable}}}.level()), 3);  // one unit shows no replicas
}

TEST(Levels, CountWhatIsRequired) {
  EXPECT_EQ((Outcomes{{}, {{1, kPass}, {1, kUnsupported}}}.level(false)), 4);
  EXPECT_EQ((Outcomes{{}, {{1, kPass}, {1, kFail}}}.level(false)), 0);
}

TEST(Levels, NeedOneOpAtLeast) {
  EXPECT_EQ((Outcomes{{}, {{0, kUnavailable}, {1, kUnsupported}}}.level(false)), -1);
  EXPECT_EQ((Outcomes{}.level()), -1);
}

}  // namespace
}  // namespace tenon::conformance

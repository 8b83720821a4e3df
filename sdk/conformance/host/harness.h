// Tests, outcomes and levels: what a suite adds to and what runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenon::conformance {

class Subject;  // the backend under test: subject.h

enum class Outcome {
  kPass,
  kFail,         // the contract is broken; crashes and time limits are failures too
  kUnsupported,  // the backend refuses, with a reason
  kUnavailable,  // it cannot be tried here: one unit only, too little memory
  kDeclined  // what a backend may do without: a composite that is left to its decomposition, an optional entry, HOST memory
};

// What a test throws to end early. A test that returns has passed.
struct Failure {
  std::string text;  // one line: what, expected, found
};
struct Overrun : Failure {};  // a byte was written behind a buffer's last
struct Unsupported {
  std::string reason;  // the backend's
};
struct Unavailable {
  std::string reason;
};
struct Declined {
  std::string reason;
};

// Says what a test does next. Where that ends the process, or runs past its time, the test's result says so: "died of signal
// 11 (SIGSEGV), in run without inputs". For calls that a backend is likely to end in; one at a time.
void doing(const std::string& what);

struct Test {
  std::string suite;  // "op"
  std::string group;  // within the suite; of failing tests of one group the smallest is shown: "add"
  std::string name;   // within the group: "f32[7,13]"
  // The lowest level that this test belongs to: 0 loads, 1 infers, 2 trains with primitives, 3 trains every
  // model of the catalogue, 4 replicas and feeds.
  int level = 0;
  bool required = true;  // false: being unsupported costs no level (bf16, f64, a composite)
  double size = 0;       // elements
  std::function<void(Subject&)> run;
  double time_limit_s = 60;
  bool own_process = false;  // counts handles or may spoil the process for those that follow

  std::string id() const { return suite + "/" + (group.empty() ? "" : group + "/") + name; }
};
using Tests = std::vector<Test>;

struct Result {
  const Test* test = nullptr;
  Outcome outcome = Outcome::kPass;
  std::string text;  // failure or reason, one line
  double seconds = 0;
};

// ---- the suites, one file each in suites/, in the order in which they run ----
void add_load_tests(Tests&);
void add_device_tests(Tests&);
void add_memory_tests(Tests&);
void add_queue_tests(Tests&);
void add_op_tests(Tests&);                         // each op x dtype x edge shapes against the reference
void add_sampled_tests(Tests&, uint32_t samples);  // each primitive x dtype, so many graphs by chance
void add_composite_tests(Tests&);                  // composites whole, and their decompositions
void add_gradient_tests(Tests&);                   // against central differences
void add_optimizer_tests(Tests&);                  // ten steps
void add_random_tests(Tests&);                     // bit for bit
void add_program_tests(Tests&);  // aliasing, run-time scalars, several programs on the same buffers, iterations, until
void add_thread_tests(Tests&);
void add_capability_tests(Tests&);  // a TAKE that does not compile
void add_error_tests(Tests&);
void add_feed_tests(Tests&);
void add_collective_tests(Tests&);
void add_leak_tests(Tests&);
void add_plan_tests(Tests&);  // of backends that stand on the SDK's runtime
void add_determinism_tests(Tests&);
void add_training_tests(Tests&);  // inference too

// How many graphs are drawn for each primitive and dtype; from so many on also what takes minutes is drawn.
constexpr uint32_t kDrawn = 24;
// `sdk_runtime`: with what the planner of the SDK's runtime takes, which other planners need not keep to.
Tests all_tests(uint32_t samples = kDrawn, bool sdk_runtime = false);

// The highest level whose tests, and those of the levels below, have no failure and no required test that is
// unsupported; -1: none, which is also the level of a backend that supports not one op. Level 4 is not reached where its
// tests are unavailable, as there is one unit.
int level_of(const std::vector<Result>& results);
// Whether a result keeps its test's level from being reached.
bool stands_in_the_way(const Result& result);

struct RunOptions {
  std::string filter;  // ECMAScript regular expression, searched in the id; empty: all
  int level = 4;       // tests above it are left out
  uint64_t seed = 1;
  uint32_t samples = kDrawn;  // what the tests were made with
  double time_scale = 1;      // of every time limit
  std::string spec;           // of the units, as in `--device=name:spec`; empty: the backend's default
  std::string cache;          // a folder for what the host keeps for backends; empty: it is forgotten with each process
  // With the validation layer between suite and backend, whose findings are failures. Tests that break the contract on
  // purpose, those of the library's own table and of leaks run without.
  bool validate = false;
  // Called once, when a child has loaded the library first: its name, version and units in lines.
  std::function<void(const std::string& description)> loaded;
};

// Whether the options let a test run. Throws std::regex_error.
std::vector<const Test*> selected(const Tests& tests, const RunOptions& options);

// Runs the tests in child processes, so that a backend that crashes, exits or hangs fails one test and no
// more; `done` sees each result as it comes. The parent never loads the library. A group that ended its process three
// times, and all once eight tests ran past their time, is not tried further: one failure says so, the rest is unavailable.
// What a backend prints fails the first test in which it does. SIGINT, SIGTERM and SIGHUP end the children and then this
// process.
std::vector<Result> run_tests(const std::string& library, const Tests& tests, const RunOptions& options,
                              const std::function<void(const Result&)>& done);

}  // namespace tenon::conformance

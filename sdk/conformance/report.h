// What the suite tells: lines for people as results come, then what to do about them; JSON and JUnit for machines.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "conformance/host/harness.h"

namespace tenon::conformance {

struct Counts {
  uint64_t pass = 0, fail = 0, unsupported = 0, unavailable = 0, declined = 0;
  uint64_t all() const { return pass + fail + unsupported + unavailable + declined; }
  void add(Outcome outcome);
};

// A whole run, when it is over.
struct Summary {
  std::string path, description;  // of the library; its name, version and units in lines
  RunOptions options;
  std::vector<Result> results;
  double seconds = 0;

  Counts counts() const;
  bool filtered() const { return !options.filter.empty(); }
  // level_of the results, but no more than was asked for.
  int level() const;
  // No failure, and all of `least` (-1: not asked for) or level 0; of a filtered run no failure and something passed.
  bool good(int least) const;
};

// "infers"
const char* level_meaning(int level);
const char* outcome_name(Outcome outcome);
// 1234567 as "1,234,567".
std::string with_commas(uint64_t n);
// Printable UTF-8 whatever comes in; other bytes are '?'.
std::string clean(const std::string& text);
// The command that runs one test alone.
std::string reproduction(const std::string& library, const RunOptions& options, const Test& test);

// Why required tests of several ops are unsupported, where that is no op's: a buffer that is not given, a graph that is not
// compiled. With the number of tests and of ops.
struct SharedCause {
  std::string text;
  uint64_t tests = 0, ops = 0;
};
std::vector<SharedCause> shared_causes(const Summary& summary);
// Ops of which required tests are unsupported, by the level that they stand in the way of: "sort", or "sort (2 of 9)"
// where others of them pass.
std::map<int, std::vector<std::string>> missing_ops(const Summary& summary);
// What stands between the level that was reached and the next, as "op/sort unsupported (3)"; none where no more was
// asked for.
std::vector<std::string> lacking(const Summary& summary);

// One line a group, as soon as it is complete.
class Progress {
 public:
  explicit Progress(FILE* out) : out_(out) {}
  void header(const std::string& library, const std::string& description);
  void add(const Result& result);
  void end_group();

 private:
  FILE* out_;
  std::string group_;
  Counts counts_;
};

// Failing groups, reasons, missing ops, totals and the level; the last line is the verdict.
void print_summary(FILE* out, const Summary& summary);

std::string to_json(const Summary& summary);
std::string to_junit(const Summary& summary);
// Throws std::runtime_error unless a file of this name could be written now; leaves nothing behind.
void check_writable(const std::string& path);
// Writes under a temporary name beside it and renames. Throws std::runtime_error.
void write_file(const std::string& path, const std::string& text);

}  // namespace tenon::conformance

// What each test of the suite reaches on the library as it is written, and how much processor time it takes.
#pragma once

#include <string>
#include <vector>

#include "conformance/host/harness.h"
#include "mutants.h"
#include "recorder.h"

namespace tenon::conformance {

// How tests are run here: without time limits that a machine with other work could run past.
RunOptions options_of_runs();

class Control {
 public:
  // REQUIRED: the tests live as long. Throws std::runtime_error.
  Control(const Tests& tests, size_t sites);

  // Runs all tests twice: the first run records, the second is timed. Prints what fails, which is left out.
  void run(const std::string& library);
  // What another process ran, on the same tests and library; false where the file is not whole.
  bool load(const std::string& path);
  void save(const std::string& path) const;

  bool passed(size_t test) const { return seconds_[test] >= 0; }
  // Processor time.
  double seconds(size_t test) const { return seconds_[test]; }
  // Whether the test, or loading, reaches the site.
  bool reaches(size_t test, int site) const { return bits(test, site) & 1; }
  // Whether the mutant changes a value there: if not, the test cannot tell it.
  bool changes(size_t test, const Mutant& m) const { return bits(test, m.first) >> m.second & 1; }
  // The modes that a site has.
  unsigned modes(int site) const { return recorder_->modes[site]; }
  // Whether any test, or loading, reaches it.
  bool is_reached(int site) const;

 private:
  unsigned bits(size_t test, int site) const { return *at(test, site) | *at(tests_.size(), site); }
  uint8_t* at(size_t test, int site) const { return rows_ + test * sites_ + static_cast<size_t>(site); }
  uint8_t* row(size_t test) const { return at(test, 0); }
  size_t bytes() const { return (tests_.size() + 2) * sites_; }
  void run_once(const std::string& library, bool record);

  const Tests& tests_;
  const size_t sites_;
  Recorder* recorder_;  // shared with the processes that run tests
  double* taken_;       // by each test in the run that is going on
  uint8_t* rows_;       // a row for each test, that of loading, and the modes of each site
  std::vector<double> seconds_;
};

}  // namespace tenon::conformance

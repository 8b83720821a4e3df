#include "control.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace tenon::conformance {
namespace {

double seconds_of(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

double processor_seconds(int whose) {
  rusage used{};
  getrusage(whose, &used);
  return seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

double processor_seconds() { return processor_seconds(RUSAGE_SELF) + processor_seconds(RUSAGE_CHILDREN); }

}  // namespace

RunOptions options_of_runs() {
  RunOptions options;
  options.spec = "units=4";
  options.time_scale = 20;
  return options;
}

Control::Control(const Tests& tests, size_t sites) : tests_(tests), sites_(sites), seconds_(tests.size(), -1) {
  const size_t timed = tests.size() * sizeof(double);
  void* memory =
      mmap(nullptr, sizeof(Recorder) + timed + bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory for what tests reach");
  recorder_ = static_cast<Recorder*>(memory);
  taken_ = reinterpret_cast<double*>(recorder_ + 1);
  rows_ = reinterpret_cast<uint8_t*>(taken_) + timed;
  recorder_->row_of_loading = row(tests.size());
  recorder_->modes = row(tests.size() + 1);
}

void Control::run(const std::string& library) {
  seconds_.assign(tests_.size(), 0);
  char address[32];
  std::snprintf(address, sizeof address, "%llx",
                static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(recorder_)));
  setenv("TENON_MUTANT_RECORDER", address, 1);
  run_once(library, true);
  unsetenv("TENON_MUTANT_RECORDER");
  run_once(library, false);
}

void Control::run_once(const std::string& library, bool record) {
  Tests wrapped = tests_;
  for (size_t i = 0; i < wrapped.size(); ++i)
    wrapped[i].run = [this, i, record, run = tests_[i].run](Subject& s) {
      if (record && recorder_->process == getpid()) recorder_->record(row(i));
      const double start = processor_seconds();
      run(s);
      taken_[i] = processor_seconds() - start;
    };
  for (const Result& r : run_tests(library, wrapped, options_of_runs(), [](const Result&) {})) {
    const size_t i = static_cast<size_t>(r.test - wrapped.data());
    seconds_[i] = r.outcome == Outcome::kPass && passed(i) ? taken_[i] : -1;
    if (r.outcome == Outcome::kFail)
      std::fprintf(stderr, "control: %s fails: %s\n", r.test->id().c_str(), r.text.c_str());
  }
}

bool Control::is_reached(int site) const {
  for (size_t test = 0; test <= tests_.size(); ++test)
    if ((test == tests_.size() || passed(test)) && *at(test, site) & 1) return true;
  return false;
}

bool Control::load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  in.read(reinterpret_cast<char*>(seconds_.data()), static_cast<std::streamsize>(seconds_.size() * sizeof(double)));
  in.read(reinterpret_cast<char*>(rows_), static_cast<std::streamsize>(bytes()));
  return in.good() && in.peek() == EOF;
}

void Control::save(const std::string& path) const {
  std::ofstream out(path + ".part", std::ios::binary);
  out.write(reinterpret_cast<const char*>(seconds_.data()),
            static_cast<std::streamsize>(seconds_.size() * sizeof(double)));
  out.write(reinterpret_cast<const char*>(rows_), static_cast<std::streamsize>(bytes()));
  out.close();
  if (out) std::rename((path + ".part").c_str(), path.c_str());
}

}  // namespace tenon::conformance

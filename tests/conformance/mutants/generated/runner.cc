// Tries generated mutants: each against the tests that reach it, of every suite by turns the quickest of each group first,
// until one tells it from what was written.
//
//   mutant_runner LIB.so sites.tsv RESULTS.tsv [--seconds S] [--seed N] [--jobs J] [--most N] [--each S] [--control FILE]
//                 [--sites RE] [--tests RE] [--only FILE] [--limit S]
//
// A control run on the library as written records what each test reaches; FILE keeps it for the next time. Then mutants are
// drawn in an order that the seed decides, until S seconds or N mutants are over. Each gets tests that took S seconds of the
// control run, --each; tests with time limits above S seconds, --limit, are left out. FILE of --only has lines "site:mode".
// RESULTS gets a line for each that was tried: site, mode, caught or missed, the tests tried and how many reach it, what
// failed. What is in it already is not tried again.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "conformance/host/harness.h"
#include "recorder.h"

namespace tenon::conformance {
namespace {

struct Command {
  std::string library, sites, results, control, only, list, tests;
  double seconds = 1e9, each = 2, limit = 1e9;
  uint64_t seed = 1;
  int jobs = 1;
  size_t most = SIZE_MAX;
};

struct Site {
  int number = 0, modes = 0;  // of the text: bit m
};

struct Mutant {
  int site, mode;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

RunOptions options_of(double time_scale) {
  RunOptions options;
  options.spec = "units=4";
  options.time_scale = time_scale;
  return options;
}

// ---- the control ----

// What every test reaches, a byte of modes for each site; the last row is that of loading, which all tests share.
class Control {
 public:
  Control(const Tests& tests, size_t sites) : tests_(tests), sites_(sites) {
    void* memory = mmap(nullptr, sizeof(Recorder) + bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("no memory for what tests reach");
    recorder_ = static_cast<Recorder*>(memory);
    rows_ = static_cast<uint8_t*>(memory) + sizeof(Recorder);
  }

  uint8_t modes(size_t test, int site) const { return rows_[test * sites_ + static_cast<size_t>(site)]; }
  uint8_t modes_of_loading(int site) const { return modes(tests_.size(), site); }
  bool passed(size_t test) const { return seconds_[test] >= 0; }
  double seconds(size_t test) const { return seconds_[test]; }

  void run(const std::string& library) {
    seconds_.assign(tests_.size(), -1);
    recorder_->row_of_loading = row(tests_.size());
    char address[32];
    std::snprintf(address, sizeof address, "%llx",
                  static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(recorder_)));
    setenv("TENON_MUTANT_RECORDER", address, 1);
    Tests recorded = tests_;
    for (size_t i = 0; i < recorded.size(); ++i)
      recorded[i].run = [this, i, run = tests_[i].run](Subject& s) {
        if (recorder_->process == getpid()) recorder_->record(row(i));
        run(s);
      };
    for (const Result& r : run_tests(library, recorded, options_of(10), [](const Result&) {})) {
      const size_t i = static_cast<size_t>(r.test - recorded.data());
      if (r.outcome == Outcome::kPass) seconds_[i] = r.seconds;
      if (r.outcome == Outcome::kFail)
        std::fprintf(stderr, "control: %s fails: %s\n", r.test->id().c_str(), r.text.c_str());
    }
    unsetenv("TENON_MUTANT_RECORDER");
  }

  bool load(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    seconds_.resize(tests_.size());
    in.read(reinterpret_cast<char*>(seconds_.data()), static_cast<std::streamsize>(seconds_.size() * sizeof(double)));
    in.read(reinterpret_cast<char*>(rows_), static_cast<std::streamsize>(bytes()));
    return in.good() && in.peek() == EOF;
  }
  void save(const std::string& path) const {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(seconds_.data()),
              static_cast<std::streamsize>(seconds_.size() * sizeof(double)));
    out.write(reinterpret_cast<const char*>(rows_), static_cast<std::streamsize>(bytes()));
  }

 private:
  size_t bytes() const { return (tests_.size() + 1) * sites_; }
  uint8_t* row(size_t test) const { return rows_ + test * sites_; }

  const Tests& tests_;
  const size_t sites_;
  Recorder* recorder_ = nullptr;
  uint8_t* rows_ = nullptr;
  std::vector<double> seconds_;
};

// ---- a mutant ----

// Each suite by turns: of a suite first the quickest test of each group, then the next of each, .. Most tests are of ops, and
// would leave no time for the others.
std::vector<size_t> by_suites(const Tests& tests, const std::vector<size_t>& order) {
  std::map<std::string, size_t> next;
  std::vector<std::pair<size_t, size_t>> turns;  // place within the suite, test
  for (const size_t test : order) turns.emplace_back(next[tests[test].suite]++, test);
  std::stable_sort(turns.begin(), turns.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<size_t> out;
  for (const auto& [place, test] : turns) out.push_back(test);
  return out;
}

// The tests that reach it, in the order in which they are tried.
std::vector<size_t> reaching(const Tests& tests, const Control& control, const Mutant& m) {
  const bool always = control.modes_of_loading(m.site) >> m.mode & 1;
  std::map<std::string, std::vector<size_t>> groups;
  for (size_t i = 0; i < tests.size(); ++i)
    if (control.passed(i) && (always || (control.modes(i, m.site) >> m.mode & 1)))
      groups[tests[i].suite + "/" + tests[i].group].push_back(i);
  std::vector<std::pair<size_t, size_t>> order;  // place within the group, test
  for (auto& [name, members] : groups) {
    std::sort(members.begin(), members.end(),
              [&](size_t a, size_t b) { return control.seconds(a) < control.seconds(b); });
    for (size_t k = 0; k < members.size(); ++k) order.emplace_back(k, members[k]);
  }
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : control.seconds(a.second) < control.seconds(b.second);
  });
  std::vector<size_t> out;
  for (const auto& [place, test] : order) out.push_back(test);
  return by_suites(tests, out);
}

// As many of the order as `seconds` are enough for, and some in any case; spread evenly over what is too much.
std::vector<size_t> affordable(const std::vector<size_t>& order, const Control& control, double seconds) {
  constexpr size_t kLeast = 24;
  std::vector<size_t> out;
  double sum = 0;
  for (const size_t test : order) {
    const bool early = out.size() < kLeast;
    if (!early && sum + control.seconds(test) > seconds) continue;
    if (early && out.size() > 4 && sum + control.seconds(test) > 4 * seconds) continue;
    sum += control.seconds(test);
    out.push_back(test);
  }
  return out;
}

// In a process of its own: 0 when no test tells, 1 and a line on `out` when one does.
[[noreturn]] void try_mutant(const std::string& library, const Tests& tests, const std::vector<size_t>& chosen,
                             const Mutant& m, double cpu_seconds, int out) {
  const rlimit cpu{static_cast<rlim_t>(cpu_seconds), static_cast<rlim_t>(cpu_seconds) + 1};
  setrlimit(RLIMIT_CPU, &cpu);  // of each child: a loop without end is stopped whatever else the machine does
  setenv("TENON_MUTANT", (std::to_string(m.site) + ":" + std::to_string(m.mode)).c_str(), 1);
  Tests few;
  for (const size_t i : chosen) few.push_back(tests[i]);
  run_tests(library, few, options_of(0.5), [&](const Result& r) {
    if (r.outcome == Outcome::kPass) return;
    const std::string line = r.test->id() + ": " + r.text.substr(0, 200);
    if (write(out, line.data(), line.size()) < 0) _exit(2);
    _exit(1);
  });
  _exit(0);
}

class Trials {
 public:
  Trials(const Command& command, const Tests& tests, const Control& control, std::ostream& results)
      : command_(command), tests_(tests), control_(control), results_(results) {}

  void run(const std::vector<Mutant>& mutants) {
    const double end = now() + command_.seconds;
    size_t next = 0;
    while (next < mutants.size() && next < command_.most && now() < end) {
      if (running_.size() < static_cast<size_t>(command_.jobs))
        start(mutants[next++]);
      else
        finish_one();
    }
    while (!running_.empty()) finish_one();
    results_.flush();
  }

 private:
  struct Running {
    Mutant mutant;
    int out;
    size_t tried, reach;
  };

  void start(const Mutant& m) {
    const std::vector<size_t> all = reaching(tests_, control_, m);
    const std::vector<size_t> chosen = affordable(all, control_, command_.each);
    int fds[2];
    if (pipe(fds) != 0) throw std::runtime_error("no pipe");
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error("no process");
    if (pid == 0) {
      close(fds[0]);
      try_mutant(command_.library, tests_, chosen, m, 20 + 20 * command_.each, fds[1]);
    }
    close(fds[1]);
    running_[pid] = {m, fds[0], chosen.size(), all.size()};
  }

  void finish_one() {
    int status = 0;
    const pid_t pid = wait(&status);
    const auto found = running_.find(pid);
    if (found == running_.end()) return;
    const Running r = found->second;
    running_.erase(found);
    char text[512];
    const ssize_t n = read(r.out, text, sizeof text);
    close(r.out);
    const bool caught = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    results_ << r.mutant.site << '\t' << r.mutant.mode << '\t' << (caught ? "caught" : "missed") << '\t' << r.tried
             << '\t' << r.reach << '\t' << std::string(text, n > 0 ? static_cast<size_t>(n) : 0) << std::endl;
  }

  const Command& command_;
  const Tests& tests_;
  const Control& control_;
  std::ostream& results_;
  std::map<pid_t, Running> running_;
};

// ---- all of them ----

std::vector<Site> read_sites(const Command& command, size_t* count) {
  std::ifstream in(command.sites);
  std::vector<Site> sites;
  const std::regex only(command.only);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::vector<std::string> f;
    for (std::string field; std::getline(fields, field, '\t');) f.push_back(field);
    if (f.size() < 6) throw std::runtime_error(command.sites + ": a line has too few fields");
    Site site{std::stoi(f[0]), 0};
    std::istringstream modes(f[5]);
    for (std::string mode; std::getline(modes, mode, '|');) {
      if (mode.empty() || mode[0] < '0' || mode[0] > '9') continue;  // the text of a mode may have a bar
      site.modes |= 1 << std::stoi(mode);
    }
    *count = std::max(*count, static_cast<size_t>(site.number) + 1);
    if (command.only.empty() || std::regex_search(line, only)) sites.push_back(site);
  }
  return sites;
}

struct Found {
  std::vector<Mutant> mutants;
  std::vector<int> unreached;  // sites
  size_t meaningless = 0;      // of sites that are reached: a narrower number where none is too large for it
};

Found mutants_of(const std::vector<Site>& sites, const Tests& tests, const Control& control) {
  Found out;
  for (const Site& site : sites) {
    unsigned reached = control.modes_of_loading(site.number);
    for (size_t t = 0; t < tests.size(); ++t) reached |= control.passed(t) ? control.modes(t, site.number) : 0u;
    if (!reached) out.unreached.push_back(site.number);
    for (int mode = 1; mode < 8 && reached; ++mode) {
      if (!(site.modes >> mode & 1)) continue;
      if (reached >> mode & 1)
        out.mutants.push_back({site.number, mode});
      else
        ++out.meaningless;
    }
  }
  return out;
}

// Those that a file of results has.
void leave_out_tried(const std::string& path, std::vector<Mutant>* mutants) {
  std::ifstream in(path);
  std::set<std::pair<int, int>> tried;
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::pair<int, int> mutant;
    if (fields >> mutant.first >> mutant.second) tried.insert(mutant);
  }
  mutants->erase(std::remove_if(mutants->begin(), mutants->end(),
                                [&](const Mutant& m) {
                                  return tried.count({m.site, m.mode}) != 0;
                                }),
                 mutants->end());
}

void keep_listed(const std::string& path, std::vector<Mutant>* mutants) {
  std::ifstream in(path);
  std::set<std::string> listed;
  for (std::string line; std::getline(in, line);) listed.insert(line);
  const auto name = [](const Mutant& m) { return std::to_string(m.site) + ":" + std::to_string(m.mode); };
  mutants->erase(
      std::remove_if(mutants->begin(), mutants->end(), [&](const Mutant& m) { return !listed.count(name(m)); }),
      mutants->end());
}

Command parse(int argc, char** argv) {
  if (argc < 4) throw std::invalid_argument("usage: mutant_runner LIB.so sites.tsv RESULTS.tsv [options]");
  Command c;
  c.library = argv[1], c.sites = argv[2], c.results = argv[3];
  for (int i = 4; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--seconds")
      c.seconds = std::stod(value);
    else if (option == "--seed")
      c.seed = std::stoull(value);
    else if (option == "--jobs")
      c.jobs = std::stoi(value);
    else if (option == "--most")
      c.most = std::stoull(value);
    else if (option == "--each")
      c.each = std::stod(value);
    else if (option == "--limit")
      c.limit = std::stod(value);
    else if (option == "--control")
      c.control = value;
    else if (option == "--sites")
      c.only = value;
    else if (option == "--tests")
      c.tests = value;
    else if (option == "--only")
      c.list = value;
    else
      throw std::invalid_argument("no such option: " + option);
  }
  return c;
}

int run(const Command& command) {
  size_t count = 0;
  const std::vector<Site> sites = read_sites(command, &count);
  Tests tests = all_tests(kDrawn, true);
  const std::regex chosen(command.tests);
  tests.erase(std::remove_if(tests.begin(), tests.end(),
                             [&](const Test& test) {
                               return test.time_limit_s > command.limit || !std::regex_search(test.id(), chosen);
                             }),
              tests.end());
  Control control(tests, count);
  const double start = now();
  if (command.control.empty() || !control.load(command.control)) {
    control.run(command.library);
    if (!command.control.empty()) control.save(command.control);
  }
  Found found = mutants_of(sites, tests, control);
  std::vector<Mutant>& mutants = found.mutants;
  if (!command.list.empty()) keep_listed(command.list, &mutants);
  const size_t all = mutants.size();
  leave_out_tried(command.results, &mutants);
  std::printf("%zu tests, %zu sites, %zu of them reached by no test\n", tests.size(), sites.size(),
              found.unreached.size());
  std::printf("%zu mutants, %zu of them tried before; %zu more would change no value of any test\n", all,
              all - mutants.size(), found.meaningless);
  std::printf("control: %.0f s\n", now() - start);
  std::fflush(stdout);
  std::ofstream results(command.results, std::ios::app);
  if (all == mutants.size())
    for (const int site : found.unreached) results << site << "\t0\tunreached\t0\t0\t\n";
  std::mt19937_64 random(command.seed);
  for (size_t i = mutants.size(); i > 1; --i) std::swap(mutants[i - 1], mutants[random() % i]);
  Trials(command, tests, control, results).run(mutants);
  return 0;
}

}  // namespace
}  // namespace tenon::conformance

int main(int argc, char** argv) {
  try {
    return tenon::conformance::run(tenon::conformance::parse(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mutant_runner: %s\n", e.what());
    return 2;
  }
}

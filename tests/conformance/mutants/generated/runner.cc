// Tries generated mutants on the conformance suite.
//
//   mutant_runner LIB.so sites.tsv RESULTS.tsv [--seconds S] [--seed N] [--jobs J] [--each S] [--control FILE]
//                 [--sites RE] [--tests RE] [--only FILE] [--without FILE] [--limit S] [--above S] [--group N] [--list FILE]
//
// A control run on the library as written records what each test reaches and changes; FILE keeps it for the next time. Then
// mutants are drawn in an order that the seed decides, until S seconds are over. Each gets tests that took S seconds of the
// control run, --each, in which it changes a value; tests with time limits above S seconds, --limit, are left out, and up to S
// seconds, --above. FILE of --only and --without has lines "site:mode". With --group N all tests that reach a mutant try it: N
// mutants at once, and where a test tells, the one that it is. RESULTS gets a line for each mutant (mutants.h); what is in it is
// not tried again. With --list nothing is tried: FILE gets the mutants that would be, those of RESULTS too.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <random>
#include <regex>
#include <stdexcept>

#include "order.h"
#include "trial.h"

namespace tenon::conformance {
namespace {

struct Command {
  std::string library, sites, results, control, site, tests, only, without, list;
  double seconds = 1e9, each = 2, limit = 1e9, above = 0;
  uint64_t seed = 1;
  size_t jobs = 1, group = 0;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Trials {
 public:
  Trials(const Command& command, const Tests& tests, const Control& control, Results* results)
      : command_(command),
        tests_(tests),
        control_(control),
        results_(*results),
        order_(tests, control),
        end_(now() + command.seconds) {
    for (const auto& [mutant, test] : results->catchers()) order_.note_catch(mutant, test);
  }

  void run_each(const Mutants& mutants) {
    std::vector<Trial> running;
    for (size_t next = 0; (next < mutants.size() && now() < end_) || !running.empty();) {
      while (running.size() < command_.jobs && next < mutants.size() && now() < end_) start(mutants[next++], &running);
      await_events(running);
      for (size_t i = running.size(); i-- > 0;) {
        if (!running[i].look()) continue;
        note(running[i]);
        std::vector<Trial> others;
        for (size_t k = 0; k < running.size(); ++k)
          if (k != i) others.push_back(std::move(running[k]));
        running.swap(others);
      }
    }
  }

  // One group at a time.
  void run_groups(Mutants mutants) {
    while (!mutants.empty() && now() < end_) {
      const size_t n = std::min(command_.group, mutants.size());
      Mutants group(mutants.end() - static_cast<std::ptrdiff_t>(n), mutants.end());
      mutants.resize(mutants.size() - n);
      const Mutants later = run_group(std::move(group));
      mutants.insert(mutants.end(), later.begin(), later.end());
    }
  }

 private:
  void start(const Mutant& m, std::vector<Trial>* running) {
    size_t reach = 0;
    std::vector<size_t> order = order_.for_one(m, command_.each, &reach);
    reach_[m] = reach;
    if (order.empty()) return results_.add(m, "missed", 0, 0);  // it changes no value of any test
    running->emplace_back(command_.library, tests_, control_, std::move(order), Mutants{m});
  }

  // Throws where a test cannot be tried without a mutant either, since other programs took the memory that it had in the control.
  void expect_tried(const Trial& trial) const {
    if (!trial.unavailable()) return;
    const Trial as_written = tried(command_.library, tests_, control_, {trial.teller()}, {});
    if (as_written.told()) throw std::runtime_error("a test of the control run cannot be tried: " + as_written.said());
  }

  void note(const Trial& trial) {
    expect_tried(trial);
    const Mutant m = trial.mutants()[0];
    results_.add(m, trial.told() ? "caught" : "missed", trial.passed() + trial.told(), reach_[m], trial.said());
    if (trial.told()) order_.note_catch(m, results_.catchers().at(m));
  }

  // Those that are to be tried again in another group, as a test told two of them together and neither alone.
  Mutants run_group(Mutants group) {
    Mutants later;
    std::vector<size_t> order = order_.for_group(group);
    const size_t all = order.size();
    while (!group.empty() && !order.empty() && now() < end_) {
      const Trial trial = tried(command_.library, tests_, control_, order, group);
      if (!trial.told()) break;
      const auto place = order.begin() + static_cast<std::ptrdiff_t>(std::min(trial.passed(), order.size() - 1));
      const std::vector<size_t> ran(order.begin(), place + 1);
      order.erase(order.begin(), place);
      std::printf("%zu together, %zu of %zu tests: %s\n", group.size(), all - order.size(), all, trial.said().c_str());
      std::fflush(stdout);
      std::vector<size_t> tests = {order[0]};
      size_t one = find_told(tests, group);
      if (one == group.size()) one = find_told(tests = ran, group);  // one before it did the damage
      if (one == group.size()) {                                     // not again
        order.erase(order.begin());
        continue;
      }
      const Trial alone = tried(command_.library, tests_, control_, tests, {group[one]});
      expect_tried(alone);
      if (alone.told())
        results_.add(group[one], "caught", all - order.size() + 1, all, alone.said());
      else
        later.push_back(group[one]);
      group.erase(group.begin() + static_cast<std::ptrdiff_t>(one));
    }
    if (now() < end_)
      for (const Mutant& m : group) results_.add(m, "missed", all, all);
    return later;
  }

  // The last of the fewest first ones that the tests tell from what was written; their number if they tell none.
  size_t find_told(const std::vector<size_t>& tests, const Mutants& group) const {
    size_t passes = 0, fails = group.size() + 1;
    while (fails - passes > 1) {
      const size_t n = fails > group.size() ? group.size() : (passes + fails) / 2;
      const Mutants first(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(n));
      const bool told = tried(command_.library, tests_, control_, tests, first).told();
      if (!told && n == group.size()) return n;
      (told ? fails : passes) = n;
    }
    return fails - 1;
  }

  const Command& command_;
  const Tests& tests_;
  const Control& control_;
  Results& results_;
  Order order_;
  const double end_;
  std::map<Mutant, size_t> reach_;
};

// ---- all of them ----

struct Found {
  Mutants mutants;
  std::vector<int> unreached;  // sites
  size_t not_shown = 0;        // modes of sites that are reached, which no test has a value for
};

Found mutants_of(const std::vector<Site>& sites, const Control& control) {
  Found out;
  for (const Site& site : sites) {
    if (!control.is_reached(site.number)) {
      out.unreached.push_back(site.number);
      continue;
    }
    for (int mode = 1; mode < 8; ++mode) {
      if (!(site.modes >> mode & 1)) continue;
      if (control.modes(site.number) >> mode & 1)
        out.mutants.emplace_back(site.number, mode);
      else
        ++out.not_shown;
    }
  }
  return out;
}

Command parse(int argc, char** argv) {
  if (argc < 4) throw std::invalid_argument("usage: mutant_runner LIB.so sites.tsv RESULTS.tsv [options]");
  Command c;
  c.library = argv[1], c.sites = argv[2], c.results = argv[3];
  const std::map<std::string, std::string*> texts = {{"--control", &c.control},
                                                     {"--sites", &c.site},
                                                     {"--tests", &c.tests},
                                                     {"--only", &c.only},
                                                     {"--without", &c.without},
                                                     {"--list", &c.list}};
  const std::map<std::string, double*> numbers = {
      {"--seconds", &c.seconds}, {"--each", &c.each}, {"--limit", &c.limit}, {"--above", &c.above}};
  const std::map<std::string, size_t*> counts = {{"--seed", &c.seed}, {"--jobs", &c.jobs}, {"--group", &c.group}};
  for (int i = 4; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (texts.count(option))
      *texts.at(option) = value;
    else if (numbers.count(option))
      *numbers.at(option) = std::stod(value);
    else if (counts.count(option))
      *counts.at(option) = std::stoull(value);
    else
      throw std::invalid_argument("no such option: " + option);
  }
  return c;
}

Tests tests_of(const Command& command) {
  Tests tests = all_tests(kDrawn, true);
  const std::regex chosen(command.tests);
  const auto is_left_out = [&](const Test& test) {
    return test.time_limit_s > command.limit || test.time_limit_s <= command.above ||
           !std::regex_search(test.id(), chosen);
  };
  tests.erase(std::remove_if(tests.begin(), tests.end(), is_left_out), tests.end());
  return tests;
}

int list(const Mutants& mutants, const std::string& path) {
  std::ofstream out(path);
  for (const auto& [site, mode] : mutants) out << site << ':' << mode << '\n';
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path);
  return 0;
}

int run(const Command& command) {
  size_t count = 0;
  const std::vector<Site> sites = read_sites(command.sites, command.site, &count);
  const Tests tests = tests_of(command);
  Control control(tests, count);
  const double start = now();
  if (command.control.empty() || !control.load(command.control)) {
    control.run(command.library);
    if (!command.control.empty()) control.save(command.control);
  }
  Found found = mutants_of(sites, control);
  Mutants mutants = command.only.empty() ? found.mutants : listed_in(command.only, found.mutants, true);
  if (!command.without.empty()) mutants = listed_in(command.without, mutants, false);
  if (!command.list.empty()) return list(mutants, command.list);
  const size_t all = mutants.size();
  Results results(command.results);
  mutants.erase(std::remove_if(mutants.begin(), mutants.end(), [&](const Mutant& m) { return results.has(m); }),
                mutants.end());
  std::printf("%zu tests, %zu sites, %zu of them reached by no test\n", tests.size(), sites.size(),
              found.unreached.size());
  std::printf("%zu mutants, %zu of them tried before; %zu more would change no value of any test\n", all,
              all - mutants.size(), found.not_shown);
  std::printf("control: %.0f s\n", now() - start);
  std::fflush(stdout);
  for (const int site : found.unreached)
    if (!results.has({site, 0})) results.add({site, 0}, "unreached", 0, 0);
  std::mt19937_64 random(command.seed);
  for (size_t i = mutants.size(); i > 1; --i) std::swap(mutants[i - 1], mutants[random() % i]);
  Trials trials(command, tests, control, &results);
  if (command.group)
    trials.run_groups(mutants);
  else
    trials.run_each(mutants);
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

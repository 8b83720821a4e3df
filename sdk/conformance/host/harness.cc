#include "conformance/host/harness.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <regex>

#include "conformance/host/cache.h"
#include "conformance/host/child.h"
#include "conformance/host/subject.h"
#include "conformance/sanitizer.h"
#include "conformance/validator.h"

namespace tenon::conformance {
namespace {

constexpr int kDeathsOfAGroup = 3;
constexpr int kTimeouts = 8;
constexpr double kEndSeconds = 60;  // for closing the device and ending the process

using Clock = Child::Clock;
using Selection = std::vector<const Test*>;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

std::string group_of(const Test& test) { return test.suite + "/" + test.group; }

// ---- in the child ----

const Line* line_of_child = nullptr;

std::string describe(Subject& subject) {
  const tenon_backend& b = subject.backend();
  std::string text = one_line(b.name) + " " + one_line(b.version) + ", ABI " + std::to_string(b.abi_major) + "." +
                     std::to_string(b.abi_minor);
  try {
    const std::vector<tenon_unit>& units = subject.units();
    for (size_t i = 0; i < units.size() && i < 8; ++i)
      text += "\nunit " + std::to_string(i) + ": " +
              one_line(std::string(units[i].name, strnlen(units[i].name, 64)).c_str()) +
              (units[i].flags & TENON_UNIT_INLINE ? ", inline" : "") +
              (units[i].flags & TENON_UNIT_EMULATED ? ", emulated" : "");
    if (units.size() > 8) text += "\nand " + std::to_string(units.size() - 8) + " units more";
  } catch (const Failure& f) {
    text += "\n" + f.text;
  } catch (const Unavailable& u) {
    text += "\n" + u.reason;
  } catch (const Unsupported& u) {
    text += "\n" + u.reason;
  }
  return text;
}

// Runs what throws as suites do.
template <class F>
Message outcome_of(F run) {
  Message end;
  end.kind = Message::kEnd;
  const auto is = [&end](Outcome outcome, std::string text) {
    end.outcome = static_cast<int32_t>(outcome);
    end.text = std::move(text);
  };
  const Clock::time_point start = Clock::now();
  try {
    run();
  } catch (const Failure& f) {
    is(Outcome::kFail, f.text);
  } catch (const Unsupported& u) {
    is(Outcome::kUnsupported, u.reason);
  } catch (const Unavailable& u) {
    is(Outcome::kUnavailable, u.reason);
  } catch (const Declined& d) {
    is(Outcome::kDeclined, d.reason);
  } catch (const std::exception& e) {
    is(Outcome::kFail, std::string("an exception: ") + e.what());
  } catch (...) {
    is(Outcome::kFail, "an exception of unknown type");
  }
  end.seconds = seconds_since(start);
  return end;
}

// The library as one child knows it: under the validation layer, and as it is. What fails to load throws.
class Loaded {
 public:
  Loaded(const std::string& library, const RunOptions& options) : library_(library), options_(options) {}

  // Tests of the library's own table get it without the layer, and so do those that count what is left in memory.
  Subject& subject_for(const Test& test) {
    return subject(options_.validate && test.suite != "load" && test.suite != "leaks");
  }

  Message run(const Test& test) {
    Message end = outcome_of([&] { test.run(subject_for(test)); });
    const Violations found = take_violations();  // what was found as it was loaded is the first test's
    if (!found.of_backend.empty()) return name_violation(end, found.of_backend);
    if (found.of_host.empty()) return end;
    return outcome_of([&] { test.run(subject(false)); });  // it breaks the contract: the layer did not let it through
  }

  // Closes the devices. What the layer finds then is printed, and the process fails.
  void close() {
    validated_.reset(), bare_.reset();
    const std::string line = take_violations().of_backend;
    if (line.empty()) return;
    std::fprintf(stderr, "%s\n", line.c_str());
    std::exit(1);
  }

 private:
  Subject& subject(bool validate) {
    validate_backends(validate);
    std::unique_ptr<Subject>& subject = validate ? validated_ : bare_;
    if (subject) return *subject;
    auto made = std::make_unique<Subject>(library_, options_.seed, 2, options_.spec);
    if (!options_.cache.empty()) made->cache().keep_in(options_.cache, library_);
    return *(subject = std::move(made));
  }

  static Message name_violation(Message end, const std::string& line) {
    const bool failed = end.outcome == static_cast<int32_t>(Outcome::kFail);
    if (!failed)
      end.text = line;
    else if (end.text.find(line) == std::string::npos)
      end.text = line + "; " + end.text;
    end.outcome = static_cast<int32_t>(Outcome::kFail);
    return end;
  }

  const std::string& library_;
  const RunOptions& options_;
  std::unique_ptr<Subject> validated_, bare_;
};

void work(const std::string& library, const Selection& tests, size_t first, size_t last, const RunOptions& options,
          const Line& line) {
  line_of_child = &line;
  Loaded loaded(library, options);
  for (size_t i = first; i < last; ++i) {
    const uint32_t index = static_cast<uint32_t>(i);
    line.send({Message::kBegin, index, 0, 0, ""});
    if (i == first) {
      std::string description;
      const Message load = outcome_of([&] { description = describe(loaded.subject_for(*tests[i])); });
      std::fflush(nullptr);
      if (description.empty()) return line.send({Message::kRefused, index, 0, 0, load.text});
      line.send({Message::kLoaded, index, 0, 0, description});
    }
    Message end = loaded.run(*tests[i]);
    end.index = index;
    std::fflush(nullptr);
    line.send(end);
    line.await_go();
  }
  loaded.close();
}

// ---- in the parent ----

// The line of what a process printed that says most: a sanitizer's, or the first.
std::string telling_line(const std::string& printed) {
  std::string first;
  for (size_t at = 0; at < printed.size();) {
    const size_t end = std::min(printed.find('\n', at), printed.size());
    const std::string line = one_line(printed.substr(at, end - at).c_str());
    at = end + 1;
    for (const char* mark : {"ERROR:", "WARNING: ThreadSanitizer", "runtime error:"})
      if (line.find(mark) != std::string::npos) return line;
    if (first.empty() && line.find_first_not_of("= ") != std::string::npos) first = line;
  }
  return first;
}

class Runner {
 public:
  Runner(const std::string& library, const Selection& tests, const RunOptions& options,
         const std::function<void(const Result&)>& done)
      : library_(library), tests_(tests), options_(options), done_(done) {}

  std::vector<Result> run() {
    for (size_t next = 0; next < tests_.size();) {
      if (const std::string why = given_up(*tests_[next]); !why.empty()) {
        skip(next++, why);
        continue;
      }
      size_t last = next + 1;
      while (last < tests_.size() && !tests_[next]->own_process && !tests_[last]->own_process) ++last;
      next = run_child(next, last);
    }
    return std::move(results_);
  }

 private:
  void add(size_t index, Outcome outcome, const std::string& text, double seconds) {
    results_.push_back({tests_[index], outcome, one_line(text.c_str()), seconds});
    done_(results_.back());
  }

  // Why a test is not tried any more, or nothing.
  std::string given_up(const Test& test) const {
    if (!refusal_.empty()) return "the library was not loaded";
    if (timeouts_ >= kTimeouts) return std::to_string(kTimeouts) + " tests ran past their time";
    const auto found = deaths_.find(group_of(test));
    if (found == deaths_.end() || found->second < kDeathsOfAGroup) return "";
    return std::to_string(kDeathsOfAGroup) + " tests of this group ended their process";
  }

  void skip(size_t index, const std::string& why) {
    const bool first = refusal_.empty() && given_up_.insert({group_of(*tests_[index]), true}).second;
    add(index, first ? Outcome::kFail : Outcome::kUnavailable, "not tried: " + why, 0);
  }

  double limit(double seconds) const { return seconds * options_.time_scale * kSlower; }

  static Clock::time_point after(double seconds) {
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e6)));
  }

  // Runs tests first..last-1 in one child, as far as it gets; the index of the first that has no result.
  size_t run_child(size_t first, size_t last) {
    Child child([&](const Line& line) { work(library_, tests_, first, last, options_, line); });
    Message message, end;  // `end`: of the last test, until it is known how the process ends
    bool loaded = false;
    size_t at = first;
    double seconds = kEndSeconds;
    Clock::time_point start = Clock::now();
    for (;;) {
      const Child::Event event = child.next(&message, after(limit(seconds) - seconds_since(start)));
      if (StopSignals::received()) return tests_.size();
      if (event == Child::Event::kTimeout) return hung(at, last, end, seconds, seconds_since(start));
      if (event == Child::Event::kEnded) return ended(child, at, last, end, loaded, seconds_since(start));
      if (message.kind == Message::kRefused) return refused(at, message.text);
      doing_ = message.kind == Message::kDoing ? ", in " + message.text : "";
      if (message.kind == Message::kDoing) continue;
      if (message.kind == Message::kLoaded) loaded = true, describe(message.text);
      start = message.kind == Message::kLoaded ? start : Clock::now();
      if (message.kind == Message::kBegin) seconds = tests_[at]->time_limit_s;
      if (message.kind != Message::kEnd) continue;
      seconds = kEndSeconds;
      note_printed(child, &message);
      child.go();
      if (at + 1 == last)
        end = message;
      else
        add(at, static_cast<Outcome>(message.outcome), message.text, message.seconds);
      ++at;
    }
  }

  void describe(const std::string& text) {
    if (!described_ && options_.loaded) options_.loaded(text);
    described_ = true;
    early_deaths_ = 0;
  }

  // Once: what prints prints always.
  void note_printed(Child& child, Message* end) {
    const std::string printed = telling_line(child.take_printed());
    if (printed.empty() || printed_ || end->outcome == static_cast<int32_t>(Outcome::kFail)) return;
    printed_ = true;
    end->outcome = static_cast<int32_t>(Outcome::kFail);
    end->text = "the backend printed: " + printed;
  }

  size_t refused(size_t at, const std::string& why) {
    refusal_ = why;
    add(at, Outcome::kFail, why, 0);
    return at + 1;
  }

  size_t hung(size_t at, size_t last, const Message& end, double seconds, double taken) {
    ++timeouts_;
    if (at == last) return finish(last, end, "ran past " + seconds_text(limit(seconds)));
    ++deaths_[group_of(*tests_[at])];
    add(at, Outcome::kFail, "ran past " + seconds_text(limit(seconds)) + doing_, taken);
    return at + 1;
  }

  size_t ended(Child& child, size_t at, size_t last, const Message& end, bool loaded, double taken) {
    const std::string printed = telling_line(child.take_printed());
    const std::string fate = child.fate();
    const std::string why = (fate.empty() ? "exited with 0" : fate) + doing_ + (printed.empty() ? "" : ": " + printed);
    if (at == last) return finish(last, end, fate.empty() ? "" : why);
    if (!loaded && ++early_deaths_ == 2) return refused(at, "loading the library: " + why);
    ++deaths_[group_of(*tests_[at])];
    add(at, Outcome::kFail, why, taken);
    return at + 1;
  }

  // All tests of the child are done; `wrong`: how its process ended.
  size_t finish(size_t last, const Message& end, const std::string& wrong) {
    const bool passed = end.outcome != static_cast<int32_t>(Outcome::kFail);
    if (wrong.empty() || !passed)
      add(last - 1, static_cast<Outcome>(end.outcome), end.text, end.seconds);
    else
      add(last - 1, Outcome::kFail, "passed; then, when the device was closed and the process ended: " + wrong,
          end.seconds);
    return last;
  }

  const std::string& library_;
  const Selection& tests_;
  const RunOptions& options_;
  const std::function<void(const Result&)>& done_;
  std::vector<Result> results_;
  std::map<std::string, int> deaths_;     // by group
  std::map<std::string, bool> given_up_;  // groups of which that was said
  std::string doing_;                     // what the test does, ", in run without inputs"
  std::string refusal_;                   // why the library cannot be loaded
  int timeouts_ = 0, early_deaths_ = 0;
  bool described_ = false, printed_ = false;
};

}  // namespace

void doing(const std::string& what) {
  if (line_of_child) line_of_child->send({Message::kDoing, 0, 0, 0, what});
}

std::vector<const Test*> selected(const Tests& tests, const RunOptions& options) {
  const std::regex filter(options.filter);
  std::vector<const Test*> out;
  for (const Test& test : tests)
    if (test.level <= options.level && (options.filter.empty() || std::regex_search(test.id(), filter)))
      out.push_back(&test);
  return out;
}

// What replicas do is not shown where there is one unit.
bool stands_in_the_way(const Result& r) {
  constexpr int kReplicas = 4;
  if (r.outcome == Outcome::kUnavailable) return r.test->level == kReplicas;
  return r.outcome == Outcome::kFail || (r.outcome == Outcome::kUnsupported && r.test->required);
}

int level_of(const std::vector<Result>& results) {
  int least_broken = 5;
  bool computes = false;
  for (const Result& r : results) {
    if (stands_in_the_way(r)) least_broken = std::min(least_broken, r.test->level);
    computes = computes || (r.test->suite == "op" && r.outcome == Outcome::kPass);
  }
  return computes ? least_broken - 1 : -1;
}

std::vector<Result> run_tests(const std::string& library, const Tests& tests, const RunOptions& options,
                              const std::function<void(const Result&)>& done) {
  std::vector<Result> results;
  int stop = 0;
  {
    const StopSignals signals;
    results = Runner(library, selected(tests, options), options, done).run();
    stop = StopSignals::received();
  }
  if (stop) raise(stop);
  return results;
}

}  // namespace tenon::conformance

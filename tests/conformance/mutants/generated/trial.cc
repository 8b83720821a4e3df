#include "trial.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dirent.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace tenon::conformance {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
constexpr int kAsleep = 40;  // looks in a row that find every thread asleep: no test of the suite waits for so long
constexpr double kSlower = 20, kLeast = 1;  // times the control's processor time, and seconds

struct Stop {};

// ---- in the process of the trial ----

// Ends this process when it has taken so much processor time from now on.
void limit_time(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_PROF, &timer, nullptr);
}

[[noreturn]] void run_trial(const std::string& library, const Tests& tests, const Control& control,
                            const std::vector<size_t>& order, const Mutants& mutants, int out) {
  setenv("TENON_MUTANT", names_of(mutants).c_str(), 1);
  Tests chosen;
  double all = 0;
  for (const size_t i : order) {
    const double limit = kLeast + kSlower * control.seconds(i);
    all += limit - kLeast;
    chosen.push_back(tests[i]);
    chosen.back().run = [limit, run = tests[i].run](Subject& s) {
      limit_time(limit);
      run(s);
      limit_time(kLeast);  // for what closes
    };
  }
  const auto most = static_cast<rlim_t>(5 + all);  // of loading, and of each process that a test starts
  const rlimit limit{most, most + 1};
  setrlimit(RLIMIT_CPU, &limit);
  try {
    run_tests(library, chosen, options_of_runs(), [&](const Result& r) {
      const bool passes = r.outcome == Outcome::kPass;
      const char* mark = r.outcome == Outcome::kUnavailable ? "U" : "F";
      const std::string line = passes ? "." : mark + r.test->id() + ": " + r.text.substr(0, 200);
      if (write(out, line.data(), line.size()) < 0) _exit(1);
      if (!passes) throw Stop();  // and not _exit: what the test started is ended, too
    });
  } catch (const Stop&) {
  }
  _exit(0);
}

// ---- what it is doing ----

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  DIR* dir = opendir(folder.c_str());
  for (const dirent* entry = dir ? readdir(dir) : nullptr; entry; entry = readdir(dir))
    if (entry->d_name[0] != '.') names.push_back(entry->d_name);
  if (dir) closedir(dir);
  return names;
}

char state_in(const std::string& stat) {
  std::ifstream in(stat);
  std::string line;
  std::getline(in, line);
  const size_t name_end = line.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= line.size() ? 'X' : line[name_end + 2];
}

// Whether every thread of a process, and of those that it started, waits for something that is not the processor.
bool is_asleep(const std::string& pid) {
  const std::string tasks = "/proc/" + pid + "/task/";
  for (const std::string& thread : entries_of(tasks)) {
    const char state = state_in(tasks + thread + "/stat");
    if (state != 'S' && state != 'Z' && state != 'X') return false;
    std::ifstream children(tasks + thread + "/children");
    for (std::string child; children >> child;)
      if (!is_asleep(child)) return false;
  }
  return true;
}

}  // namespace

Trial::Trial(const std::string& library, const Tests& tests, const Control& control, std::vector<size_t> order,
             Mutants mutants)
    : tests_(&tests), order_(std::move(order)), mutants_(std::move(mutants)), last_look_(Clock::now()) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("no process");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    close(fds[0]);
    run_trial(library, tests, control, order_, mutants_, fds[1]);
  }
  close(fds[1]);
  out_ = fds[0];
  fcntl(out_, F_SETFL, O_NONBLOCK);
}

Trial::Trial(Trial&& other) noexcept
    : tests_(other.tests_),
      order_(std::move(other.order_)),
      mutants_(std::move(other.mutants_)),
      pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      told_(other.told_),
      unavailable_(other.unavailable_),
      stopped_(other.stopped_),
      passed_(other.passed_),
      said_(std::move(other.said_)),
      looks_asleep_(other.looks_asleep_),
      last_look_(other.last_look_) {}

Trial::~Trial() {
  if (out_ >= 0) close(out_);
  if (pid_ < 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

bool Trial::look() {
  read_events();
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) {
    read_events();
    end(status);
    return true;
  }
  if (!stopped_ && asleep_for_long()) {
    stopped_ = true;
    kill(pid_, SIGTERM);  // it ends what its test started
  }
  return false;
}

void Trial::read_events() {
  char block[1024];
  for (ssize_t n; (n = read(out_, block, sizeof block)) > 0;)
    for (const char c : std::string(block, static_cast<size_t>(n))) {
      looks_asleep_ = 0;
      if (said_.empty() && c == '.')
        ++passed_;
      else
        said_ += c;
    }
}

bool Trial::asleep_for_long() {
  if (Clock::now() < last_look_ + kBetweenLooks) return false;
  last_look_ = Clock::now();
  looks_asleep_ = is_asleep(std::to_string(pid_)) ? looks_asleep_ + 1 : 0;
  return looks_asleep_ >= kAsleep;
}

void Trial::end(int status) {
  pid_ = -1;
  told_ = !said_.empty() || stopped_ || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  unavailable_ = said_.starts_with('U');
  if (!said_.empty())
    said_.erase(0, 1);
  else if (told_ && passed_ < order_.size())
    said_ = (*tests_)[order_[passed_]].id() + ": " + (stopped_ ? "every thread is asleep" : "the suite ends");
}

Trial tried(const std::string& library, const Tests& tests, const Control& control, std::vector<size_t> order,
            Mutants mutants) {
  std::vector<Trial> one;
  one.emplace_back(library, tests, control, std::move(order), std::move(mutants));
  while (!one[0].look()) await_events(one);
  return std::move(one[0]);
}

void await_events(const std::vector<Trial>& trials) {
  std::vector<pollfd> fds;
  for (const Trial& trial : trials) fds.push_back({trial.events(), POLLIN, 0});
  poll(fds.data(), fds.size(), static_cast<int>(kBetweenLooks.count()));
  // A pipe that is closed polls as ready until the process is reaped.
  if (std::any_of(fds.begin(), fds.end(), [](const pollfd& f) { return f.revents == POLLHUP; })) usleep(1000);
}

}  // namespace tenon::conformance

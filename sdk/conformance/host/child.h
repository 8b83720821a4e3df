// A forked child that sends messages and whose output is caught: what run_tests stands on.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenon::conformance {

struct Message {
  enum Kind : uint32_t {
    kBegin = 1,    // test `index` begins
    kLoaded = 2,   // the library is loaded; `text` describes it
    kRefused = 3,  // it cannot be loaded, `text` says why; the child ends
    kEnd = 4,      // test `index` has ended with `outcome`, `text`, after `seconds`
    kDoing = 5     // it does `text` now
  };
  Kind kind = kBegin;
  uint32_t index = 0;
  int32_t outcome = 0;
  double seconds = 0;
  std::string text;
};

// The child's ends of its pipes.
class Line {
 public:
  Line(int to_parent, int from_parent) : to_parent_(to_parent), from_parent_(from_parent) {}
  // Writes a message whole.
  void send(const Message& message) const;
  // Until the parent says go: what was printed up to here is then known to have been printed up to here.
  void await_go() const;

 private:
  int to_parent_, from_parent_;
};

class Child {
 public:
  using Clock = std::chrono::steady_clock;

  // Forks; the child calls body with its line to here and exits with 0 when it returns. It dies with its parent, is the
  // leader of a process group, reads nothing and leaves no core file. REQUIRED: one thread. Throws std::system_error.
  explicit Child(const std::function<void(const Line&)>& body);
  // Kills what is left of the group, and what the child started outside it.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  enum class Event { kMessage, kEnded, kTimeout };
  // The next message, or the end of the child after its last one.
  Event next(Message* message, Clock::time_point deadline);
  // Lets a child that awaits it go on.
  void go();
  // How an ended child ended: "died of signal 11 (SIGSEGV)", "exited with 3"; empty: it exited with 0.
  std::string fate() const;
  // What it printed since the last call, from the beginning, at most some kilobytes.
  std::string take_printed();

 private:
  void read_messages();
  void read_printed();
  bool parse(Message* message);
  bool reap(bool wait);

  std::vector<pid_t> not_its_;  // this process's children before it
  pid_t pid_ = -1;
  int messages_ = -1, output_ = -1, go_ = -1;
  bool ended_ = false;
  int status_ = 0;
  std::string received_, printed_;
};

// While it lives SIGINT, SIGTERM and SIGHUP are noted, not acted on.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  // The one that came, or 0.
  static int received();
};

}  // namespace tenon::conformance

// Stands between the program under test and libc's file calls, so that a test can fail, cut short,
// kill at, or record the n-th of them. The functions of the same names in checkpoint_io_faults.cc
// take the place of libc's in this program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tenon::faults {

enum class Action {
  kCount,       // only count
  kFail,        // the call does nothing and returns `error` (a close closes all the same)
  kShortWrite,  // a write takes half of its bytes; other calls are left alone
  kKill,        // SIGKILL before the call
  kTornKill,    // SIGKILL after half of a write; before any other call
  kLie,         // the call does nothing and says that it did: as if its error were not looked at
};

struct Plan {
  Action action = Action::kCount;
  int at = -1;  // the call, from 0
  int error = 0;
  bool and_after = false;  // every call from `at` on: a disk that stays full
};

// One call that changed the file system.
struct Event {
  enum class Kind { kCreate, kWrite, kSync, kSyncDirectory, kRename, kUnlink, kAcknowledge };
  Kind kind;
  std::string path;
  std::string bytes;  // of a write; the new name of a rename
  int64_t step = 0;   // of an acknowledgement
};

// Counts, and acts, from construction to destruction. One at a time; one thread.
class Armed {
 public:
  explicit Armed(const Plan& plan);
  ~Armed();
  int calls() const;        // seen so far
  std::string hit() const;  // the call that was acted upon, "fsync"; "" when there was none
};

// Records from construction to destruction.
class Recording {
 public:
  Recording();
  ~Recording();
  void acknowledge(int64_t step);
  const std::vector<Event>& events() const;
};

// While it lives files are written in place: what is created as .NAME.tmp-* is NAME at once, as without the protocol.
class InPlace {
 public:
  InPlace();
  ~InPlace();
};

// Calls a function with the path before each open(), but for those that the function makes. One at a time; one thread.
class BeforeOpen {
 public:
  explicit BeforeOpen(std::function<void(const char*)> call);
  ~BeforeOpen();
};

}  // namespace tenon::faults

// Saves that go wrong: killed or failing at one of their calls, and what must hold behind that.
#pragma once

#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>

#include "unit/train/checkpoint/checkpoint_io_faults.h"
#include "unit/train/checkpoint/checkpoint_test_util.h"
#include "unit/train/checkpoint/power_loss.h"

namespace tenon::trials {

// Saves steps 1 to 4 until it is killed; says through `out` which returned.
[[noreturn]] inline void save_until_killed(const std::string& dir, const faults::Plan& plan, bool in_place, int out) {
  std::optional<faults::InPlace> unprotected;
  if (in_place) unprotected.emplace();
  faults::Armed armed(plan);
  Result<CheckpointManager> manager = CheckpointManager::open(dir, 2);
  for (int64_t step = 1; manager.ok() && step <= 4; ++step) {
    if (!testing::save_state(*manager, step).ok()) break;
    const char byte = static_cast<char>(step);
    // Past the interposed write(): this is not one of the calls under test.
    if (::writev(out, std::array<iovec, 1>{{{const_cast<char*>(&byte), 1}}}.data(), 1) != 1) break;
  }
  ::_exit(0);
}

struct Killed {
  bool killed = false;
  int64_t acknowledged = 0;  // the last save that returned
};

// `in_place`: without the protection, writing files under their own names.
inline Killed save_in_child(const std::string& dir, const faults::Plan& plan, bool in_place = false) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) save_until_killed(dir, plan, in_place, ends[1]);
  ::close(ends[1]);
  Killed out;
  for (char byte; ::read(ends[0], &byte, 1) == 1;) out.acknowledged = byte;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  out.killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return out;
}

struct Outcome {
  Status status;
  std::string call;  // that was acted upon
  int calls = 0;
};

// Saves steps 1 and 2, then step 3 under `plan`.
inline Outcome third_save(const std::string& dir, const faults::Plan& plan) {
  Result<CheckpointManager> manager = CheckpointManager::open(dir, 2);
  if (!manager.ok()) return {manager.status(), "", 0};
  for (int64_t step : {1, 2})
    if (Status s = testing::save_state(*manager, step).status(); !s.ok()) return {s, "", 0};
  faults::Armed armed(plan);
  const Status status = testing::save_state(*manager, 3).status();
  return {status, armed.hit(), armed.calls()};
}

inline int calls_of_a_save() {
  testing::Directory dir;
  return third_save(dir.path(), {}).calls;
}

// "" when what latest_checkpoint() finds is `acknowledged` or newer and holds what its step says, and no newer one is torn.
inline std::string wrong(const std::string& dir, int64_t acknowledged) {
  const std::string lost = power_loss::loss(dir, acknowledged);
  return lost.empty() ? power_loss::torn(dir, acknowledged) : lost;
}

// What is wrong after a fault in the third save, or "": the checkpoint before is there, one line says file and reason, and
// training can go on as soon as the disk is well again.
inline std::string after_fault(const std::string& dir, const faults::Plan& plan, const Outcome& outcome) {
  const std::string& message = outcome.status.message();
  if (const std::string why = wrong(dir, outcome.status.ok() ? 3 : 2); !why.empty()) return why;
  if (!outcome.status.ok() && message.find(dir) == std::string::npos) return "names no file: " + message;
  if (!outcome.status.ok() && message.find(strerror(plan.error)) == std::string::npos) return "no reason: " + message;
  if (message.find('\n') != std::string::npos) return "more than a line: " + message;
  Result<CheckpointManager> again = CheckpointManager::open(dir, 2);
  if (!again.ok() || !testing::save_state(*again, 4).ok()) return "no further save";
  return wrong(dir, 4);
}

}  // namespace tenon::trials

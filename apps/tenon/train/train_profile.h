// The flags --profile and --profile_steps of training, and what is said of the files.
#pragma once

#include <optional>

#include "command.h"
#include "tenon/profiler.h"

namespace tenon::runner {

void add_profile_flags(Flags& flags);

class TrainProfile {
 public:
  // `steps` are left to train: unless --profile_steps says, the span lies within them.
  TrainProfile(const Flags& flags, int64_t steps);
  static bool wanted(const Flags& flags) { return !flags.text("profile").empty(); }

  // With its hook where a profile is wanted.
  Callbacks with(Callbacks hooks);
  // One line about the files; an error where they could not be written.
  void print(bool json) const;

 private:
  std::optional<ProfilerHook> hook_;
};

}  // namespace tenon::runner

// A library's first use, made in a child process, and what the child saw.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backend/bring_up.h"
#include "backend/load/loader.h"

namespace tenon {

// What `backend` says of the spec, and whether its device can be opened; every call that a first use makes is made. The
// texts and numbers are as the backend gave them: describe_units checks them.
Sighting look_at(const LoadedBackend& backend, const Use& use, const ProbeStage& stage);

// A library and what it is to be tried with.
struct Trial {
  const CheckedLibrary* library;
  std::string name;
};

// Each is loaded, initialised and looked at in a child of its own, all at once. kTimeout: one did not come back. An error's
// message is the cause alone. REQUIRED: `on_child` does not throw; it is called in each child first.
std::vector<Result<Sighting>> try_all(const std::vector<Trial>& trials, const Use& use, void (*on_child)(),
                                      std::chrono::milliseconds limit);

}  // namespace tenon

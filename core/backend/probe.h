// Tries something dangerous in a child process first.
#pragma once

#include <chrono>
#include <functional>

#include "tenon/status.h"

namespace tenon {

// Names what the child does next, for the message about a child that does not come back.
using ProbeStage = std::function<void(const char* stage)>;

// Runs `work` in a forked child whose output is thrown away and returns its status. A child that
// crashes, calls exit or takes longer than `limit` is an error which says so and in which stage; it
// and the processes that it started are killed. Nothing of the child reaches this process: no exit
// handlers run, no core is written.
Status probe(const std::function<Status(const ProbeStage&)>& work, std::chrono::milliseconds limit);

}  // namespace tenon

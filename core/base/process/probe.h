// Tries something dangerous in child processes first.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tenon/status.h"

namespace tenon {

// Names what the child does next, for the message about a child that does not come back.
using ProbeStage = std::function<void(const char* stage)>;
// What a child does; the bytes that it hands back, of which the parent believes nothing.
using ProbeWork = std::function<Result<std::string>(const ProbeStage&)>;

constexpr size_t kMaxProbeAnswer = 64u << 20;

// Runs each in a forked child of its own, all at once (of hundreds some wait; one after another where the system gives no
// more processes), and returns what they answer, in order. The children's output is thrown away. A child that crashes,
// calls exit or takes longer than `limit` is an error which says so and in which stage; it and the processes that it
// started are killed. Nothing of a child reaches this process: no exit handlers run, no core is written.
std::vector<Result<std::string>> probe_all(const std::vector<ProbeWork>& works, std::chrono::milliseconds limit);

}  // namespace tenon

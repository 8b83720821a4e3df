// The command line of the examples: NAME [--device DEVICE] [--seed N] [--json], and of those that keep what they trained
// [--model_dir DIRECTORY].
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/fit.h"

namespace tenon::examples {

struct Flags {
  std::string device = "auto";
  uint64_t seed = 0;
  bool json = false;                          // the result alone, as one line
  std::optional<std::string> model_dir = {};  // none: there is no such flag

  Strategy strategy() const { return Strategy(device, {.seed = seed}); }
  Verbose verbose() const { return json ? Verbose::kSilent : Verbose::kAuto; }
};

// What came out, by name.
using Figures = std::vector<std::pair<std::string, double>>;

// Runs the example and prints its figures. An Error is a line on stderr. Returns the exit code.
int run(int argc, char** argv, const std::function<Figures(const Flags&)>& example, const Flags& defaults = {});

}  // namespace tenon::examples

// What the examples share: the command line NAME [--device DEVICE] [--seed N] [--json] [--help], and an example's own flags.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tenon/fit.h"

namespace tenon::examples {

struct Flags {
  std::string device = "auto";
  uint64_t seed = 0;
  bool json = false;       // the result alone, as one line
  std::string about = {};  // --help's first line
  // The example's own: what each is unless it is given. One that is "false" takes no value and becomes "true".
  std::map<std::string, std::string> own = {};
  std::map<std::string, std::string> help = {};  // what some of them are for

  // An example's own flag; throws Error where it is no number, or none of these.
  const std::string& operator[](const std::string& name) const { return own.at(name); }
  double number(const std::string& name, double low, double high) const;
  int64_t whole(const std::string& name, int64_t most) const;  // from 1
  bool is_set(const std::string& name) const { return own.at(name) == "true"; }

  Strategy strategy() const { return Strategy(device, {.seed = seed}); }
  Verbose verbose() const { return json ? Verbose::kSilent : Verbose::kAuto; }
};

// What came out, by name.
using Figures = std::vector<std::pair<std::string, double>>;

// Runs the example and prints its figures. An Error is a line on stderr. Returns the exit code.
int run(int argc, char** argv, const std::function<Figures(const Flags&)>& example, const Flags& defaults = {});

}  // namespace tenon::examples

// A subcommand: it declares its flags, then runs. main.cc lists them all and turns mistakes into exit codes:
// 0 done, 1 failed, 2 wrong usage, 128 + N ended in order by signal N, each but 0 with one line on standard error.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "flags.h"
#include "output.h"

namespace tenon::runner {

struct Command {
  const char* name;       // "convert"
  const char* arguments;  // "images|idx --input DIR .."
  const char* summary;    // one line
  // Declares the flags; `words` are the arguments that are no flags, as far as they are known (a model's name).
  void (*declare)(Flags& flags, const std::vector<std::string>& words);
  // Returns the exit code. Throws UsageError or tenon::Error.
  int (*run)(const Flags& flags, const std::vector<std::string>& words);
  // What `arguments` becomes when these words are given; nullptr: the same.
  const char* (*usage)(const std::vector<std::string>& words) = nullptr;
  // More lines for the --help of these words; nullptr: none.
  std::string (*details)(const std::vector<std::string>& words) = nullptr;
};

extern const Command kDevices, kData, kConvert, kTrain, kEvaluate, kPredict, kExport, kTranslate, kSummarize, kGenerate,
    kAnswer, kScore, kInspect, kPreflight, kPlot, kBench, kServe, kRun, kImport;

// --device, --threads, --seed, --json, --verbose, --help
void add_common_flags(Flags& flags);
// The only word, or UsageError: "expected one MODEL: a, b".
const std::string& only_word(const std::vector<std::string>& words, const char* what,
                             const std::vector<std::string>& choices);
void expect_words(const std::vector<std::string>& words, size_t least, size_t most, const char* what);

// The device that --device, --use_tpu and --tpu ask for.
std::string device_of(const Flags& flags);

}  // namespace tenon::runner

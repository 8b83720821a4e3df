// tenon-conform: whether a backend keeps the contract, and what it can do.
#include <elf.h>
#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "conformance/report.h"
#include "conformance/suites/support.h"
#include "op/specification.h"

namespace tenon::conformance {
namespace {

const char kUsage[] =
    "usage: tenon-conform LIB.so [options]\n"
    "       tenon-conform ops [NAME]\n"
    "\n"
    "Runs the conformance suite on a backend, each test in a child process; or prints the specification of the ops,\n"
    "or of one.\n"
    "\n"
    "  --level N          leave out tests above level N, and fail below it\n"
    "  --filter RE        only tests whose name has this regular expression (ECMAScript) in it\n"
    "  --seed S           of inputs and of what is drawn by chance; 1 unless given\n"
    "  --samples N        graphs that are drawn for each primitive and dtype; 24 unless given; with fewer,\n"
    "                     the test of more than 2^32 random numbers is left out, which takes up to minutes\n"
    "  --spec SPEC        of the units, as in --device=name:SPEC\n"
    "  --sdk-runtime      also what the planner of the SDK's runtime takes, for a backend that stands on it\n"
    "  --cache FOLDER     keeps what the backend puts into the host's cache, for the next run; made where it is not there\n"
    "  --validate         puts the validation layer between suite and backend: what it finds fails the test\n"
    "  --timeout-scale X  multiplies every time limit\n"
    "  --json FILE        results as JSON\n"
    "  --junit FILE       results as JUnit XML\n"
    "  --list             names of the tests; runs none\n"
    "  --help             this text\n"
    "\n"
    "Levels: 0 loads, 1 infers, 2 trains with primitives, 3 trains every model of the catalogue, 4 replicas and "
    "feeds.\n"
    "Exit code: 0 no test failed and level 0, or that of --level, is reached; 1 otherwise; 2 the command is wrong.\n";

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Command {
  std::string path, json, junit;
  RunOptions options;
  int least = -1;  // --level
  bool sdk_runtime = false, list = false, help = false;
};

double number(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double x = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isfinite(x)) throw UsageError(option + ": '" + text + "' is no number");
  return x;
}

uint64_t whole(const std::string& option, const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long n = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end || errno || text[0] == '-') throw UsageError(option + ": '" + text + "' is no whole number");
  return n;
}

void set(Command& command, const std::string& option, const std::string& value) {
  RunOptions& o = command.options;
  if (option == "--filter")
    o.filter = value;
  else if (option == "--json")
    command.json = value;
  else if (option == "--junit")
    command.junit = value;
  else if (option == "--cache")
    o.cache = value;
  else if (option == "--spec")
    o.spec = value;
  else if (option == "--seed")
    o.seed = whole(option, value);
  else if (option == "--samples") {
    const uint64_t samples = whole(option, value);
    if (samples < 1 || samples > 1000000) throw UsageError("--samples: expected 1 to 1000000, found " + value);
    o.samples = static_cast<uint32_t>(samples);
  } else if (option == "--timeout-scale") {
    if ((o.time_scale = number(option, value)) <= 0)
      throw UsageError("--timeout-scale: expected more than 0, found " + value);
  } else if (option == "--level") {
    const uint64_t level = whole(option, value);
    if (level > 4) throw UsageError("--level: expected 0 to 4, found " + value);
    o.level = command.least = static_cast<int>(level);
  }
}

bool takes_a_value(const std::string& option) {
  for (const char* known :
       {"--cache", "--filter", "--json", "--junit", "--spec", "--seed", "--samples", "--timeout-scale", "--level"})
    if (option == known) return true;
  return false;
}

Command parse(int argc, char** argv) {
  Command command;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--help" || word == "-h")
      command.help = true;
    else if (word == "--list")
      command.list = true;
    else if (word == "--sdk-runtime")
      command.sdk_runtime = true;
    else if (word == "--validate")
      command.options.validate = true;
    else if (word.size() > 1 && word[0] == '-') {
      const size_t equal = word.find('=');
      const std::string option = word.substr(0, equal);
      if (!takes_a_value(option)) throw UsageError("no such option: " + option + "; --help lists them");
      if (equal == std::string::npos && i + 1 >= argc) throw UsageError(option + ": needs a value");
      set(command, option, equal == std::string::npos ? argv[++i] : word.substr(equal + 1));
    } else if (command.path.empty())
      command.path = word;
    else
      throw UsageError("one library at a time: " + command.path + " and " + word);
  }
  if (command.path.empty() && !command.list && !command.help) throw UsageError("no library given; --help tells more");
  return command;
}

// What is no library at all is a mistake in the command; the rest is for the tests to say.
void check_library(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) throw UsageError(path + ": " + std::strerror(errno));
  if (!S_ISREG(info.st_mode)) throw UsageError(path + ": not a regular file");
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (file.gcount() < SELFMAG || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    throw UsageError(path + ": not an ELF file");
  const auto size = static_cast<uint64_t>(info.st_size);
  const bool sections =
      header.e_shoff <= size && uint64_t{header.e_shnum} * header.e_shentsize <= size - header.e_shoff;
  if (file.gcount() < static_cast<std::streamsize>(sizeof header) || !sections)
    throw UsageError(path + ": truncated: it ends before its section headers");
}

// A spec that the backend does not know is another.
void check_spec(const Command& command) {
  if (command.options.spec.empty()) return;
  Tests probe;
  add_test(probe, "device", "spec", "names units", [](Subject& s) { s.units(); });
  RunOptions options = command.options;
  options.filter.clear();
  options.level = 4;
  for (const Result& r : run_tests(command.path, probe, options, [](const Result&) {}))
    if (r.outcome == Outcome::kUnavailable) throw UsageError("--spec '" + command.options.spec + "': " + r.text);
}

std::vector<const Test*> select(const Tests& tests, const Command& command) {
  try {
    std::vector<const Test*> chosen = selected(tests, command.options);
    if (chosen.empty())
      throw UsageError("--filter: no test is named like '" + command.options.filter + "'; --list shows all");
    return chosen;
  } catch (const std::regex_error& e) {
    throw UsageError("--filter: '" + command.options.filter + "' is no regular expression: " + e.what());
  }
}

int run(const Command& command, const Tests& tests) {
  check_library(command.path);
  check_spec(command);
  for (const std::string& path : {command.json, command.junit})
    if (!path.empty()) check_writable(path);
  Progress progress(stdout);
  Summary summary{command.path, "", command.options, {}, 0};
  summary.options.loaded = [&](const std::string& description) {
    summary.description = description;
    progress.header(command.path, description);
  };
  const auto start = std::chrono::steady_clock::now();
  summary.results = run_tests(command.path, tests, summary.options, [&](const Result& r) { progress.add(r); });
  summary.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress.end_group();
  print_summary(stdout, summary);
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw std::runtime_error("standard output cannot be written");
  if (!command.json.empty()) write_file(command.json, to_json(summary));
  if (!command.junit.empty()) write_file(command.junit, to_junit(summary));
  return summary.good(command.least) ? 0 : 1;
}

int print_ops(int argc, char** argv) {
  if (argc > 3) throw UsageError("ops: one op at a time");
  const op::Row* row = argc == 3 ? op::find(argv[2]) : nullptr;
  if (argc == 3 && !row) throw UsageError("ops: no op is called '" + std::string(argv[2]) + "'; 'ops' prints all");
  const std::string text = row ? op::section_of(*row) + op::enumerations_of(*row) : op::document();
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0) throw std::runtime_error("standard output cannot be written");
  return 0;
}

int run_command(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "ops") == 0) return print_ops(argc, argv);
  const Command command = parse(argc, argv);
  if (command.help) return std::fputs(kUsage, stdout), 0;
  const Tests tests = all_tests(command.options.samples, command.sdk_runtime);
  const std::vector<const Test*> chosen = select(tests, command);
  if (!command.list) return run(command, tests);
  for (const Test* test : chosen) std::printf("%s\n", test->id().c_str());
  return 0;
}

}  // namespace
}  // namespace tenon::conformance

int main(int argc, char** argv) {
  using namespace tenon::conformance;
  try {
    return run_command(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tenon-conform: %s\n", one_line(clean(e.what()).c_str()).c_str());
    return 2;
  }
}

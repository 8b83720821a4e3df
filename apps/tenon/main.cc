// The runner: tenon SUBCOMMAND ARGUMENTS.
#include <cstring>
#include <new>

#include "command.h"
#include "models/models.h"
#include "process.h"
#include "tenon/exit_guard.h"
#include "tenon/processes.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

const Command* const kCommands[] = {&kDevices,   &kData,      &kConvert,  &kTrain,  &kEvaluate, &kPredict, &kExport,
                                    &kTranslate, &kSummarize, &kGenerate, &kAnswer, &kScore,    &kInspect, &kPreflight,
                                    &kPlot,      &kBench,     &kServe,    &kRun,    &kImport};

const Command* find_command(const std::string& name) {
  for (const Command* c : kCommands)
    if (name == c->name) return c;
  return nullptr;
}

std::vector<std::string> command_names() {
  std::vector<std::string> out;
  for (const Command* c : kCommands) out.push_back(c->name);
  return out;
}

void print_overview() {
  print_text("usage: tenon SUBCOMMAND ARGUMENTS\n\nTrains neural networks on any device that has a backend.\n\n");
  for (const Command* c : kCommands) print("  %-10s %s\n", c->name, c->summary);
  print("\n`tenon SUBCOMMAND --help` lists its flags.\n");
  print_text(
      "Exit codes: 0 done, 1 failed, 2 wrong usage; 130, 143, 129 ended in order by SIGINT, SIGTERM, SIGHUP;\n"
      "152, 138, 140 by SIGXCPU, SIGUSR1, SIGUSR2.\n");
}

// The arguments as far as `words` say more of them: "fashion --data_dir DIR .." for "MODEL --data_dir DIR ..".
std::string usage(const Command& command, const std::vector<std::string>& words) {
  const char* special = command.usage ? command.usage(words) : nullptr;
  std::string out = special ? special : command.arguments;
  if (out.starts_with("MODEL") && !words.empty() && models::find_model(words[0])) out.replace(0, 5, words[0]);
  return out;
}

int run_command(const Command& command, const std::vector<std::string>& args, bool* json) {
  Flags flags;
  std::vector<std::string> words;  // what a flag table may depend on: everything that does not look like a flag
  for (const std::string& a : args)
    if (!a.starts_with("-"))
      words.push_back(a);
    else if (const size_t equals = a.find('='); equals != a.npos)
      words.push_back(a.substr(equals + 1));
  bool help = false;
  for (const std::string& a : args) help |= a == "--help" || a == "-h";
  command.declare(flags, words);
  add_common_flags(flags);
  if (help) {
    const std::string details = command.details ? "\n" + command.details(words) : "";
    print_text(format("usage: tenon %s %s\n\n%s.\n%s%s", command.name, usage(command, words).c_str(), command.summary,
                      details.c_str(), flags.help().c_str()));
    return 0;
  }
  words = flags.parse(args);
  *json = flags.boolean("json");
  std::string arguments = command.name;
  for (const std::string& word : words) arguments += " " + word;
  const std::string given = flags.given_text();
  set_arguments(given.empty() ? arguments : arguments + " " + given);
  if (flags.has("threads")) set_process_threads(static_cast<int>(flags.integer("threads")));
  return command.run(flags, words);
}

int fail(const std::string& where, const std::string& message, int code, Lines lines = Lines::kEscaped) {
  (void)finish_output(code);
  if (leave_processes(message)) print_error(where + ": " + message, lines);
  return code;
}

// {"event": "error", "code": "device lost", "native": -36, "step": 120, "node": "dense_1/dot", "message": ".."}; what is not
// known is null.
void print_error_json(const Status& status) {
  const FailurePlace* place = status.place();
  Json error;
  error.add("event", "error").add("code", code_name(status.code()));
  place && place->native ? error.add("native", place->native) : error.raw("native", "null");
  place && place->step ? error.add("step", place->step) : error.raw("step", "null");
  place && !place->node.empty() ? error.add("node", place->node) : error.raw("node", "null");
  try {
    print_line(error.add("message", status.message()).str());
  } catch (const Error&) {  // standard output may be what failed: standard error has the message
  }
}

// What a device refuses, it may say in lines: they are kept.
int fail(const std::string& where, const Status& status) {
  const bool device_said = status.code() == Code::kUnsupported || status.code() == Code::kOutOfMemory;
  return fail(where, status.message(), exit_code_of(status), device_said ? Lines::kKept : Lines::kEscaped);
}

int run(const std::vector<std::string>& args) {
  if (args.empty()) return fail("tenon", "expected a subcommand: " + listed(command_names()), 2);
  if (args[0] == "--help" || args[0] == "-h" || args[0] == "help") return print_overview(), 0;
  if (args[0] == "--version") return print("tenon %s\n", TENON_VERSION), 0;
  const Command* command = find_command(args[0]);
  if (!command) {
    const std::string near = nearest_word(args[0], command_names());
    return fail("tenon",
                "no subcommand '" + args[0] + "'; " +
                    (near.empty() ? "expected " + listed(command_names()) : "did you mean '" + near + "'?"),
                2);
  }
  const std::string where = "tenon " + args[0];
  bool json = false;
  try {
    return run_command(*command, {args.begin() + 1, args.end()}, &json);
  } catch (const UsageError& e) {
    return fail(where, e.message, 2);
  } catch (const Error& e) {
    if (json) print_error_json(e.status());
    return fail(where, e.status());
  } catch (const std::bad_alloc&) {
    return fail(where, "out of memory", 1);
  } catch (const std::exception& e) {
    return fail(where, e.what(), 1);
  }
}

}  // namespace

void add_common_flags(Flags& flags) {
  const size_t own = flags.all().size();
  flags.text("device", "auto", "backend to use, NAME or NAME:SPEC");
  flags.integer("threads", 0, "cores to use; 0: all. No result depends on it", 0, 4096);
  if (!flags.has("seed")) flags.integer("seed", 0, "of initial weights, dropout, order and augmentation");
  flags.boolean("json", false, "one JSON object a line, the last one the result");
  flags.boolean("verbose", false, "say more");
  flags.boolean("help", false, "this text");
  flags.mark_common(own);
}

const std::string& only_word(const std::vector<std::string>& words, const char* what,
                             const std::vector<std::string>& choices) {
  if (words.size() != 1)
    throw UsageError{format("expected one %s (%s), found %zu", what, listed(choices).c_str(), words.size())};
  for (const std::string& c : choices)
    if (words[0] == c) return words[0];
  const std::string near = nearest_word(words[0], choices);
  throw UsageError{
      format("no %s '%s'; %s", what, words[0].c_str(),
             near.empty() ? ("expected " + listed(choices)).c_str() : ("did you mean '" + near + "'?").c_str())};
}

void expect_words(const std::vector<std::string>& words, size_t least, size_t most, const char* what) {
  if (words.size() < least) throw UsageError{format("expected %s", what)};
  if (words.size() > most) throw UsageError{format("unexpected argument '%s'", words[most].c_str())};
}

std::string device_of(const Flags& flags) {
  const std::string& device = flags.text("device");
  if (!flags.has("use_tpu")) return device;
  const std::string& tpu = flags.text("tpu");
  const bool strategy = flags.get_or("distribution_strategy", std::string()) == "tpu";
  const std::string asked = !tpu.empty() ? "--tpu " + tpu : strategy ? "--distribution_strategy tpu" : "--use_tpu";
  if ((!tpu.empty() || strategy) && flags.given("use_tpu") && !flags.boolean("use_tpu"))
    throw UsageError{asked + " and --nouse_tpu contradict each other"};
  if (tpu.empty() && !strategy && !flags.boolean("use_tpu")) return device;
  const std::string named = tpu.empty() ? "tpu-emulator" : "tpu-emulator:" + tpu;
  if (device == "auto" || device == "tpu-emulator") return named;
  if (tpu.empty() ? device.starts_with("tpu") : (device + ",").starts_with(named + ",")) return device;
  throw UsageError{asked + " and --device " + device + " contradict each other; leave one of them out"};
}

}  // namespace tenon::runner

int main(int argc, char** argv) {
  using namespace tenon::runner;
  if (!keep_standard_files() || !take_standard_output())
    return fail("tenon", "cannot set up the standard files: " + std::string(std::strerror(errno)), 1);
  tenon::guard_exit();
  let_writes_fail();
  const int code = finish_output(run({argv + 1, argv + argc}));
  tenon::allow_exit();
  return code;
}

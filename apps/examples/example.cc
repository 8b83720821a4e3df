#include "examples/example.h"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>

#include "tenon/status.h"

namespace tenon::examples {
namespace {

const char* name_of(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

[[noreturn]] void misused(const std::string& what) { throw Error(Status(Code::kInvalid, what)); }

uint64_t number(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    misused("--seed: expected a whole number, found '" + text + "'");
  return value;
}

Flags parse(int argc, char** argv, Flags flags) {
  std::string seed;
  for (int i = 1; i < argc; ++i) {
    const std::string given = argv[i], name = given.substr(0, given.find('='));
    if (given == "--json") {
      flags.json = true;
      continue;
    }
    std::string* const value = name == "--device"                         ? &flags.device
                               : name == "--seed"                         ? &seed
                               : name == "--model_dir" && flags.model_dir ? &*flags.model_dir
                                                                          : nullptr;
    if (!value)
      misused("unknown flag " + name + ", expected --device, --seed " +
              (flags.model_dir ? "--model_dir or --json" : "or --json"));
    if (name.size() < given.size())
      *value = given.substr(name.size() + 1);
    else if (i + 1 < argc)
      *value = argv[++i];
    else
      misused(name + ": expected a value");
    if (value == &seed) flags.seed = number(seed);
  }
  return flags;
}

void print(const Figures& figures, bool json) {
  const char* separator = "";
  if (json) std::printf("{");
  for (const auto& [name, value] : figures) {
    std::printf(json ? "%s\"%s\": %.9g" : "%s%s %.9g", separator, name.c_str(), value);
    separator = json ? ", " : "  ";
  }
  std::printf(json ? "}\n" : "\n");
}

}  // namespace

int run(int argc, char** argv, const std::function<Figures(const Flags&)>& example, const Flags& defaults) {
  try {
    const Flags flags = parse(argc, argv, defaults);
    print(example(flags), flags.json);
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name_of(argv[0]), error.what());
    return 1;
  }
}

}  // namespace tenon::examples

#include "examples/example_program.h"

#include <algorithm>
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

template <class T>
T number_of(const std::string& flag, const std::string& text, const char* expected) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    misused("--" + flag + ": expected " + expected + ", found '" + text + "'");
  return value;
}

[[noreturn]] void out_of_range(const std::string& flag, double low, double high, const std::string& found) {
  char range[64];
  std::snprintf(range, sizeof range, "%.9g to %.9g", low, high);
  misused("--" + flag + ": expected " + range + ", found " + found);
}

std::string names_of(const Flags& flags) {
  std::string out = "--device, --seed";
  for (const auto& [name, value] : flags.own) out += ", --" + name;
  return out + ", --json or --help";
}

void print_flag(const std::string& flag, const std::string& what) {
  std::printf("  --%-24s %s\n", flag.c_str(), what.c_str());
}

void print_help(const char* program, const Flags& flags) {
  std::printf("usage: %s [FLAGS]\n", program);
  if (!flags.about.empty()) std::printf("%s\n", flags.about.c_str());
  print_flag("device NAME[:SPEC]", "what it trains on, of those that `tenon devices` lists (" + flags.device + ")");
  print_flag("seed N", "of all that is random (" + std::to_string(flags.seed) + ")");
  print_flag("json", "print the result alone, as one line");
  for (const auto& [name, value] : flags.own) {
    const bool is_switch = value == "false";
    const auto help = flags.help.find(name);
    const std::string text = help == flags.help.end() ? std::string() : help->second;
    const std::string fallback = is_switch || value.empty() ? std::string() : "(" + value + ")";
    print_flag(is_switch ? name : name + " VALUE", text + (text.empty() || fallback.empty() ? "" : " ") + fallback);
  }
}

bool asks_for_help(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* word) { return std::strcmp(word, "--help") == 0; });
}

Flags parse(int argc, char** argv, Flags flags) {
  std::string seed;
  for (int i = 1; i < argc; ++i) {
    const std::string given = argv[i], flag = given.substr(0, given.find('='));
    const auto own = flags.own.find(flag.substr(std::min<size_t>(flag.size(), 2)));
    const bool is_own = flag.starts_with("--") && own != flags.own.end();
    if (given == "--json") {
      flags.json = true;
    } else if (is_own && given == flag && (own->second == "false" || own->second == "true")) {
      own->second = "true";
    } else {
      std::string* const value = flag == "--device" ? &flags.device
                                 : flag == "--seed" ? &seed
                                 : is_own           ? &own->second
                                                    : nullptr;
      if (!value) misused("unknown flag " + flag + ", expected " + names_of(flags));
      if (flag.size() == given.size() && i + 1 == argc) misused(flag + ": expected a value");
      *value = flag.size() < given.size() ? given.substr(flag.size() + 1) : argv[++i];
      if (value == &seed) flags.seed = number_of<uint64_t>("seed", seed, "a whole number");
    }
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

double Flags::number(const std::string& name, double low, double high) const {
  const std::string& text = own.at(name);
  const auto value = number_of<double>(name, text, "a number");
  if (!(value >= low && value <= high)) out_of_range(name, low, high, text);
  return value;
}

int64_t Flags::whole(const std::string& name, int64_t most) const {
  const std::string& text = own.at(name);
  const auto value = number_of<int64_t>(name, text, "a whole number");
  if (value < 1 || value > most) out_of_range(name, 1, static_cast<double>(most), text);
  return value;
}

int run(int argc, char** argv, const std::function<Figures(const Flags&)>& example, const Flags& defaults) {
  try {
    if (asks_for_help(argc, argv)) {
      print_help(name_of(argv[0]), defaults);
      return std::fflush(stdout) == 0 ? 0 : 1;
    }
    const Flags flags = parse(argc, argv, defaults);
    print(example(flags), flags.json);
    return std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name_of(argv[0]), error.what());
    return 1;
  }
}

}  // namespace tenon::examples

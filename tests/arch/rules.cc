#include "rules.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace tenon::arch {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

constexpr int kMaxLines = 800;
constexpr int kMaxFiles = 25;  // sources of the product in a folder; a room is found by its name

// What a component may include, beside itself. A name that ends in / stands for all below it.
struct Rule {
  std::string component;
  Names may;
  bool system_only_integers = false;  // of the standard headers, stdint.h and stddef.h alone
};

// `public` in a core folder's list means the public headers of the folders it may include.
const std::vector<Rule>& rules() {
  static const std::vector<Rule> table = {
      {"public", {}},
      {"core/base", {"public", "sdk/plugin"}},
      {"core/text", {"public", "core/base"}},
      {"core/graph", {"public", "core/base", "sdk/op"}},
      {"core/op", {"public", "core/base", "core/graph", "sdk/op"}},
      {"core/autodiff", {"public", "core/graph", "core/op"}},
      {"core/backend", {"public", "core/base", "sdk/abi", "sdk/plugin"}},
      {"core/exchange", {"public", "core/base", "core/backend", "sdk/plugin"}},
      {"core/compile", {"public", "core/base", "core/graph", "core/op", "core/backend", "sdk/op"}},
      {"core/data", {"public", "core/base", "core/text"}},
      {"core/checkpoint", {"public", "core/base", "core/data"}},
      {"core/summary", {"public", "core/base", "core/data"}},
      {"core/callback", {"public", "core/base"}},
      {"core/step",
       {"public", "core/base", "core/graph", "core/op", "core/backend", "core/exchange", "core/compile", "core/data",
        "core/checkpoint", "sdk/op"}},
      {"core/decode", {"public", "core/base", "core/op"}},
      {"core/layer", {"public", "core/base", "core/graph", "core/op"}},
      {"core/optimizer", {"public", "core/base", "core/graph", "core/op", "core/autodiff"}},
      {"core/export",
       {"public", "core/base", "core/graph", "core/op", "core/compile", "core/data", "core/checkpoint", "core/step",
        "sdk/op"}},
      {"core/import", {"public", "core/base", "core/graph", "core/op", "core/checkpoint", "core/step"}},
      {"core/train",
       {"public", "core/base", "core/graph", "core/op", "core/backend", "core/compile", "core/checkpoint",
        "core/callback", "core/exchange", "core/step", "core/export", "core/layer", "core/optimizer", "sdk/op"}},
      {"core/model",
       {"public", "core/base", "core/graph", "core/op", "core/autodiff", "core/checkpoint", "core/callback",
        "core/step", "core/layer", "core/optimizer"}},
      {"core/applications", {"public", "core/base", "core/op"}},
      {"core/corpus", {"public", "core/", "sdk/"}},
      {"sdk/abi", {}, true},
      {"sdk/abi-history", {"sdk/abi"}, true},  // copies of it
      {"sdk/op", {"sdk/abi"}},
      {"sdk/plugin", {"sdk/abi", "sdk/op"}},
      {"sdk/runtime", {"sdk/op", "sdk/plugin"}},
      {"sdk/conformance", {"sdk/abi", "sdk/op", "sdk/plugin"}},
      {"sdk/validation", {"sdk/abi", "sdk/plugin"}},
      {"sdk/example", {"sdk/plugin"}},
      {"sdk/example-compiler", {"sdk/abi", "sdk/plugin"}},
      {"plugins/", {"sdk/abi", "sdk/op", "sdk/plugin"}},
      {"apps/", {"public", "apps/"}},
      {"bench", {"public", "sdk/plugin", "plugins/tpu-emulator"}},
      {"tests", {"public", "core/", "sdk/", "plugins/", "apps/", "bench"}},
  };
  return table;
}

const Names& top_level() {
  static const Names names = {
      "CMakeLists.txt", "CMakePresets.json", "Makefile", "README.md", "LICENSE", "CONTRIBUTING.md", "CHANGELOG.md",
      "core",           "plugins",           "sdk",      "apps",      "tests",   "bench",           "share"};
  return names;
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

bool covers(const std::string& name, const std::string& component) {
  return name == component || (name.back() == '/' && starts_with(component, name));
}

const Rule* rule_of(const std::string& component) {
  for (const Rule& rule : rules())
    if (covers(rule.component, component)) return &rule;
  return nullptr;
}

bool is_source(const fs::path& path) {
  static const Names extensions = {".c", ".cc", ".h", ".cl", ".inc"};
  return extensions.count(path.extension().string()) > 0;
}

bool is_text(const fs::path& path) {
  static const Names extensions = {".sh", ".py", ".cmake", ".proto"};
  return is_source(path) || extensions.count(path.extension().string()) > 0 || path.filename() == "CMakeLists.txt";
}

// All regular files below the folders of the top level, relative to the root, sorted.
std::vector<fs::path> files_of(const fs::path& root) {
  std::vector<fs::path> files;
  for (const std::string& folder : top_level()) {
    if (!fs::is_directory(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.is_regular_file()) files.push_back(entry.path().lexically_relative(root));
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Include {
  int line;
  std::string name;
  bool quoted;
};

struct Text {
  int lines = 0;
  std::vector<Include> includes;
};

std::string_view skip_space(std::string_view text) {
  while (!text.empty() && (text[0] == ' ' || text[0] == '\t')) text.remove_prefix(1);
  return text;
}

std::string_view skip(std::string_view text, std::string_view word) {
  return text.substr(0, word.size()) == word ? skip_space(text.substr(word.size())) : std::string_view();
}

// The name in an #include line; empty for any other line.
std::string_view included(std::string_view line) {
  const std::string_view rest = skip(skip(skip_space(line), "#"), "include");
  if (rest.empty() || (rest[0] != '"' && rest[0] != '<')) return {};
  return rest.substr(1, rest.find(rest[0] == '"' ? '"' : '>', 1) - 1);
}

Text read(const fs::path& path) {
  Text text;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    ++text.lines;
    const std::string_view name = included(line);
    if (!name.empty()) text.includes.push_back({text.lines, std::string(name), line.find('"') != std::string::npos});
  }
  return text;
}

// Headers that the build writes, as if they lay beside the ones that are kept.
bool is_written(const fs::path& path) {
  static const Names headers = {"sdk/include/tenon/op/names.h", "sdk/include/tenon/op/spec.h"};
  return headers.count(path.string()) > 0;
}

// Where an included name lies in the tree, as the compiler's include paths would find it.
std::optional<fs::path> resolve(const fs::path& root, const fs::path& from, const Include& include) {
  std::vector<fs::path> folders;
  if (include.quoted) folders.push_back(from.parent_path());
  fs::path own;  // plugins/cpu, apps/tenon: their own folder comes before the others'
  int depth = 0;
  for (const fs::path& part : from.parent_path()) {
    own /= part;
    if (++depth == 2) folders.push_back(own);
  }
  for (const char* folder : {"core/include", "sdk/include", "core", "sdk", "apps", "plugins", "tests", "bench", "."})
    folders.emplace_back(folder);
  for (const fs::path& folder : folders) {
    fs::path found = (folder / include.name).lexically_normal();
    if (is_written(found) || (fs::is_regular_file(root / found) && *found.begin() != "..")) return found;
  }
  return std::nullopt;
}

// Public headers of plain data, which every folder may include whoever implements their functions.
const Names& plain_data() {
  static const Names headers = {"core/include/tenon/initializer.h"};
  return headers;
}

// The folder of core that a public header belongs to: the one that has a .cc of its name. Headers
// that no folder, or more than one, implements belong to all.
std::map<std::string, std::string> owners_of(const std::vector<fs::path>& files) {
  std::map<std::string, Names> folders;
  for (const fs::path& file : files) {
    const std::string component = component_of(file);
    if (starts_with(component, "core/") && file.extension() == ".cc") folders[file.stem()].insert(component);
  }
  std::map<std::string, std::string> owners;
  for (const fs::path& file : files) {
    if (component_of(file) != "public" || plain_data().count(file.string())) continue;
    auto found = folders.find(file.stem());
    if (found != folders.end() && found->second.size() == 1) owners[file.string()] = *found->second.begin();
  }
  return owners;
}

std::string list(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "itself" : "itself, " + text;
}

class Check {
 public:
  explicit Check(const fs::path& root) : root_(root), files_(files_of(root)), owners_(owners_of(files_)) {}

  std::vector<std::string> run() {
    check_top_level();
    check_folders();
    check_names();
    for (const fs::path& file : files_)
      if (is_text(file)) check_file(file);
    return std::move(found_);
  }

  // After run().
  std::vector<std::string> unused() const {
    std::vector<std::string> found;
    for (const Rule& rule : rules())
      for (const std::string& name : rule.may)
        if (!used_.count({rule.component, name})) found.push_back(rule.component + " never includes " + name);
    return found;
  }

 private:
  // Notes that a rule was needed; returns whether there is one.
  bool allowed(const Rule& rule, const std::string& component) {
    for (const std::string& name : rule.may)
      if (covers(name, component)) return used_.insert({rule.component, name}), true;
    return false;
  }

  void check_top_level() {
    Names missing = top_level();
    for (const fs::directory_entry& entry : fs::directory_iterator(root_)) {
      const std::string name = entry.path().filename();
      if (missing.erase(name) || name[0] == '.' || name == "build" || name == "install") continue;
      found_.push_back(name + ": does not belong at the top level");
    }
    for (const std::string& name : missing) found_.push_back(name + ": missing at the top level");
  }

  // Public headers are one list for who looks one up.
  void check_folders() {
    std::map<fs::path, int> sources;
    for (const fs::path& file : files_) {
      const std::string component = component_of(file);
      const bool product =
          component != "tests" && component != "bench" && component != "share" && component != "public";
      if (product && is_source(file)) ++sources[file.parent_path()];
    }
    for (const auto& [folder, count] : sources)
      if (count > kMaxFiles)
        found_.push_back(folder.string() + ": " + std::to_string(count) + " sources: a folder has at most " +
                         std::to_string(kMaxFiles));
  }

  // One header name, one thing, among those that whoever works on core and the programs sees.
  void check_names() {
    std::map<std::string, std::string> first;  // by basename
    for (const fs::path& file : files_) {
      const std::string name = file.string();
      if (file.extension() != ".h" || !(starts_with(name, "core/") || starts_with(name, "apps/"))) continue;
      const auto [earlier, fresh] = first.emplace(file.filename(), name);
      if (!fresh) found_.push_back(name + ": " + earlier->second + " has this name already");
    }
  }

  void check_file(const fs::path& file) {
    const Text text = read(root_ / file);
    if (text.lines > kMaxLines) {
      found_.push_back(file.string() + ": " + std::to_string(text.lines) + " lines: a file has at most " +
                       std::to_string(kMaxLines));
    }
    const std::string component = component_of(file);
    const Rule* rule = component.empty() ? nullptr : rule_of(component);
    if (is_source(file) && !rule) found_.push_back(file.string() + ": belongs to no component that a rule names");
    if (!rule || !is_source(file)) return;
    for (const Include& include : text.includes) check_include(file, component, *rule, include);
  }

  void check_include(const fs::path& file, const std::string& component, const Rule& rule, const Include& include) {
    const std::string where = file.string() + ":" + std::to_string(include.line) + ": includes ";
    const std::optional<fs::path> target = resolve(root_, file, include);
    if (!target) {
      if (rule.system_only_integers && include.name != "stdint.h" && include.name != "stddef.h")
        found_.push_back(where + include.name + ": " + component + " may include only stdint.h, stddef.h and itself");
      return;
    }
    const std::string to = component_of(*target);
    if (to != component && !allowed(rule, to)) {
      found_.push_back(where + target->string() + ": " + component + " may include only " + list(rule.may));
      return;
    }
    check_public(file, component, where, *target);
  }

  // A public header brings its folder's dependencies with it.
  void check_public(const fs::path& file, std::string component, const std::string& where, const fs::path& target) {
    if (component_of(target) != "public") return;
    auto own = owners_.find(file.string());
    if (component == "public" && own != owners_.end()) component = own->second;
    auto theirs = owners_.find(target.string());
    if (theirs == owners_.end() || theirs->second == component || !starts_with(component, "core/")) return;
    const Rule* rule = rule_of(component);  // null: its own files are told of it
    if (rule && !allowed(*rule, theirs->second))
      found_.push_back(where + target.string() + ", which " + theirs->second + " implements: " + component +
                       " may include only " + list(rule->may));
  }

  fs::path root_;
  std::vector<fs::path> files_;
  std::map<std::string, std::string> owners_;
  std::set<std::pair<std::string, std::string>> used_;  // rules' components and what their files include
  std::vector<std::string> found_;
};

}  // namespace

std::string component_of(const fs::path& path) {
  std::vector<std::string> parts;
  for (const fs::path& part : path.parent_path()) parts.push_back(part);
  if (parts.empty()) return "";
  if (parts[0] == "tests" || parts[0] == "bench" || parts[0] == "share") return parts[0];
  if (parts.size() < 2) return "";
  if (parts[0] == "core" && parts[1] == "include") return "public";
  if (parts[0] == "sdk" && parts[1] == "include") return parts.size() > 3 ? "sdk/" + parts[3] : "";
  return parts[0] + "/" + parts[1];
}

std::vector<std::string> violations(const fs::path& root) { return Check(root).run(); }

std::vector<std::string> unused_rules(const fs::path& root) {
  Check check(root);
  check.run();
  return check.unused();
}

}  // namespace tenon::arch

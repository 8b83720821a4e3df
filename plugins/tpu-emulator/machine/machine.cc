#include "machine/machine.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "tenon/plugin/entry.h"

namespace tpu {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using tenon::plugin::Error;

constexpr std::uintmax_t kLargestFile = 1 << 20;
constexpr int kMostLevels = 4;  // of "like"
constexpr int kMostNesting = 16;
constexpr int kMostParents = 5;  // above the library, where share/tpu is looked for

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  if (const char* path = std::getenv("TENON_TPU_PATH")) {
    std::istringstream parts(path);
    for (std::string part; std::getline(parts, part, ':');)
      if (!part.empty()) all.push_back(part);
  }
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&machine_names), &info) && info.dli_fname) {
    std::error_code none;
    fs::path at = fs::weakly_canonical(info.dli_fname, none).parent_path();
    for (int level = 0; level < kMostParents && !at.empty(); ++level, at = at.parent_path()) {
      all.push_back(at / "share" / "tpu");
      all.push_back(at / "share" / "tenon" / "tpu");
    }
  }
  return all;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none, set TENON_TPU_PATH to the folder of machine files" : text;
}

fs::path file_of(const std::string& name) {
  const bool plain = !name.empty() && name.find('/') == std::string::npos && name[0] != '.';
  std::error_code none;
  if (plain)
    for (const fs::path& folder : folders())
      if (fs::is_regular_file(folder / (name + ".json"), none)) return folder / (name + ".json");
  throw Error(TENON_UNAVAILABLE, "unknown TPU '" + name.substr(0, 64) + "'; known: " + listed(machine_names()));
}

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw Error(TENON_INVALID, file.string() + ": " + what);
}

// How deep brackets go; those in texts count too, no machine file has so many.
int nesting(const std::string& text) {
  int depth = 0, most = 0;
  for (char c : text) {
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    most = std::max(most, depth);
  }
  return most;
}

// For people: lines, and bytes of a line, count from 1. `byte` counts from 1 too.
std::string position(const std::string& text, size_t byte) {
  const std::string_view before = std::string_view(text).substr(0, byte > 0 ? byte - 1 : 0);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t column = before.size() - (before.rfind('\n') + 1);  // without any line's end npos + 1 is 0
  return "line " + std::to_string(line) + ", column " + std::to_string(column + 1);
}

json parse(const fs::path& file, const std::string& text) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& e) {
    refuse(file, "expected one JSON object, found an error in it at " + position(text, e.byte));
  } catch (const json::exception&) {  // it does not say where
    refuse(file, "expected numbers of at most 1.7e308, found a larger one");
  }
}

std::string text_of(const fs::path& file) {
  std::error_code none;
  if (fs::file_size(file, none) > kLargestFile || none) refuse(file, "cannot be read, or is larger than 1 MiB");
  std::ifstream in(file);
  std::string text(kLargestFile + 1, '\0');  // its size says nothing where the system makes it up, or it grows
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kLargestFile) refuse(file, "cannot be read, or is larger than 1 MiB");
  return text;
}

json object_of(const fs::path& file, const std::string& text) {
  if (nesting(text) > kMostNesting) refuse(file, "expected objects in one object, found them nested deeper");
  json content = parse(file, text);
  if (!content.is_object()) refuse(file, std::string("expected one JSON object, found one ") + content.type_name());
  return content;
}

// The file with what it does not say taken from the machine that it names as "like". Its name, by default that of the
// file, and whether it was held against measurements are its own: another machine cannot say them for it.
json whole_of(const fs::path& file, const std::string& text, const std::string& name) {
  json content = object_of(file, text);
  if (json& own = content["name"]; own.is_null()) own = name;
  if (json& own = content["validated"]; own.is_null()) own = false;
  for (int level = 0; content.contains("like"); ++level) {
    if (!content["like"].is_string()) refuse(file, "field 'like': expected the name of a machine");
    if (level == kMostLevels) refuse(file, "field 'like': expected at most 4 files after another, found more");
    const fs::path like = file_of(content["like"].get<std::string>());
    json whole = object_of(like, text_of(like));
    content.erase("like");
    whole.merge_patch(content);
    content = std::move(whole);
  }
  return content;
}

std::string shown(double number) {
  std::ostringstream text;
  text << number;
  return text.str();
}

// Takes known fields out; what is left is unknown.
class Reader {
 public:
  Reader(const fs::path& file, json content) : file_(file), content_(std::move(content)) {}

  std::string text(const std::string& field) {
    const json value = take(field);
    if (!value.is_string() || value.get<std::string>().empty()) wrong(field, "a text that is not empty", value);
    return value.get<std::string>();
  }

  bool flag(const std::string& field) {
    const json value = take(field);
    if (!value.is_boolean()) wrong(field, "true or false", value);
    return value.get<bool>();
  }

  double number(const std::string& field, double least, double most) {
    const json value = take(field);
    const bool good = value.is_number() && value.get<double>() >= least && value.get<double>() <= most;
    if (!good) wrong(field, "a number from " + shown(least) + " to " + shown(most), value);
    return value.get<double>();
  }

  // Absent: 0.
  double number_if_there(const std::string& section, const std::string& name, double least, double most) {
    if (!content_.contains(section) || !content_[section].is_object() || !content_[section].contains(name)) return 0;
    return number(section + "." + name, least, most);
  }

  int64_t count(const std::string& field, int64_t least, int64_t most) {
    const json value = take(field);
    const bool good = value.is_number_integer() && value.get<double>() >= static_cast<double>(least) &&
                      value.get<double>() <= static_cast<double>(most);
    if (!good) wrong(field, "a whole number from " + std::to_string(least) + " to " + std::to_string(most), value);
    return value.get<int64_t>();
  }

  // Absent: none.
  std::vector<std::string> texts(const std::string& field) {
    std::vector<std::string> out;
    if (!content_.contains(field)) return out;
    const json value = take(field);
    bool good = value.is_array();
    for (size_t i = 0; good && i < value.size(); ++i) good = value[i].is_string();
    if (!good) wrong(field, "a list of texts", value);
    for (const json& text : value) out.push_back(text.get<std::string>());
    return out;
  }

  void forget(const std::string& field) { content_.erase(field); }
  void nothing_left() {
    for (auto& [field, value] : content_.items())
      if (!value.is_object()) refuse(file_, "unknown field '" + field.substr(0, 80) + "'");
    for (auto& [section, fields] : content_.items())
      for (auto& [field, value] : fields.items())
        refuse(file_, "unknown field '" + section.substr(0, 80) + "." + field.substr(0, 80) + "'");
  }

  [[noreturn]] void wrong(const std::string& field, const std::string& expected, const json& found) {
    refuse(file_, "field '" + field + "': expected " + expected + ", found " +
                      found.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 80));
  }

 private:
  // "section.name" or "name".
  json take(const std::string& field) {
    json* section = &content_;
    std::string name = field;
    if (const size_t dot = field.find('.'); dot != std::string::npos) {
      const std::string in = field.substr(0, dot);
      if (!content_.contains(in)) refuse(file_, "misses field '" + field + "'");
      section = &content_[in];
      if (!section->is_object()) wrong(in, "an object", *section);
      name = field.substr(dot + 1);
    }
    if (!section->contains(name)) refuse(file_, "misses field '" + field + "'");
    json value = (*section)[name];
    section->erase(name);
    return value;
  }

  fs::path file_;
  json content_;
};

// What hardware stays within for decades, and sums of times and bytes within what is printed.
constexpr int64_t kMostCores = 1 << 16;
constexpr int64_t kLeastBytes = 1 << 20, kMostBytes = int64_t{1} << 50;
constexpr double kSlowest = 1e6, kFastest = 1e15;  // bytes a second
constexpr double kMostSeconds = 10;
constexpr double kMostSecondsOfOne = 1e-3;  // example or float

Machine machine_of(Reader& reader) {
  Machine m;
  m.name = reader.text("name");
  m.generation = reader.text("generation");
  m.software = reader.text("software");
  m.validated = reader.flag("validated");
  m.kernels = reader.texts("kernels");
  reader.forget("source");
  m.cores = static_cast<int>(reader.count("slice.cores", 1, kMostCores));
  m.hosts = static_cast<int>(reader.count("slice.hosts", 1, kMostCores));
  m.cores_per_chip = static_cast<int>(reader.count("slice.cores_per_chip", 1, 16));
  m.reported_memory_bytes = static_cast<uint64_t>(reader.count("core.reported_memory_bytes", kLeastBytes, kMostBytes));
  m.clock_hz = reader.number("core.clock_hz", 1e6, 1e11);
  m.matrix_units = static_cast<int>(reader.count("core.matrix_units", 1, 1024));
  m.hbm_bytes = static_cast<uint64_t>(reader.count("core.hbm_bytes", kLeastBytes, kMostBytes));
  m.hbm_reserved_bytes = static_cast<uint64_t>(reader.count("core.hbm_reserved_bytes", 0, kMostBytes));
  m.hbm_peak_bytes_per_s = reader.number_if_there("core", "hbm_peak_bytes_per_s", kSlowest, kFastest);
  m.sharded_update = reader.flag("fitted.sharded_update");
  return m;
}

struct Constant {
  const char* field;
  double* to;
  double least, most;
};

void fitted(Reader& reader, Machine& m) {
  const Constant constants[] = {
      {"hbm_bytes_per_s", &m.hbm_bytes_per_s, kSlowest, kFastest},
      {"matrix_efficiency", &m.matrix_efficiency, 0.01, 1},
      {"overlap_loss", &m.overlap_loss, 0, 1},
      {"vector_ops_per_cycle", &m.vector_ops_per_cycle, 1, 1e9},
      {"launch_s", &m.launch_s, 0, kMostSeconds},
      {"update_extra_bytes", &m.update_extra_bytes, 0, 1000},
      {"rmsprop_extra_bytes", &m.rmsprop_extra_bytes, 0, 1000},
      {"collective_bytes_per_s", &m.collective_bytes_per_s, kSlowest, kFastest},
      {"collective_launch_s", &m.collective_launch_s, 0, kMostSeconds},
      {"collective_fill_s", &m.collective_fill_s, 0, kMostSeconds},
      {"collective_piece_bytes", &m.collective_piece_bytes, 1, 1e12},
      {"collective_slowdown_beyond_host", &m.collective_slowdown_beyond_host, 0.01, 1},
      {"infeed_bytes_per_s", &m.infeed_bytes_per_s, kSlowest, kFastest},
      {"infeed_one_hot_bytes_per_s", &m.infeed_one_hot_bytes_per_s, kSlowest, kFastest},
      {"infeed_one_hot_element_s", &m.infeed_one_hot_element_s, 0, kMostSecondsOfOne},
      {"infeed_one_hot_serial_elements", &m.infeed_one_hot_serial_elements, 0, 1e12},
      {"infeed_example_s", &m.infeed_example_s, 0, kMostSecondsOfOne},
      {"infeed_step_s", &m.infeed_step_s, 0, kMostSeconds},
      {"infeed_jitter", &m.infeed_jitter, 0, 10},
      {"infeed_jitter_most_s", &m.infeed_jitter_most_s, 0, kMostSeconds},
      {"outfeed_bytes_per_s", &m.outfeed_bytes_per_s, kSlowest, kFastest},
      {"host_step_s", &m.host_step_s, 1e-9, kMostSeconds},
  };
  for (const auto& [field, to, least, most] : constants)
    *to = reader.number(std::string("fitted.") + field, least, most);
}

void check_consistent(Reader& reader, const Machine& m, const std::string& name) {
  if (m.name != name) reader.wrong("name", "the file's name, '" + name + "'", m.name);
  if (m.cores % m.hosts) reader.wrong("slice.cores", "a multiple of slice.hosts, " + std::to_string(m.hosts), m.cores);
  if (m.cores / m.hosts % m.cores_per_chip)
    reader.wrong("slice.cores_per_chip", "a divisor of the cores of a host, " + std::to_string(m.cores / m.hosts),
                 m.cores_per_chip);
  if (m.hbm_reserved_bytes >= m.hbm_bytes)
    reader.wrong("core.hbm_reserved_bytes", "less than core.hbm_bytes, " + std::to_string(m.hbm_bytes),
                 m.hbm_reserved_bytes);
}

// A run of digits is compared as a number: v2-8 stands before v2-32.
struct ByNumber {
  bool operator()(const std::string& a, const std::string& b) const {
    size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
      const std::string_view x = run(a, i), y = run(b, j);
      if (x != y) return digit(x[0]) && digit(y[0]) && x.size() != y.size() ? x.size() < y.size() : x < y;
      i += x.size(), j += y.size();
    }
    return a.size() < b.size();
  }

 private:
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  // The digits from `at` on, or the one character there.
  static std::string_view run(const std::string& text, size_t at) {
    size_t end = at + 1;
    while (digit(text[at]) && end < text.size() && digit(text[end])) ++end;
    return std::string_view(text).substr(at, end - at);
  }
};

}  // namespace

std::vector<std::string> machine_names() {
  std::set<std::string, ByNumber> names;
  std::error_code none;
  for (const fs::path& folder : folders())
    for (fs::directory_iterator file(folder, none), end; !none && file != end; file.increment(none))
      if (file->path().extension() == ".json") names.insert(file->path().stem().string());
  return {names.begin(), names.end()};
}

Machine load_machine(const std::string& name) {
  const fs::path file = file_of(name);
  return parse_machine(text_of(file), name, file.string());
}

Machine parse_machine(const std::string& text, const std::string& name, const std::string& file) {
  Reader reader(file, whole_of(file, text, name));
  Machine machine = machine_of(reader);
  fitted(reader, machine);
  reader.nothing_left();
  check_consistent(reader, machine, name);
  return machine;
}

}  // namespace tpu

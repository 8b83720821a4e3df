#include "machine.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

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
constexpr double kMostCores = 1 << 16;

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
  throw Error(TENON_UNAVAILABLE,
              "tpu-emulator: unknown TPU '" + name.substr(0, 64) + "'; known: " + listed(machine_names()));
}

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw Error(TENON_INVALID, file.string() + ": " + what);
}

// Of brackets; those in texts count too, no machine file has so many.
int nesting(const std::string& text) {
  int depth = 0, most = 0;
  for (char c : text) {
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    most = std::max(most, depth);
  }
  return most;
}

json read(const fs::path& file) {
  std::error_code none;
  if (fs::file_size(file, none) > kLargestFile || none) refuse(file, "cannot be read, or is larger than 1 MiB");
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (nesting(text) > kMostNesting) refuse(file, "expected objects in one object, found them nested deeper");
  json content = json::parse(text, nullptr, false);
  if (content.is_discarded() || !content.is_object()) refuse(file, "expected one JSON object");
  return content;
}

// The file with what it does not say taken from the machine that it names as "like".
json read_whole(const fs::path& file) {
  json content = read(file);
  for (int level = 0; content.contains("like"); ++level) {
    if (!content["like"].is_string()) refuse(file, "field 'like': expected the name of a machine");
    if (level == kMostLevels) refuse(file, "field 'like': expected at most 4 files after another, found more");
    json whole = read(file_of(content["like"].get<std::string>()));
    content.erase("like");
    whole.merge_patch(content);
    content = std::move(whole);
  }
  return content;
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

  double positive(const std::string& field) {
    const json value = take(field);
    const bool good = value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0;
    if (!good) wrong(field, "a number above 0", value);
    return value.get<double>();
  }

  // Of numbers that may be 0.
  double amount(const std::string& field) {
    const json value = take(field);
    const bool good = value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() >= 0;
    if (!good) wrong(field, "a number, at least 0", value);
    return value.get<double>();
  }

  int64_t count(const std::string& field, double most) {
    const json value = take(field);
    const bool good = value.is_number_integer() && value.get<double>() >= 1 && value.get<double>() <= most;
    if (!good) wrong(field, "a whole number from 1 to " + std::to_string(static_cast<int64_t>(most)), value);
    return value.get<int64_t>();
  }

  void forget(const std::string& field) { content_.erase(field); }
  void nothing_left() {
    for (auto& [field, value] : content_.items())
      if (!value.is_object()) refuse(file_, "unknown field '" + field + "'");
    for (auto& [section, fields] : content_.items())
      for (auto& [field, value] : fields.items()) refuse(file_, "unknown field '" + section + "." + field + "'");
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

constexpr double kMostBytes = 1ull << 50;

Machine machine_of(Reader& reader) {
  Machine m;
  m.name = reader.text("name");
  m.generation = reader.text("generation");
  m.software = reader.text("software");
  m.validated = reader.flag("validated");
  reader.forget("source");
  m.cores = static_cast<int>(reader.count("slice.cores", kMostCores));
  m.hosts = static_cast<int>(reader.count("slice.hosts", kMostCores));
  m.cores_per_chip = static_cast<int>(reader.count("slice.cores_per_chip", 16));
  m.reported_memory_bytes = static_cast<uint64_t>(reader.count("core.reported_memory_bytes", kMostBytes));
  m.clock_hz = reader.positive("core.clock_hz");
  m.matrix_units = static_cast<int>(reader.count("core.matrix_units", 1024));
  m.hbm_bytes = static_cast<uint64_t>(reader.count("core.hbm_bytes", kMostBytes));
  m.hbm_reserved_bytes = static_cast<uint64_t>(reader.count("core.hbm_reserved_bytes", kMostBytes));
  m.sharded_update = reader.flag("fitted.sharded_update");
  return m;
}

void fitted(Reader& reader, Machine& m) {
  const std::pair<const char*, double*> positive[] = {
      {"hbm_bytes_per_s", &m.hbm_bytes_per_s},
      {"matrix_efficiency", &m.matrix_efficiency},
      {"vector_ops_per_cycle", &m.vector_ops_per_cycle},
      {"launch_s", &m.launch_s},
      {"collective_bytes_per_s", &m.collective_bytes_per_s},
      {"collective_launch_s", &m.collective_launch_s},
      {"collective_piece_bytes", &m.collective_piece_bytes},
      {"collective_slowdown_beyond_host", &m.collective_slowdown_beyond_host},
      {"infeed_bytes_per_s", &m.infeed_bytes_per_s},
      {"infeed_one_hot_bytes_per_s", &m.infeed_one_hot_bytes_per_s},
      {"outfeed_bytes_per_s", &m.outfeed_bytes_per_s},
      {"host_step_s", &m.host_step_s},
  };
  const std::pair<const char*, double*> amounts[] = {
      {"update_extra_bytes", &m.update_extra_bytes},
      {"rmsprop_extra_bytes", &m.rmsprop_extra_bytes},
      {"overlap_loss", &m.overlap_loss},
      {"collective_fill_s", &m.collective_fill_s},
      {"infeed_one_hot_element_s", &m.infeed_one_hot_element_s},
      {"infeed_one_hot_serial_elements", &m.infeed_one_hot_serial_elements},
      {"infeed_example_s", &m.infeed_example_s},
      {"infeed_step_s", &m.infeed_step_s},
      {"infeed_jitter", &m.infeed_jitter},
      {"infeed_jitter_most_s", &m.infeed_jitter_most_s},
  };
  for (const auto& [field, to] : positive) *to = reader.positive(std::string("fitted.") + field);
  for (const auto& [field, to] : amounts) *to = reader.amount(std::string("fitted.") + field);
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
  if (m.matrix_efficiency > 1) reader.wrong("fitted.matrix_efficiency", "at most 1", m.matrix_efficiency);
  if (m.overlap_loss > 1) reader.wrong("fitted.overlap_loss", "at most 1", m.overlap_loss);
  if (m.collective_slowdown_beyond_host > 1)
    reader.wrong("fitted.collective_slowdown_beyond_host", "at most 1", m.collective_slowdown_beyond_host);
}

}  // namespace

std::vector<std::string> machine_names() {
  std::set<std::string> names;
  std::error_code none;
  for (const fs::path& folder : folders())
    for (fs::directory_iterator file(folder, none), end; !none && file != end; file.increment(none))
      if (file->path().extension() == ".json") names.insert(file->path().stem().string());
  return {names.begin(), names.end()};
}

Machine load_machine(const std::string& name) {
  const fs::path file = file_of(name);
  Reader reader(file, read_whole(file));
  Machine machine = machine_of(reader);
  fitted(reader, machine);
  reader.nothing_left();
  check_consistent(reader, machine, name);
  return machine;
}

}  // namespace tpu

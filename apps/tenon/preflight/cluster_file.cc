#include "preflight/cluster_file.h"

#include <algorithm>
#include <filesystem>

#include "flags.h"
#include "json_file.h"
#include "output.h"
#include "tenon/text_file.h"

namespace tenon::runner {
namespace {

// An object of a file, whose keys are all known.
class Part {
 public:
  Part(const std::string& path, const std::string& name, const nlohmann::json& json,
       const std::vector<std::string>& known)
      : path_(path), name_(name), json_(json) {
    if (!json.is_object()) refuse(path, name.empty() ? "the file" : name, json, "an object");
    for (const auto& [key, value] : json.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        refuse(path, "expected " + listed(known) + (name.empty() ? "" : " in " + name) + ", found '" + key + "'");
  }

  bool has(const char* key) const { return json_.contains(key); }
  const nlohmann::json& at(const char* key) const {
    if (!has(key)) refuse(path_, "expected '" + full(key) + "', found none");
    return json_.at(key);
  }
  std::string full(const char* key) const { return name_.empty() ? key : name_ + "." + key; }

  int count(const char* key, int otherwise) const {
    if (!has(key)) return otherwise;
    const nlohmann::json& value = at(key);
    if (!is_integer(value) || value.get<int64_t>() < 1 || value.get<int64_t>() > Cluster::kMost)
      refuse(path_, full(key), value, "a whole number from 1 to " + with_commas(Cluster::kMost));
    return value.get<int>();
  }
  double above_0(const char* key) const {
    return number(key, "a number above 0", [](double x) { return x > 0; });
  }
  double least_0(const char* key) const {
    return number(key, "a number from 0 on", [](double x) { return x >= 0; });
  }
  double share(const char* key) const {
    return number(key, "a number above 0 and below 1", [](double x) { return x > 0 && x < 1; });
  }
  bool flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!at(key).is_boolean()) refuse(path_, full(key), at(key), "true or false");
    return at(key).get<bool>();
  }

 private:
  template <class Fits>
  double number(const char* key, const char* expected, Fits fits) const {
    const nlohmann::json& value = at(key);
    if (!value.is_number() || !fits(value.get<double>())) refuse(path_, full(key), value, expected);
    return value.get<double>();
  }

  const std::string& path_;
  const std::string name_;
  const nlohmann::json& json_;
};

Link link_of(const std::string& path, const Part& file, const char* key) {
  const Part link(path, key, file.at(key), {"bytes_per_s", "latency_s"});
  return {link.above_0("bytes_per_s"), link.least_0("latency_s")};
}

// The last line that `tenon bench .. --json` printed.
std::pair<std::string, nlohmann::json> result_in(const std::string& from, const std::string& name) {
  const std::string path = (std::filesystem::path(from).parent_path() / name).string();
  const std::vector<std::string> lines = read_text_lines(path).take();
  for (size_t i = lines.size(); i-- > 0;) {
    nlohmann::json json = parse_json(path, lines[i], static_cast<int64_t>(i) + 1);
    if (json.is_object() && json.value("event", nlohmann::json()) == "result") return {path, std::move(json)};
  }
  refuse(path, "expected what `tenon bench .. --json` prints, found no line of the event \"result\"");
}

const std::vector<std::string> kStepKeys{"min_ms", "batch_size", "backward_share", "flops_per_byte"};

MeasuredStep step_in(const Part& step) {
  MeasuredStep out{.ms = step.above_0("min_ms"), .examples = 0};
  const double examples = step.above_0("batch_size");
  out.examples = static_cast<int64_t>(std::min(examples, double{1 << 24}));
  if (static_cast<double>(out.examples) != examples) (void)step.count("batch_size", 0);  // which refuses it
  if (step.has("backward_share")) out.backward_share = step.share("backward_share");
  if (step.has("flops_per_byte")) out.flops_per_byte = step.above_0("flops_per_byte");
  return out;
}

// Keys of what a benchmark printed that do not matter are passed over.
nlohmann::json only(const nlohmann::json& json, const std::vector<std::string>& keys) {
  nlohmann::json out = nlohmann::json::object();
  for (const std::string& key : keys)
    if (json.contains(key)) out[key] = json.at(key);
  return out;
}

MeasuredStep step_of(const std::string& path, const Part& file) {
  const nlohmann::json& step = file.at("step");
  if (!step.is_string()) return step_in(Part(path, "step", step, kStepKeys));
  const auto [from, result] = result_in(path, step.get<std::string>());
  const nlohmann::json some = only(result, kStepKeys);
  return step_in(Part(from, "", some, kStepKeys));
}

double input_of(const std::string& path, const Part& file) {
  if (!file.has("input")) return 0;
  const std::vector<std::string> keys{"examples_per_second"};
  const nlohmann::json& input = file.at("input");
  if (!input.is_string()) return Part(path, "input", input, keys).above_0("examples_per_second");
  const auto [from, result] = result_in(path, input.get<std::string>());
  const nlohmann::json some = only(result, keys);
  return Part(from, "", some, keys).above_0("examples_per_second");
}

}  // namespace

ClusterFile read_cluster_file(const std::string& path) {
  const nlohmann::json json = parse_json(path, read_text_file(path).take());
  const Part file(
      path, "", json,
      {"hosts", "processes_per_host", "units_per_process", "shared_memory", "inside", "between", "step", "input"});
  ClusterFile out;
  Cluster& c = out.cluster;
  c.hosts = file.count("hosts", 1);
  c.processes_per_host = file.count("processes_per_host", 1);
  c.units_per_process = file.count("units_per_process", 1);
  if (!c.is_of_most())
    refuse(path, "expected at most " + with_commas(Cluster::kMostUnits) +
                     " units, found hosts x processes_per_host x units_per_process of " +
                     with_commas(int64_t{c.hosts} * c.processes_per_host) + " x " + with_commas(c.units_per_process));
  c.shared_memory = file.flag("shared_memory", true);
  if (file.has("inside") || c.processes_per_host > 1) c.inside = link_of(path, file, "inside");
  if (file.has("between") || c.hosts > 1) c.between = link_of(path, file, "between");
  out.step = step_of(path, file);
  out.input_examples_per_s = input_of(path, file);
  return out;
}

}  // namespace tenon::runner

#include "train/export/exports.h"

#include <algorithm>
#include <filesystem>

#include "base/file/file.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "tenon/processes.h"

namespace tenon {
namespace {

constexpr int64_t kMostRecord = 1 << 20;

Exporter named(Exporter::When when, const ExporterOptions& options, const char* name) {
  Exporter out{when, options};
  if (out.options.name.empty()) out.options.name = name;
  return out;
}

// The results of the best evaluation so far; none before the first.
Result<std::map<std::string, double>> read_best(const std::string& path) {
  std::map<std::string, double> out;
  if (std::error_code error; !std::filesystem::exists(path, error)) return out;
  TENON_ASSIGN(const std::string text, read_file(path, kMostRecord));
  TENON_ASSIGN(const nlohmann::json json, parse_json_text(path, text));
  if (!json.is_object() || json.empty()) return invalid(path, ": is no record of an evaluation");
  for (const auto& [name, value] : json.items()) {
    if (!value.is_number()) return invalid(path, ": '", abbreviated(name), "' is no number");
    out[name] = value.get<double>();
  }
  return out;
}

Status write_best(const std::string& path, const EvalResult& result) {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : result) json[name] = value;
  return atomic_write(path, cat(json.dump(2), "\n"));
}

bool smaller_loss(const std::map<std::string, double>& best, const std::map<std::string, double>& current) {
  return current.at("loss") < best.at("loss");
}

}  // namespace

Exporter LatestExporter(const ExporterOptions& options) {
  return named(Exporter::When::kEachEvaluation, options, "latest");
}
Exporter FinalExporter(const ExporterOptions& options) { return named(Exporter::When::kEnd, options, "exporter"); }
Exporter BestExporter(const ExporterOptions& options) {
  return named(Exporter::When::kBetter, options, "best_exporter");
}

std::string Estimator::Exports::directory(const Exporter& exporter) const {
  return cat(m_.config.model_dir, "/export/", exporter.options.name);
}

Status Estimator::Exports::check_names() const {
  std::vector<std::string> names;
  for (const Exporter& exporter : exporters_) {
    const std::string& name = exporter.options.name;
    if (name.empty() || name.find('/') != name.npos || name[0] == '.')
      return invalid("an exporter's name is '", name, "'");
    if (std::find(names.begin(), names.end(), name) != names.end())
      return invalid("there are two exporters '", name, "'");
    names.push_back(name);
    if (m_.config.model_dir.empty()) return invalid("the exporter '", name, "' needs RunConfig.model_dir");
    if (exporter.options.exports_to_keep < 0)
      return invalid("the exporter '", name, "' keeps ", exporter.options.exports_to_keep,
                     " exports, expected 0 or more");
  }
  return {};
}

Status Estimator::Exports::prepare() {
  TENON_TRY(check_names());
  if (exporters_.empty()) return {};
  TENON_ASSIGN(const StepInput input, m_.step_input(input_, Mode::kEval));
  specs_ = input.specs();
  for (const Exporter& exporter : exporters_) {
    TENON_ASSIGN(const VersionContents contents, export_contents(m_.model, m_.params, specs_, exporter.options.how));
    TENON_TRY(check_format(contents, exporter.options.how.format));
  }
  return {};
}

Result<bool> Estimator::Exports::is_due(const Exporter& exporter, const EvalResult& result, bool last) const {
  if (exporter.when == Exporter::When::kEachEvaluation) return true;
  if (exporter.when == Exporter::When::kEnd) return last;
  TENON_ASSIGN(const auto best, read_best(cat(directory(exporter), "/best.json")));
  if (best.empty()) return true;
  try {
    return (exporter.options.compare ? exporter.options.compare : smaller_loss)(best, result);
  } catch (const std::exception& e) {
    return invalid("the exporter '", exporter.options.name, "' cannot compare evaluations: ", e.what());
  }
}

Status Estimator::Exports::after_evaluation(const EvalResult& result, bool last) const {
  if (!is_first_process()) return {};
  for (const Exporter& exporter : exporters_) {
    TENON_ASSIGN(const bool due, is_due(exporter, result, last));
    if (!due) continue;
    ExportOptions how = exporter.options.how;
    how.version = 0;
    how.checkpoint.clear();
    how.keep = exporter.when == Exporter::When::kEnd ? 0 : exporter.options.exports_to_keep;
    TENON_ASSIGN(const std::string path, write(m_, specs_, directory(exporter), how));
    m_.tenon_line(cat("exported to ", path));
    m_.log(cat("SavedModel written to: ", path, "/saved_model.pb"));
    if (exporter.when == Exporter::When::kBetter) TENON_TRY(write_best(cat(directory(exporter), "/best.json"), result));
  }
  return {};
}

}  // namespace tenon

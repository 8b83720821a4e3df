#include "plot/runs.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "csv_text.h"
#include "output.h"

namespace tenon::runner {
namespace {

namespace fs = std::filesystem;

// "loss" of "epoch_loss", of which Keras's callback counts the epochs from 0.
MetricName metric_of(const std::string& tag) {
  constexpr std::string_view kEpoch = "epoch_";
  return tag.starts_with(kEpoch) ? MetricName{tag.substr(kEpoch.size()), true} : MetricName{tag, false};
}

std::vector<ScalarPoint> from_one(std::vector<ScalarPoint> points) {
  for (ScalarPoint& point : points) ++point.step;
  return points;
}

void add_events(const std::string& directory, bool validation, const std::string& suffix, PlottedRun& run) {
  const RecordedSummaries recorded = read_summaries(directory).take();
  for (const auto& [tag, points] : recorded.scalars) {
    MetricName metric = metric_of(tag);
    metric.name += suffix;
    MetricCurves& curves = run.metrics[metric];
    (validation ? curves.validation : curves.training) = metric.epochs ? from_one(points) : points;
  }
  if (const auto device = recorded.texts.find("device"); device != recorded.texts.end()) run.device = device->second;
}

std::vector<std::string> folders_of(const std::string& directory) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error))
    if (entry.is_directory(error)) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

PlottedRun run_in(const std::string& directory) {
  PlottedRun out{directory, "", {}};
  add_events(directory, false, "", out);
  for (const std::string& folder : folders_of(directory)) {
    const std::string path = directory + "/" + folder;
    if (folder == "train") add_events(path, false, "", out);
    if (folder == "validation" || folder == "eval") add_events(path, true, "", out);
    if (folder.starts_with("eval_")) add_events(path, true, " " + folder.substr(5), out);
  }
  return out;
}

double number_in(const CsvTable& table, const std::string& field, size_t row) {
  char* end = nullptr;
  const double out = std::strtod(field.c_str(), &end);
  if (end != field.c_str() + field.size() || field.empty())
    throw Error(Status(Code::kInvalid,
                       format("%s: row %zu: '%s', expected a number", table.path.c_str(), row + 1, field.c_str())));
  return out;
}

PlottedRun run_of_csv(const std::string& path) {
  const CsvTable table = read_csv_table(path);
  if (table.columns.empty() || table.columns[0] != "epoch")
    throw Error(
        Status(Code::kInvalid, format("%s: expected a first column 'epoch', as CSVLogger writes it", path.c_str())));
  if (table.rows.empty())
    throw Error(Status(Code::kInvalid, format("%s: expected a row for each epoch, found none", path.c_str())));
  PlottedRun out{path, "", {}};
  for (size_t column = 1; column < table.columns.size(); ++column) {
    const bool validation = table.columns[column].starts_with("val_");
    MetricCurves& curves = out.metrics[{table.columns[column].substr(validation ? 4 : 0), true}];
    for (size_t row = 0; row < table.rows.size(); ++row) {
      const std::string& field = table.rows[row][column];
      if (field == "NA" || field.empty()) continue;
      const auto epoch = static_cast<int64_t>(number_in(table, table.rows[row][0], row));
      (validation ? curves.validation : curves.training).push_back({epoch + 1, 0, number_in(table, field, row)});
    }
  }
  return out;
}

void add_runs(const std::string& path, std::vector<PlottedRun>& out) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return out.push_back(run_of_csv(path));
  if (!fs::is_directory(path, error))
    throw Error(
        Status(Code::kUnavailable, format("no run '%s': expected a directory, or a CSV of CSVLogger", path.c_str())));
  if (PlottedRun run = run_in(path); !run.metrics.empty()) return out.push_back(std::move(run));
  const size_t before = out.size();
  for (const std::string& folder : folders_of(path))
    if (PlottedRun run = run_in(path + "/" + folder); !run.metrics.empty()) out.push_back(std::move(run));
  if (out.size() == before)
    throw Error(
        Status(Code::kUnavailable,
               format("'%s' has no scalars for TensorBoard, nor has train, validation or eval in it; the TensorBoard "
                      "callback and `tenon train --save_summary_steps N` write them",
                      path.c_str())));
}

// The last so many parts of a path.
std::string tail(const fs::path& path, size_t parts) {
  fs::path out;
  for (auto at = path.end(); at != path.begin() && parts > 0; --parts) {
    --at;
    out = out.empty() ? *at : *at / out;
  }
  std::string text = out.string();
  while (text.ends_with('/')) text.pop_back();
  return text;
}

void shorten_names(std::vector<PlottedRun>& runs) {
  std::vector<fs::path> paths;
  for (const PlottedRun& run : runs) {
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(run.name, error);
    paths.push_back(error ? fs::path(run.name) : whole);
  }
  for (size_t parts = 1; parts < 20; ++parts) {
    std::set<std::string> names;
    for (size_t i = 0; i < runs.size(); ++i) names.insert(runs[i].name = tail(paths[i], parts));
    if (names.size() == runs.size()) return;
  }
}

}  // namespace

std::vector<PlottedRun> read_runs(const std::vector<std::string>& paths) {
  std::vector<PlottedRun> out;
  for (const std::string& path : paths) add_runs(path, out);
  shorten_names(out);
  return out;
}

}  // namespace tenon::runner

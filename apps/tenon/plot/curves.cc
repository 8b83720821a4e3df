// tenon plot curves: what was measured over steps or epochs.
#include <algorithm>
#include <cmath>
#include <set>

#include "pictures/curves.h"
#include "pictures/style.h"
#include "plot/plot.h"
#include "plot/runs.h"

namespace tenon::runner {
namespace {

using pictures::Curve;
using pictures::CurvesPicture;
using pictures::Panel;

constexpr size_t kMostPanels = 9;

std::vector<std::string> split_tags(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// How fast it went and by which rate, and numbers of batches and of steps that epochs have too.
bool is_beside(const MetricName& metric) {
  const std::string& name = metric.name;
  return name == "learning_rate" || name == "seconds" || name == "seconds_predicted" || name.ends_with("_per_second") ||
         name.ends_with("/sec") || name.starts_with("batch_") || name.starts_with("evaluation_");
}

// The loss first.
bool before(const MetricName& a, const MetricName& b) {
  const auto rank = [](const MetricName& m) { return std::pair(m.name != "loss", m); };
  return rank(a) < rank(b);
}

std::vector<MetricName> all_metrics(const std::vector<PlottedRun>& runs) {
  std::set<MetricName> names;
  for (const PlottedRun& run : runs)
    for (const auto& entry : run.metrics) names.insert(entry.first);
  std::vector<MetricName> out(names.begin(), names.end());
  std::sort(out.begin(), out.end(), before);
  return out;
}

std::vector<MetricName> wanted_metrics(const std::vector<PlottedRun>& runs, const std::vector<std::string>& tags) {
  const std::vector<MetricName> all = all_metrics(runs);
  std::vector<MetricName> out;
  for (const std::string& tag : tags) {
    const size_t found_before = out.size();
    for (const MetricName& metric : all)
      if (metric.name == tag || (metric.epochs && "epoch_" + metric.name == tag)) out.push_back(metric);
    if (out.size() > found_before) continue;
    std::vector<std::string> names;
    for (const MetricName& metric : all) names.push_back(metric.name);
    throw UsageError{format("--tags: the runs have no '%s'; they have %s", tag.c_str(), listed(names).c_str())};
  }
  if (!tags.empty()) return out;
  std::copy_if(all.begin(), all.end(), std::back_inserter(out), [](const MetricName& m) { return !is_beside(m); });
  return out.empty() ? all : out;
}

// TensorBoard's: an exponential mean that is corrected for its beginning. Equal numbers stay as they are.
std::vector<double> smoothed(const std::vector<ScalarPoint>& points, double weight) {
  std::vector<double> out;
  const bool constant =
      std::all_of(points.begin(), points.end(), [&](const ScalarPoint& p) { return p.value == points[0].value; });
  double last = 0;
  int count = 0;
  for (const ScalarPoint& point : points) {
    if (constant || !std::isfinite(point.value)) {
      out.push_back(point.value);
      continue;
    }
    last = last * weight + (1 - weight) * point.value;
    out.push_back(last / (1 - std::pow(weight, ++count)));
  }
  return out;
}

Curve curve_of(const std::vector<ScalarPoint>& points, double smoothing, pictures::Color color, bool dashed) {
  Curve out{.color = color, .dashed = dashed};
  const std::vector<double> shown = smoothed(points, smoothing);
  for (size_t i = 0; i < points.size(); ++i) {
    const auto at = static_cast<double>(points[i].step);
    out.points.push_back({at, shown[i]});
    if (smoothing > 0) out.raw.push_back({at, points[i].value});
  }
  return out;
}

class CurvesPlot {
 public:
  CurvesPlot(const Flags& flags, const std::vector<PlottedRun>& runs)
      : flags_(flags), runs_(runs), metrics_(wanted_metrics(runs, split_tags(flags.text("tags")))) {
    if (metrics_.size() > kMostPanels) {
      print_error(format("--tags chooses; the first %zu of %zu are drawn", kMostPanels, metrics_.size()));
      metrics_.resize(kMostPanels);
    }
  }

  int run() {
    CurvesPicture picture{title()};
    for (const MetricName& metric : metrics_) picture.panels.push_back(panel(metric));
    add_legend(picture);
    write_picture(flags_, picture,
                  {static_cast<double>(flags_.integer("width")), static_cast<double>(flags_.integer("height"))});
    tell();
    return 0;
  }

 private:
  bool several() const { return runs_.size() > 1; }
  std::string title() const {
    if (!flags_.text("title").empty()) return flags_.text("title");
    return several() ? "Learning curves" : "Learning curves of " + runs_[0].name;
  }

  Panel panel(const MetricName& metric) {
    Panel out{.title = metric.name, .x_label = metric.epochs ? "epoch" : "step", .log = flags_.boolean("log_scale")};
    const double smoothing = flags_.number("smoothing");
    for (size_t r = 0; r < runs_.size(); ++r) {
      const auto found = runs_[r].metrics.find(metric);
      if (found == runs_[r].metrics.end()) continue;
      const MetricCurves& curves = found->second;
      const pictures::Color validation = pictures::color_of(several() ? r : 1);
      if (!curves.training.empty()) {
        out.curves.push_back(curve_of(curves.training, smoothing, pictures::color_of(r), false));
        training_ = true;
      }
      if (!curves.validation.empty()) {
        out.curves.push_back(curve_of(curves.validation, smoothing, validation, several()));
        validation_ = true;
      }
    }
    return out;
  }

  void add_legend(CurvesPicture& picture) const {
    if (several())
      for (size_t r = 0; r < runs_.size(); ++r) picture.legend.push_back({runs_[r].name, pictures::color_of(r)});
    if (training_) picture.legend.push_back({"training", several() ? pictures::kSoftInk : pictures::color_of(0)});
    if (validation_)
      picture.legend.push_back({"validation", several() ? pictures::kSoftInk : pictures::color_of(1), several()});
  }

  void tell() const {
    std::vector<std::string> names;
    for (const MetricName& metric : metrics_) names.push_back(metric.name);
    if (flags_.boolean("json"))
      return print_line(Json("result")
                            .add("output", flags_.text("output"))
                            .add("runs", static_cast<int64_t>(runs_.size()))
                            .add("tags", listed(names))
                            .str());
    print_line(format("%s of %s in %s", listed(names).c_str(), counted(std::ssize(runs_), "run").c_str(),
                      flags_.text("output").c_str()));
  }

  const Flags& flags_;
  const std::vector<PlottedRun>& runs_;
  std::vector<MetricName> metrics_;
  bool training_ = false, validation_ = false;  // whether there are such curves
};

}  // namespace

int plot_curves(const Flags& flags, const std::vector<std::string>& paths) {
  const std::vector<PlottedRun> runs = read_runs(paths);
  return CurvesPlot(flags, runs).run();
}

}  // namespace tenon::runner

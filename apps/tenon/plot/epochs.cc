// tenon plot epochs: how long an epoch of training took in each run.
#include <algorithm>
#include <cmath>
#include <optional>

#include "pictures/axis.h"
#include "pictures/bars.h"
#include "plot/plot.h"
#include "plot/runs.h"

namespace tenon::runner {
namespace {

struct EpochTimes {
  std::string run, device;
  int64_t epochs = 0;
  bool later = false;  // epochs behind the first were timed
  double first = 0,
         median = 0;  // in seconds; the median of those behind the first, which compiles, where there are some
  std::optional<double> predicted;  // on the machine that an emulating device stands for
};

const std::vector<ScalarPoint>* series(const PlottedRun& run, const std::string& name) {
  const auto found = run.metrics.find({name, true});
  return found == run.metrics.end() || found->second.training.empty() ? nullptr : &found->second.training;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

EpochTimes times_of(const PlottedRun& run) {
  const std::vector<ScalarPoint>* const seconds = series(run, "seconds");
  if (!seconds)
    throw Error(
        Status(Code::kUnavailable, format("'%s' has no epoch_seconds, which the TensorBoard callback and `tenon train "
                                          "--save_summary_steps N` write",
                                          run.name.c_str())));
  // Where the device does several steps at once, one number may stand for several short epochs.
  EpochTimes out{run.name, run.device, seconds->back().step, seconds->size() > 1, seconds->front().value};
  std::vector<double> values;
  for (size_t i = seconds->size() > 1 ? 1 : 0; i < seconds->size(); ++i) values.push_back((*seconds)[i].value);
  out.median = median_of(values);
  if (const auto* predicted = series(run, "seconds_predicted")) out.predicted = predicted->back().value;
  return out;
}

// Three digits that count: "0.0812 s", "12.3 s", "4 min 5 s".
std::string seconds_text(double seconds) {
  if (seconds >= 120) return format("%.0f min %02.0f s", std::floor(seconds / 60), std::floor(std::fmod(seconds, 60)));
  return format("%.3g s", seconds);
}

void print_table(const std::vector<EpochTimes>& all) {
  size_t run = 3, device = 6;
  for (const EpochTimes& t : all) run = std::max(run, t.run.size()), device = std::max(device, t.device.size());
  const int r = static_cast<int>(run), d = static_cast<int>(device);
  print("%-*s  %-*s  %6s  %11s  %14s  %11s\n", r, "run", d, "device", "epochs", "first epoch", "later (median)",
        "predicted");
  for (const EpochTimes& t : all)
    print("%-*s  %-*s  %6ld  %11s  %14s  %11s\n", r, t.run.c_str(), d, t.device.c_str(), static_cast<long>(t.epochs),
          seconds_text(t.first).c_str(), t.later ? seconds_text(t.median).c_str() : "",
          t.predicted ? seconds_text(*t.predicted).c_str() : "");
}

void print_json(const std::vector<EpochTimes>& all, const std::string& output) {
  for (const EpochTimes& t : all) {
    Json json("run");
    json.add("run", t.run)
        .add("device", t.device)
        .add("epochs", t.epochs)
        .add("first_seconds", t.first)
        .add("median_seconds", t.median);
    t.predicted ? json.add("predicted_seconds", *t.predicted) : json.raw("predicted_seconds", "null");
    print_line(json.str());
  }
  print_line(Json("result").add("runs", static_cast<int64_t>(all.size())).add("output", output).str());
}

pictures::BarsPicture picture_of(const std::vector<EpochTimes>& all, const std::string& title) {
  const bool behind = std::any_of(all.begin(), all.end(), [](const EpochTimes& t) { return t.later; });
  pictures::BarsPicture out{
      title.empty() ? "Time per epoch" : title,
      behind ? "seconds of training; the median of the epochs behind the first" : "seconds of training"};
  for (const EpochTimes& t : all) {
    const bool named = t.device.empty() || t.device == t.run;
    out.bars.push_back({t.run, named ? "" : t.device, t.median, seconds_text(t.median)});
    if (t.predicted)
      out.bars.push_back({t.run, "predicted for the machine emulated", *t.predicted, seconds_text(*t.predicted), true});
  }
  return out;
}

}  // namespace

int plot_epochs(const Flags& flags, const std::vector<std::string>& paths) {
  std::vector<EpochTimes> all;
  for (const PlottedRun& run : read_runs(paths)) all.push_back(times_of(run));
  const std::string& output = flags.text("output");
  if (!output.empty()) write_picture(flags, picture_of(all, flags.text("title")));
  if (flags.boolean("json"))
    print_json(all, output);
  else
    print_table(all);
  return 0;
}

}  // namespace tenon::runner

// What runs left for TensorBoard, as curves: by metric, of training and validation.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tenon/summary.h"

namespace tenon::runner {

struct MetricCurves {
  std::vector<ScalarPoint> training, validation;
};
struct MetricName {
  std::string name;  // "loss"
  bool epochs;       // over epochs, counted from 1; else over steps
  auto operator<=>(const MetricName&) const = default;
};
struct PlottedRun {
  std::string name;    // a path, as short as it is told from the others
  std::string device;  // empty: it does not say
  std::map<MetricName, MetricCurves> metrics;
};

// Each is a directory of a TensorBoard callback (train, validation in it), a model directory (eval in it), any directory with
// events, one with such directories, whose names it then has, or a CSV of CSVLogger. Throws Error where there is nothing.
std::vector<PlottedRun> read_runs(const std::vector<std::string>& paths);

}  // namespace tenon::runner

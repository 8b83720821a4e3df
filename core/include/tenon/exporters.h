// Exports while an Estimator trains, by TensorFlow's names: EvalSpec::exporters. What they write is
// MODEL_DIR/export/NAME/VERSION (tenon/export.h).
//
//   train_and_evaluate(estimator, {.input = train, .max_steps = 2000},
//                      {.input = test, .exporters = {FinalExporter({.how = {.labels = labels}})}});
//
// That a model can be exported is known before the first step: what cannot is an error then.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "tenon/export.h"

namespace tenon {

struct ExporterOptions {
  std::string name = {};    // of the directory; empty: the exporter's own
  ExportOptions how = {};   // its `version`, `checkpoint` and `keep` are the exporter's affair
  int exports_to_keep = 5;  // newest versions; 0: all. Of FinalExporter: it keeps all
  // Tells BestExporter whether the results of an evaluation, "loss" and the metrics, are better than the best so far.
  // Empty: a smaller loss is.
  std::function<bool(const std::map<std::string, double>& best, const std::map<std::string, double>& current)> compare =
      {};
};

struct Exporter {
  enum class When : uint8_t { kEachEvaluation, kEnd, kBetter };
  When when;
  ExporterOptions options;
};

Exporter LatestExporter(const ExporterOptions& options = {});  // after each evaluation; "latest"
Exporter FinalExporter(const ExporterOptions& options = {});   // after the last one; "exporter"
// After an evaluation that is better than all before, those of earlier runs in the model directory too, whose best is
// in MODEL_DIR/export/NAME/best.json; "best_exporter".
Exporter BestExporter(const ExporterOptions& options = {});

}  // namespace tenon

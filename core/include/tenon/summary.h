// What TensorBoard shows: summaries by the names of tf.summary, in files events.out.tfevents.* of a directory.
//
//   SummaryWriter writer("logs/a");
//   writer.scalar("accuracy", 0.93, step);
//   writer.histogram("dense/kernel", model.read("dense/kernel"), step);
//   writer.image("wrong", images, step);                                    // f32 [n, h, w, 3], 0 to 1
//   writer.hparams({{"learning_rate", 0.01}, {"optimizer", std::string("adam")}});
//
// The TensorBoard callback, Estimators and their hooks write by it; programs may beside them, to the same directory
// too. A file grows by whole records, each with its checksums and in one piece, and is never changed otherwise: what
// reads it while training goes on, or after it was killed or the disk was full, takes every one that is there. Writers
// of a process for one directory share a file. In a job of several processes the first one writes, and the others do
// nothing. Functions are thread safe and throw Error; what could not be written is left out, and later summaries can be
// written.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/array.h"
#include "tenon/graph_node.h"
#include "tenon/params.h"
#include "tenon/status.h"

namespace tenon {

class EventFile;

struct SummaryWriterOptions {
  // As TensorFlow 1 and its Estimators write: scalars are numbers, where TensorFlow 2 has tensors. TensorBoard shows
  // both; programs that read files themselves may know but one.
  bool tf1 = false;
  std::string filename_suffix = ".v2";  // without it where tf1
};

struct ScalarSummaryOptions {
  std::string description = {};  // Markdown
};
struct TextSummaryOptions {
  std::string description = {};
};
struct HistogramSummaryOptions {
  int64_t buckets = 30;
  std::string description = {};
};
struct ImageSummaryOptions {
  int64_t max_outputs = 3;  // the first so many
  std::string description = {};
};
struct PrCurveSummaryOptions {
  int64_t num_thresholds = 201;       // evenly from 0 to 1
  std::optional<Array> weights = {};  // of each example
  std::string display_name = {};      // empty: the name
  std::string description = {};
};

// What an experiment of several runs varies, and what it measures.
struct HParamInfo {
  std::string name;
  std::vector<Params::Value> values = {};                  // those that are tried; none: any ..
  std::optional<std::pair<double, double>> interval = {};  // .. or numbers in it
  std::string display_name = {}, description = {};
};
struct MetricInfo {
  std::string tag;         // of the scalar: "epoch_accuracy"
  std::string group = {};  // its directory below that of a run: "validation"
  std::string display_name = {}, description = {};
};

class SummaryWriter {
 public:
  // Makes the directory where it is missing.
  explicit SummaryWriter(const std::string& logdir, SummaryWriterOptions options = {});

  void scalar(const std::string& name, double data, int64_t step, const ScalarSummaryOptions& options = {});
  // Several of one step as one record.
  void scalars(const std::map<std::string, double>& by_name, int64_t step);
  // Counts all elements, in buckets of one width from the least to the largest; elements that are not finite are left
  // out.
  void histogram(const std::string& name, const Array& data, int64_t step, const HistogramSummaryOptions& options = {});
  // [n, height, width, channels]: u8, or floats from 0 to 1 (what is beyond is cut off). 1 channel or 3; of 2 and 4 the
  // last one, alpha, is left out.
  void image(const std::string& name, const Array& data, int64_t step, const ImageSummaryOptions& options = {});
  // Markdown; several are shown one below the other.
  void text(const std::string& name, const std::vector<std::string>& data, int64_t step,
            const TextSummaryOptions& options = {});
  void text(const std::string& name, const std::string& data, int64_t step, const TextSummaryOptions& options = {});
  // What a classifier of two classes gains at each threshold: `labels` are bools, `predictions` as many numbers from 0
  // to 1.
  void pr_curve(const std::string& name, const Array& labels, const Array& predictions, int64_t step,
                const PrCurveSummaryOptions& options = {});
  // What TensorBoard's Graphs shows: Function::graph() and TrainingRun::graph() give the nodes. A file has one.
  void graph(const std::vector<GraphNode>& nodes);

  // The hyperparameters of the training in this directory and those below it, when it begins, and how it ended.
  // Trainings of one trial_id, by default those with the same values, are repetitions.
  void hparams(const Params& values, const std::string& trial_id = {});
  void hparams_end(bool success);
  // Once for all runs, in the directory that theirs are in.
  void hparams_config(const std::vector<HParamInfo>& hparams, const std::vector<MetricInfo>& metrics);

  // Training began anew behind this step: what earlier files of the directory have of later steps is not shown any
  // more.
  void restarted(int64_t step);

  const std::string& path() const;  // of the file; empty where this process does not write
  // One line where another process writes to the directory now, so that TensorBoard mixes both; else empty.
  const std::string& notice() const;

 private:
  void put(const std::string& value, int64_t step);
  SummaryWriterOptions options_;
  std::shared_ptr<EventFile> file_;
};

struct ScalarPoint {
  int64_t step = 0;
  double wall_time = 0;  // when it was written, in seconds since 1970
  double value = 0;
};

// What the files of one directory hold for TensorBoard, whoever wrote them.
struct RecordedSummaries {
  std::map<std::string, std::vector<ScalarPoint>> scalars;  // by name, by step; of one step the last
  std::map<std::string, std::string> texts;                 // the last of each name
};

// Nothing where there is no such directory. What is damaged or not complete is left out.
Result<RecordedSummaries> read_summaries(const std::string& logdir);

}  // namespace tenon

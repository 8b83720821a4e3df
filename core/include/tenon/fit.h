// What Model's compile, fit, evaluate and predict take and give: Keras's arguments, with its names and defaults.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tenon/callbacks.h"
#include "tenon/input.h"
#include "tenon/losses.h"
#include "tenon/metrics.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"

namespace tenon {

// Something for each output of a model: one for the only output, one after the other, or by the output's name.
template <class T>
class ForOutputs {
 public:
  ForOutputs() = default;
  template <class V>
  requires(std::convertible_to<V, T> && !std::same_as<std::remove_cvref_t<V>, ForOutputs>) ForOutputs(V&& only)
      : all_{{"", T(std::forward<V>(only))}} {}  // NOLINT: implicit by design
  ForOutputs(std::initializer_list<T> in_order) {
    for (const T& value : in_order) all_.emplace_back("", value);
  }
  ForOutputs(std::initializer_list<std::pair<std::string, T>> by_name) : all_(by_name) {}
  const std::vector<std::pair<std::string, T>>& all() const {
    return all_;
  }  // names are empty where they stand in order

 private:
  std::vector<std::pair<std::string, T>> all_;
};

// Metrics of the only output, `{"accuracy", AUC()}`, or those of each output by its name. In a list without names each
// of several outputs has one, in their order, as in Keras.
class MetricList {
 public:
  MetricList() = default;
  MetricList(std::initializer_list<Metric> metrics) : all_{{"", metrics}} {}
  MetricList(std::vector<Metric> metrics) : all_{{"", std::move(metrics)}} {}  // NOLINT: implicit by design
  MetricList(std::initializer_list<std::pair<std::string, std::vector<Metric>>> by_output) : all_(by_output) {}
  const std::vector<std::pair<std::string, std::vector<Metric>>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, std::vector<Metric>>> all_;
};

struct CompileOptions {
  std::optional<Optimizer> optimizer = {};  // RMSprop(); or by name, "adam"
  ForOutputs<Loss> loss = {};               // none: only what layers add to the loss
  ForOutputs<double> loss_weights = {};     // 1 each
  MetricList metrics = {};                  // sample weights do not count
  MetricList weighted_metrics = {};
  int steps_per_execution = 1;  // batches that one call of the device takes, up to 2^20
  // A last batch with fewer rows runs in the program of the whole ones, whose sums then cost a mask each, instead of
  // being compiled for itself (BoundedDim of tenon/strategy.h). Of fit, evaluate and predict.
  bool bounded_batch = false;
  std::optional<Strategy> strategy = {};  // that of Strategy::scope(), the model's (model.h), or else Strategy("auto")
};

// Inputs, or targets, of all examples in memory: an array with an example a row, several in the order of the model's
// inputs (outputs), or by their names.
class Examples {
 public:
  Examples() = default;
  Examples(Array only) { all_.emplace_back("", std::move(only)); }  // NOLINT: implicit by design
  Examples(std::vector<Array> in_order) {                           // NOLINT
    for (Array& array : in_order) all_.emplace_back("", std::move(array));
  }
  Examples(const Arrays& by_name) : all_(by_name.begin(), by_name.end()) {}  // NOLINT
  const std::vector<std::pair<std::string, Array>>& all() const { return all_; }
  bool empty() const { return all_.empty(); }

 private:
  std::vector<std::pair<std::string, Array>> all_;
};

// A data set, or examples in memory. A data set's features are
// - the model's inputs, by the names of its Input()s; unnamed ones are called x_0, x_1, ..; a model with one input takes
//   the only feature that is left, whatever its name; a model with a call() of its own those that are left, by their
//   names' order;
// - the targets, by the names of the layers that give the outputs, or y_0, y_1, ..; of a model with one output "y",
//   "label" or "labels"; none where compile() was given no loss and no metric, and only layers add to the loss; by
//   name, an output that has neither needs none;
// - "sample_weight", a number an example, for the losses and weighted metrics of all outputs; or "sample_weight_NAME"
//   of the output that this layer gives, or sample_weight_0, _1, .. of the outputs in their order: those that have none
//   count as 1.
class FitData {
 public:
  FitData() = default;
  FitData(Dataset data) : data_(std::move(data)) {}  // NOLINT: implicit by design
  // `sample_weight`: an array for all outputs, several in their order (an empty one: 1 each), or by their names.
  FitData(Examples x, Examples y, Examples sample_weight = {})
      : x_(std::move(x)), y_(std::move(y)), sample_weight_(std::move(sample_weight)) {}
  const Dataset* dataset() const { return data_ ? &*data_ : nullptr; }  // or else the examples
  const Examples& x() const { return x_; }
  const Examples& y() const { return y_; }
  const Examples& sample_weight() const { return sample_weight_; }  // none: all 1
  bool empty() const { return !data_ && x_.empty(); }

 private:
  std::optional<Dataset> data_;
  Examples x_, y_, sample_weight_;
};

struct FitOptions {
  // For examples in memory; a Dataset has its own. It has to divide by the number of units. A last batch, or examples
  // that are one batch, need not: each unit then has all of it, which trains what one unit would, and takes its time
  // and memory.
  int64_t batch_size = 32;
  int epochs = 1;  // the last one's number: training goes from initial_epoch to it, and does nothing with 0
  Verbose verbose = Verbose::kAuto;  // of the ProgbarLogger that is added where `callbacks` has none
  Callbacks callbacks = {};
  double validation_split = 0;  // this part of the examples in memory, the last ones, is for validation
  FitData validation_data = {};
  bool shuffle = true;  // examples in memory, in each epoch anew
  // By the only output's targets: classes, as floats too, or one-hot; those that are not named have 1. Not with
  // sample_weight.
  std::map<int64_t, double> class_weight = {};
  int initial_epoch = 0;              // training goes on from it with the order of the data, and the bits, of one call
  int64_t steps_per_epoch = 0;        // 0: to the end of the data; else epochs go on where the last one stopped
  int64_t validation_steps = 0;       // 0: all
  int64_t validation_batch_size = 0;  // 0: batch_size; has to divide as that does
  std::vector<int> validation_freq = {1};  // every so many epochs; or, of several numbers, after these, from 1
};

struct EvaluateOptions {
  int64_t batch_size = 32;  // as FitOptions::batch_size
  Verbose verbose = Verbose::kAuto;
  int64_t steps = 0;  // batches; 0: all
  Callbacks callbacks = {};
};

struct PredictOptions {
  int64_t batch_size = 32;  // of examples in memory; several units take the next one that divides by their number
  Verbose verbose = Verbose::kSilent;  // Keras draws a bar: a program prints what it predicts itself
  int64_t steps = 0;
  Callbacks callbacks = {};
};

// What fit() saw: the logs of each epoch.
struct History {
  std::vector<int> epoch;  // from 0
  std::map<std::string, std::vector<double>> history;
  std::vector<Throughput> throughput;  // of each epoch's training
  // Throws Error naming what there is when there is none of that name. Of what fit() gives and nobody keeps, a copy.
  const std::vector<double>& operator[](std::string_view name) const&;
  std::vector<double> operator[](std::string_view name) &&;
};

}  // namespace tenon

// A training without a device: what callbacks do to it is kept and can be asked.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tenon/callback.h"
#include "unit/data/temporary_directory.h"

namespace tenon::callback_testing {

struct TestRun : TrainingRun {
  Arrays values{{"w", Array(0.0f)}, {"w/momentum", Array(0.0f)}, {"learning_rate", Array(0.1f)}};
  std::vector<std::string> lines, saved, saved_weights, loaded;
  std::vector<float> last_losses;
  std::map<int64_t, Logs> evaluated;
  int64_t at = 0;
  int initial_epoch = 0;
  bool stopped = false;
  std::string device_name = "test";

  int64_t step() const override { return at; }
  std::span<const float> losses() const override { return last_losses; }
  const std::string& device() const override { return device_name; }
  void stop() override { stopped = true; }
  std::map<int64_t, Logs> evaluations() const override { return evaluated; }
  std::vector<std::string> variables() const override {
    std::vector<std::string> out;
    for (const auto& entry : values) out.push_back(entry.first);
    return out;
  }
  std::vector<std::string> weights() const override { return {"w"}; }
  Array read(std::string_view variable) const override { return values.at(std::string(variable)); }
  void write(std::string_view variable, const Array& value) override { values[std::string(variable)] = value; }
  double learning_rate() const override { return values.at("learning_rate").item(); }
  void set_learning_rate(double value) override { values["learning_rate"] = Array(static_cast<float>(value)); }
  void save(const std::string& path) override {
    saved.push_back(path);
    std::ofstream(path + ".index") << "step " << at;
  }
  void save_weights(const std::string& path) override { saved_weights.push_back(path); }
  void load(const std::string& path) override { loaded.push_back(path); }
  void say(const std::string& line) override { lines.push_back(line); }
  void set_initial_epoch(int epoch) override { initial_epoch = epoch; }

  double weight() const { return values.at("w").item(); }
};

// Epochs from 0 until one stops training, as fit() calls them; the weight is the epoch's number.
inline void run_epochs(TestRun& run, Callback& callback, const std::string& monitor,
                       const std::vector<double>& values) {
  callback.on_train_begin(run);
  for (int epoch = 0; epoch < std::ssize(values) && !run.stopped; ++epoch) {
    callback.on_epoch_begin(run, epoch);
    run.write("w", Array(static_cast<float>(epoch)));
    Logs logs{{monitor, values[static_cast<size_t>(epoch)]}};
    callback.on_epoch_end(run, epoch, logs);
  }
  callback.on_train_end(run, {});
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace tenon::callback_testing

// Writes one summary of each kind, for TensorBoard's own reader to find (share/interop/check_tensorboard.py).
//   summary_tool DIR
#include <cmath>
#include <cstdio>
#include <vector>

#include "tenon/layer_classes.h"
#include "tenon/model.h"
#include "tenon/summary.h"

namespace {

using namespace tenon;

// The script makes the same numbers.
std::vector<float> waves(int n) {
  std::vector<float> out;
  for (int i = 0; i < n; ++i) out.push_back(static_cast<float>(i % 7) * 0.5f - static_cast<float>(i % 3));
  return out;
}

void write_by_hand(const std::string& directory) {
  SummaryWriter writer(directory);
  for (int step = 0; step < 5; ++step) {
    writer.scalar("loss", 1.0 / (step + 1), step, {"what *it* is"});
    writer.histogram("weights", waves(100 + step), step);
  }
  std::vector<float> shades;
  for (int i = 0; i < 2 * 4 * 5 * 3; ++i) shades.push_back(static_cast<float>(i) / 119);
  writer.image("images", Array(shades, {2, 4, 5, 3}), 1);
  writer.text("notes", std::vector<std::string>{"# One", "two"}, 2);
  std::vector<uint8_t> labels;
  std::vector<float> predictions;
  for (int i = 0; i < 60; ++i) {
    labels.push_back(i % 3 == 0);
    predictions.push_back(static_cast<float>(i * 37 % 60) / 60);
  }
  writer.pr_curve("curve", labels, predictions, 3);
}

// What fit() writes: scalars, histograms, images, graph, text, hyperparameters.
void write_by_fit(const std::string& directory) {
  Sequential model({Dense({.units = 4, .activation = relu}), Dense(1)});
  model.compile({.optimizer = Adam(0.05), .loss = "mse", .strategy = Strategy("cpu")});
  const Array x(waves(64), {32, 2}), y(waves(32), {32, 1});
  model.fit(x, y,
            {.batch_size = 8,
             .epochs = 3,
             .verbose = Verbose::kSilent,
             .callbacks = {TensorBoard({.log_dir = directory,
                                        .histogram_freq = 1,
                                        .write_images = true,
                                        .write_steps_per_second = true,
                                        .update_freq = 2}),
                           HParamsCallback(
                               directory, {{"units", int64_t{4}}, {"optimizer", std::string("adam")}, {"bias", true}})},
             .validation_split = 0.25});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: summary_tool DIR\n"), 2;
  const std::string directory = argv[1];
  write_by_hand(directory + "/hand");
  write_by_fit(directory + "/fit");
  SummaryWriter(directory).hparams_config({{.name = "units", .interval = {{1, 64}}},
                                           {.name = "optimizer", .values = {std::string("adam"), std::string("sgd")}},
                                           {.name = "bias", .values = {true, false}}},
                                          {{.tag = "epoch_loss", .group = "validation", .display_name = "loss"}});
  return 0;
}

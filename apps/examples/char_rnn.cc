// A recurrent net that learns a text letter by letter, and then writes some: the GNU General Public License, which every
// Debian has.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "examples/example_program.h"
#include "tenon/layer_classes.h"
#include "tenon/recurrent.h"

using namespace tenon;

constexpr const char* kText = "/usr/share/common-licenses/GPL-3";
constexpr int64_t kLength = 32, kLetters = 128;

std::string read_text() {
  std::ifstream file(kText, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.size() <= kLength) throw Error(Status(Code::kUnavailable, std::string("cannot read '") + kText + "'"));
  for (char& c : text) c = static_cast<char>(c & 0x7f);
  return text;
}

// Writes on behind a beginning, always the likeliest letter.
std::string written(Sequential& model, std::string text, int letters) {
  for (int i = 0; i < letters; ++i) {
    std::vector<int32_t> window(text.end() - kLength, text.end());
    const std::vector<float> scores = model.predict_on_batch(Array(window, {1, kLength}))[0].to<float>();
    const auto last = scores.end() - kLetters;
    text += static_cast<char>(std::max_element(last, scores.end()) - last);
  }
  return text;
}

examples::Figures train(const examples::Flags& flags) {
  const std::string text = read_text();
  const int64_t windows = static_cast<int64_t>(text.size() - 1) / kLength;
  const std::vector<int32_t> x(text.begin(), text.begin() + windows * kLength),
      next(text.begin() + 1, text.begin() + 1 + windows * kLength);
  Sequential model({Embedding({.input_dim = kLetters, .output_dim = 32}), LSTM({.units = 96, .return_sequences = true}),
                    Dense(kLetters)});
  model.compile({.optimizer = Adam(5e-3),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .strategy = flags.strategy()});
  const History h = model.fit(Array(x, {windows, kLength}), Array(next, {windows, kLength}),
                              {.batch_size = 64, .epochs = 40, .verbose = flags.verbose()});
  if (!flags.json && model.strategy().num_replicas_in_sync() == 1)
    std::printf("%s\n", written(model, text.substr(text.find("This program"), kLength), 200).c_str());
  return {{"loss", h["loss"].back()}, {"accuracy", h["accuracy"].back()}};
}

int main(int argc, char** argv) { return examples::run(argc, argv, train); }

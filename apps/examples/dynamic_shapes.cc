// Batches of ragged size and sentences of different lengths on one compiled program: which of them have the word 1. The same
// steps are done by a program for each size, for comparison.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "examples/example_program.h"
#include "tenon/layer_classes.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"

using namespace tenon;

constexpr int32_t kWords = 50;
constexpr BoundedDim kBatch{"batch", 64}, kTime{"time", 20};

// Sentences of up to `longest` words, of which there are 1 to 49; 0 stands behind their ends.
Arrays sentences(int64_t rows, int64_t longest, std::mt19937& draw) {
  std::vector<int32_t> words(static_cast<size_t>(rows * longest)), has(static_cast<size_t>(rows));
  for (size_t r = 0; r < has.size(); ++r) {
    const size_t length = r == 0 ? static_cast<size_t>(longest) : 1 + draw() % static_cast<size_t>(longest);
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(r * static_cast<size_t>(longest));
    std::generate_n(first, length, [&] { return 2 + static_cast<int32_t>(draw() % (kWords - 2)); });
    has[r] = static_cast<int32_t>(draw() % 2);
    if (has[r]) first[static_cast<std::ptrdiff_t>(draw() % length)] = 1;
  }
  return {{"words", Array(words, {rows, longest})}, {"has", Array(has, {rows})}};
}

Outputs step(const Features& in) {
  const Tensor words = in["words"], there = cast(compare(words, scalar_like(words, 0), CompareKind::kNe), DType::kF32);
  const Tensor seen =
      dense(embedding(words, {.input_dim = kWords, .output_dim = 16}), {.units = 16, .activation = relu});
  const Tensor sentence = reduce_max(seen * expand_dims(there, -1), {1});
  const Tensor logits = dense(sentence, {.units = 2});
  const Tensor loss = sparse_categorical_crossentropy(in["has"], logits, {.from_logits = true});
  minimize(SGD({.learning_rate = 0.1, .momentum = 0.9}), loss);
  return {{"loss", loss}};
}

examples::Figures train(const examples::Flags& flags) {
  const Strategy strategy(flags.device, {.seed = flags.seed}), other(flags.device, {.seed = flags.seed});
  Function bounded = strategy.function(
      step, {.mode = Mode::kTrain, .dynamic_shapes = {{"words", {{0, kBatch}, {1, kTime}}}, {"has", {{0, kBatch}}}}});
  Function fixed = other.function(step, {.mode = Mode::kTrain});
  constexpr int64_t kSizes[][2] = {{64, 20}, {64, 9}, {24, 14}};  // rows, words of the longest sentence
  std::mt19937 draw(static_cast<unsigned>(flags.seed));
  double loss = 0, apart = 0;
  for (int i = 0; i < 60; ++i) {
    const Arrays batch = sentences(kSizes[i % 3][0], kSizes[i % 3][1], draw);
    loss = bounded(batch)["loss"].item();
    apart = std::max(apart, std::fabs(loss - fixed(batch)["loss"].item()));
    if (!flags.json && i % 10 == 9) std::printf("step %2d  loss %.4f\n", i + 1, loss);
  }
  examples::Figures out{
      {"loss", loss}, {"apart", apart}, {"traces", bounded.traces()}, {"static_traces", fixed.traces()}};
  for (const auto& [rows, longest] : kSizes) {
    const Arrays batch = sentences(rows, longest, draw);
    const auto of_one = bounded.forecast(batch), of_its_own = fixed.forecast(batch);
    if (!of_one || !of_its_own) continue;  // the device stands for no other machine
    const std::string size = std::to_string(rows) + "x" + std::to_string(longest);
    out.emplace_back("bounded_device_ms_" + size, of_one->device_ms);
    out.emplace_back("static_device_ms_" + size, of_its_own->device_ms);
  }
  return out;
}

int main(int argc, char** argv) { return examples::run(argc, argv, train); }

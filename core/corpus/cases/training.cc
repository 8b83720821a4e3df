// Three small models: what a backend must train to reach level 2.
#include <cmath>

#include "corpus/corpus.h"
#include "corpus/model_case.h"
#include "tenon/losses.h"

namespace tenon::corpus {
namespace {

Model mlp() {
  return {"mlp",
          "dense 13-16-5, batch 9, SGD with momentum",
          false,
          10,
          SGD({.learning_rate = 0.1, .momentum = 0.9}),
          {each_step(uniform(DType::kF32, {9, 13}, 1000, -1, 1)), each_step(uniform(DType::kI32, {9}, 2000, 0, 5))},
          [](const Tensors& in) {
            return classified(dense(dense(in[0], {.units = 16, .activation = relu}), {.units = 5}), in[1]);
          }};
}

Model cnn() {
  return {"cnn",
          "8x8, convolutions, batch norm, max-pool, dropout, batch 5, Adam",
          false,
          10,
          Adam(0.01),
          images(5, 8, 2, 7),
          [](const Tensors& in) {
            Tensor x = max_pool2d(conv2d(in[0], {.filters = 4, .kernel = 3, .padding = same, .activation = relu}), 2);
            x = batch_normalization(conv2d(x, {.filters = 6, .kernel = 3, .padding = same, .use_bias = false}),
                                    {.activation = relu});
            x = dropout(dense(flatten(x), {.units = 11, .activation = relu}), 0.25);
            return classified(dense(x, {.units = 7}), in[1]);
          }};
}

// ---- a decoder of two blocks ----

constexpr int64_t kBatch = 2, kLength = 6, kWidth = 8, kHeads = 2, kWords = 50;

Tensor heads(Tensor x, const std::string& name) {
  return reshape(dense(x, {.units = kWidth, .name = name}), {kBatch, kLength, kHeads, kWidth / kHeads});
}

Tensor attend(Tensor x) {
  const Tensor q = heads(x, "query"), k = heads(x, "key"), v = heads(x, "value");
  const bool drops = mode_of(x) == Mode::kTrain;
  Graph& graph = *x.graph();
  const AttentionOptions o{.scale = 1 / std::sqrt(static_cast<double>(kWidth / kHeads)),
                           .causal = true,
                           .rate = drops ? 0.1 : 0,
                           .stream = 12345};
  const Tensor y =
      attention(q, k, v, {}, drops ? seed_input(graph) : Tensor(), drops ? global_step(graph) : Tensor(), o).y;
  return dense(reshape(y, {kBatch, kLength, kWidth}), {.units = kWidth, .name = "output"});
}

Tensor block(Tensor x) {
  x = x + dropout(attend(layer_normalization(x)), 0.1);
  const Tensor wide = dense(layer_normalization(x), {.units = 2 * kWidth, .activation = gelu});
  return x + dense(wide, {.units = kWidth});
}

Model transformer() {
  return {"transformer",
          "2 blocks of width 8, 50 words, batch 2, AdamW with clipping by the global norm",
          false,
          10,
          AdamW({.learning_rate = 0.01, .global_clipnorm = 1}),
          {each_step(uniform(DType::kI32, {kBatch, kLength}, 1000, 0, kWords)),
           each_step(uniform(DType::kI32, {kBatch, kLength}, 2000, 0, kWords))},
          [](const Tensors& in) {
            const Tensor words = embedding(in[0], {.input_dim = kWords, .output_dim = kWidth});
            const Tensor places = variable(words, "places", {kLength, kWidth}, random_normal(0, 0.05));
            Tensor x = words + places;
            for (const char* name : {"block_0", "block_1"}) {
              const Scope scope(x, name);
              x = block(x);
            }
            return classified(dense(layer_normalization(x), {.units = kWords}), in[1]);
          }};
}

}  // namespace

void add_training_cases(Cases& cases) {
  for (const Model& m : {mlp(), cnn(), transformer()}) add_model(cases, m);
}

}  // namespace tenon::corpus

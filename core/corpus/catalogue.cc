// The models of the catalogue (apps/models) with the same layers and smaller sizes, and one of each recurrent cell:
// what a backend must train to reach level 3.
#include "base/strings.h"
#include "corpus/corpus.h"
#include "corpus/model_case.h"
#include "tenon/losses.h"

namespace tenon::corpus {
namespace {

constexpr uint32_t kSteps = 3;

// `fashion`: 3x3 convolutions with max-pools, dropout, dense.
Model fashion(Padding padding) {
  return {"fashion",
          cat("12x12, ", padding == same ? "same" : "valid", " padding, batch 6"),
          true,
          kSteps,
          Adam({.learning_rate = CosineDecay(0.02, 10)}),
          images(6, 12, 1, 10),
          [=](const Tensors& in) {
            Tensor x =
                max_pool2d(conv2d(in[0], {.filters = 4, .kernel = 3, .padding = padding, .activation = relu}), 2);
            x = max_pool2d(conv2d(x, {.filters = 6, .kernel = 3, .padding = padding, .activation = relu}), 2);
            return classified(dense(dropout(flatten(x), 0.4), {.units = 10}), in[1]);
          }};
}

Tensor dense_block(Tensor x, int64_t units, Activation activation, bool batch_norm) {
  if (!batch_norm) return dense(x, {.units = units, .activation = activation});
  return batch_normalization(dense(x, {.units = units}), {.activation = activation});
}

// `flowers`: 5x5 convolutions with max-pools, dense, dropout; gradients summed over the replicas.
Model flowers(bool batch_norm) {
  return {"flowers",
          cat("19x19, batch 6", batch_norm ? ", batch norm" : ""),
          true,
          kSteps,
          CrossShard(Adam(0.01)),
          images(6, 19, 3, 5),
          [=](const Tensors& in) {
            Tensor x = max_pool2d(conv2d(in[0], {.filters = 3, .kernel = 5, .padding = same, .activation = relu}), 2);
            x = max_pool2d(conv2d(x, {.filters = 4, .kernel = 5, .padding = same, .activation = relu}), 2);
            x = dropout(dense_block(flatten(x), 15, relu, batch_norm), 0.25);
            return classified(dense_block(x, 5, linear, batch_norm), in[1]);
          }};
}

// `mlp` with dropout between its layers.
Model dropout_mlp() {
  return {"mlp",
          "6x6, hidden 12 and 8, batch 7, dropout",
          true,
          kSteps,
          Adam(0.001),
          images(7, 6, 1, 10),
          [](const Tensors& in) {
            Tensor x = flatten(in[0]);
            for (int64_t units : {12, 8}) x = dropout(dense(x, {.units = units, .activation = relu}), 0.2);
            return classified(dense(x, {.units = 10}), in[1]);
          }};
}

// ---- `resnet` ----

struct Residual {
  bool bias;
  double epsilon, momentum, l2;

  Tensor conv(Tensor x, int64_t filters, int64_t kernel, int64_t stride, Padding padding = same) const {
    return conv2d(x, {.filters = filters,
                      .kernel = kernel,
                      .strides = stride,
                      .padding = padding,
                      .use_bias = bias,
                      .kernel_initializer = &he_normal,
                      .kernel_regularizer = {.l2 = l2}});
  }
  Tensor norm(Tensor x, Activation activation, Tensor residual = {}) const {
    return batch_normalization(
        x, {.momentum = momentum, .epsilon = epsilon, .activation = activation, .residual = residual});
  }
  Tensor shortcut(Tensor x, int64_t filters, int64_t stride) const {
    return stride == 1 && x.dim(-1) == filters ? x : norm(conv(x, filters, 1, stride), linear);
  }
  Tensor basic(Tensor x, int64_t filters, int64_t stride) const {
    const Tensor residual = shortcut(x, filters, stride);
    return norm(conv(norm(conv(x, filters, 3, stride), relu), filters, 3, 1), relu, residual);
  }
  Tensor bottleneck(Tensor x, int64_t filters, int64_t stride) const {
    const Tensor residual = shortcut(x, 4 * filters, stride);
    Tensor y = norm(conv(x, filters, 1, stride), relu);
    y = norm(conv(y, filters, 3, 1), relu);
    return norm(conv(y, 4 * filters, 1, 1), relu, residual);
  }
};

// Depth 20: a 3x3 stem and three stages of three blocks.
Model resnet20() {
  return {"resnet",
          "depth 20 at 8x8, batch 4",
          true,
          kSteps,
          SGD({.learning_rate = CosineDecay(0.1, 10), .momentum = 0.9}),
          images(4, 8, 3, 10),
          [](const Tensors& in) {
            const Residual build{false, 1e-3, 0.99, 1e-4};
            Tensor x = build.norm(build.conv(in[0], 4, 3, 1), relu);
            for (int64_t stage = 0; stage < 3; ++stage)
              for (int64_t i = 0; i < 3; ++i) x = build.basic(x, 4 << stage, stage > 0 && i == 0 ? 2 : 1);
            return classified(dense(global_average_pool2d(x), {.units = 10}), in[1]);
          }};
}

// Depths 18 and 50: a 7x7 stem with a padded pool; basic blocks, or bottlenecks with bias. One block a stage.
Model resnet_large(bool bottlenecks) {
  return {"resnet",
          cat("depth ", bottlenecks ? 50 : 18, " at 25x25, batch 2, 2 stages"),
          true,
          kSteps,
          SGD({.learning_rate = 0.05, .momentum = 0.9, .nesterov = true}),
          images(2, 25, 3, 12),
          [=](const Tensors& in) {
            const Residual build{bottlenecks, 1e-5, 0.9, 0};
            Tensor x = build.norm(build.conv(zero_padding2d(in[0], 3), 4, 7, 2, valid), relu);
            x = max_pool2d(zero_padding2d(x, 1), {.pool_size = 3, .strides = Extent(2)});
            for (int64_t stage = 0; stage < 2; ++stage)
              x = bottlenecks ? build.bottleneck(x, 3 << stage, 1 + stage) : build.basic(x, 4 << stage, 1 + stage);
            return classified(dense(global_average_pool2d(x), {.units = 12}), in[1]);
          }};
}

// ---- recurrent cells ----

Model recurrent(bool with_lstm) {
  constexpr int64_t kBatch = 4, kLength = 5, kWidth = 3, kUnits = 6;
  Optimizer optimizer = with_lstm ? RMSprop(0.01) : Optimizer(Nadam({.learning_rate = 0.01}));
  return {with_lstm ? "lstm" : "gru",
          "embedding, 6 units over 5 steps, batch 4",
          true,
          kSteps,
          std::move(optimizer),
          {each_step(uniform(DType::kI64, {kBatch, kLength}, 1000, 0, 9)),
           each_step(uniform(DType::kF32, {kBatch}, 2000, -1, 1))},
          [=](const Tensors& in) {
            const Tensor x = embedding(in[0], {.input_dim = 9, .output_dim = kWidth});
            const Tensor zero = full(*x.graph(), DType::kF32, {kBatch, kUnits}, 0);
            const int64_t columns = (with_lstm ? 4 : 3) * kUnits;
            const Shape kernel{kWidth, columns}, inner{kUnits, columns};
            const Tensor w = variable(x, "cell/kernel", kernel, glorot_uniform(kernel)),
                         r = variable(x, "cell/recurrent_kernel", inner, orthogonal());
            const Tensor b = variable(x, "cell/bias", {columns}, zeros());
            const Tensor y = with_lstm
                                 ? lstm(x, zero, zero, w, r, b).y
                                 : gru(x, zero, w, r, b, variable(x, "cell/recurrent_bias", {columns}, zeros())).y;
            const Tensor last =
                reshape(slice(y, {0, kLength - 1, 0}, {kBatch, kLength, kUnits}, {1, 1, 1}), {kBatch, kUnits});
            const Tensor prediction = reshape(dense(last, {.units = 1}), {kBatch});
            return Built{mode_of(x) == Mode::kPredict ? Tensor() : mean_squared_error(in[1], prediction), {prediction}};
          }};
}

}  // namespace

void add_catalogue_cases(Cases& cases) {
  for (const Model& m : {dropout_mlp(), fashion(same), fashion(valid), flowers(false), flowers(true), resnet20(),
                         resnet_large(false), resnet_large(true), recurrent(true), recurrent(false)})
    add_model(cases, m);
}

}  // namespace tenon::corpus

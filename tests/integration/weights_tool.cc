// Models with the weights of other libraries' files, for `make check-interop` (share/interop/check_weights.py).
//
//   weights_tool keras MODEL LOAD SAVE X Y     a model of Keras's: loads LOAD (-: none), saves SAVE (-: none), Y = what it gives for X
//   weights_tool resnet18 FILE RULES X Y       torchvision's, as that pads; X and Y are raw f32, rows of the model's shape
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tenon/layer_classes.h"
#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/model.h"
#include "tenon/recurrent.h"
#include "tenon/strategy.h"

using namespace tenon;

namespace {

Sequential image_model() {
  return Sequential(
      {Input({6, 6, 2}), Conv2D({.filters = 3, .kernel = 3, .name = "first"}), BatchNormalization({.scale = false}),
       DepthwiseConv2D({.kernel = 2}), ReLU(), Conv2DTranspose({.filters = 2, .kernel = 3}),
       SeparableConv2D({.filters = 2, .kernel = 2, .name = "wide"}), Dropout(0.5), GroupNormalization({.groups = 2}),
       Flatten(), Dense({.units = 4}), Dense({.units = 3, .name = "head"})});
}

Model sequence_model() {
  const Symbol x = Input({4, 3});
  Symbol y = LSTM({.units = 3, .return_sequences = true})(x);
  y = Bidirectional(GRU({.units = 2, .return_sequences = true}))(y);
  y = MultiHeadAttention({.num_heads = 2, .key_dim = 2})({y, y});
  y = LayerNormalization({.center = false})(y);
  y = TimeDistributed(Dense({.units = 2}))(y);
  y = Sequential({Dense({.units = 3}), Dense({.units = 2})})(y);
  return Model({x}, {Dense({.units = 2})(Flatten()(y))});
}

std::vector<float> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
  return out;
}

void write(const std::string& path, const Array& y) {
  const std::vector<float> values = y.to<float>();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

Array rows(const std::string& path, Shape row) {
  const std::vector<float> values = read(path);
  std::vector<int64_t> dims(row.begin(), row.end());
  dims.insert(dims.begin(), static_cast<int64_t>(values.size()) / row.elements());
  return Array(values, Shape(dims));
}

void keras(Model&& model, const Shape& row, char** argv) {
  model.compile({.loss = MeanSquaredError(), .strategy = Strategy("cpu")});
  if (std::string(argv[3]) != "-") model.load_weights(argv[3]);
  if (std::string(argv[4]) != "-") model.save_weights(argv[4]);
  write(argv[6], model.predict(rows(argv[5], row)).at(0));
}

Tensor conv(Tensor x, int64_t filters, int64_t kernel, int64_t stride) {
  if (kernel > 1) x = zero_padding2d(x, kernel / 2);
  return conv2d(x, {.filters = filters, .kernel = kernel, .strides = stride, .use_bias = false});
}
Tensor norm(Tensor x, Activation activation, Tensor residual = {}) {
  return batch_normalization(x, {.epsilon = 1e-5, .activation = activation, .residual = residual});
}

Tensor resnet18(Tensor x) {
  x = norm(conv(x, 64, 7, 2), relu);
  x = max_pool2d(zero_padding2d(x, 1), {.pool_size = 3, .strides = Extent(2)});
  for (int64_t filters = 64; filters <= 512; filters *= 2)
    for (int block = 0; block < 2; ++block) {
      const int64_t stride = block == 0 && filters > 64 ? 2 : 1;
      const Tensor residual = stride == 2 ? norm(conv(x, filters, 1, 2), linear) : x;
      const Tensor y = norm(conv(x, filters, 3, stride), relu);
      x = norm(conv(y, filters, 3, 1), relu, residual);
    }
  return dense(global_average_pool2d(x), {.units = 10});
}

void torchvision(char** argv) {
  Strategy strategy("cpu");
  strategy.warm_start({.ckpt_to_initialize_from = argv[2],
                       .vars_to_warm_start = {{".*"}, VarsToWarmStart::Among::kWeights},
                       .rules = argv[3]});
  Function logits = strategy.function(
      [](const Features& in) {
        return Outputs{{"y", resnet18(in["x"])}};
      },
      {.mode = Mode::kPredict});
  write(argv[5], logits({{"x", rows(argv[4], {64, 64, 3})}})["y"]);
  std::puts(strategy.warm_started().text().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string what = argc > 2 ? argv[1] : "";
    if (what == "resnet18" && argc == 6) return torchvision(argv), 0;
    if (what == "keras" && argc == 7 && std::string(argv[2]) == "image")
      return keras(image_model(), {6, 6, 2}, argv), 0;
    if (what == "keras" && argc == 7) return keras(sequence_model(), {4, 3}, argv), 0;
    std::fputs("usage: weights_tool keras MODEL LOAD SAVE X Y | resnet18 FILE RULES X Y\n", stderr);
    return 2;
  } catch (const Error& e) {
    std::fprintf(stderr, "weights_tool: %s\n", e.what());
    return 1;
  }
}

// Whole networks made of the layers: those of keras.applications, whose parameters are in tests/golden/models.csv.
#include <gtest/gtest.h>

#include <iostream>

#include "tenon/layers.h"
#include "tenon/preprocessing.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"
#include "unit/layer/networks.h"

namespace tenon {
namespace {

using model_testing::feed;
using namespace networks;

// ---- Simonyan and Zisserman 2014 ----
Network vgg(std::vector<int> convolutions) {
  return {[=](Tensor x) {
            int64_t filters = 64;
            for (const int n : convolutions) {
              for (int i = 0; i < n; ++i) x = biased(x, filters, 3, 1, relu);
              x = halved(x, 2);
              filters = std::min<int64_t>(filters * 2, 512);
            }
            return x;
          },
          [](Tensor x) {
            x = flatten(x);
            for (int i = 0; i < 2; ++i) x = dense(x, {.units = 4096, .activation = relu});
            return dense(x, {.units = 1000, .activation = "softmax"});
          }};
}

// ---- He et al. 2015, 2016: Keras's convolutions have biases ----
Network resnet(std::vector<int> blocks) {
  return {[=](Tensor x) {
            x = halved(relu(batch_normalization(biased(x, 64, 7, 2))));
            int64_t filters = 64;
            for (size_t stage = 0; stage < blocks.size(); ++stage, filters *= 2)
              for (int i = 0; i < blocks[stage]; ++i) {
                const int64_t stride = i == 0 && stage > 0 ? 2 : 1;
                const Tensor way = i == 0 ? batch_normalization(biased(x, 4 * filters, 1, stride)) : x;
                Tensor y = relu(batch_normalization(biased(x, filters, 1, stride)));
                y = relu(batch_normalization(biased(y, filters, 3)));
                x = relu(add(Tensors{way, batch_normalization(biased(y, 4 * filters))}));
              }
            return x;
          },
          mean_and_dense};
}

Network resnet_v2(std::vector<int> blocks) {
  return {[=](Tensor x) {
            x = halved(biased(x, 64, 7, 2));
            int64_t filters = 64;
            for (size_t stage = 0; stage < blocks.size(); ++stage, filters *= 2)
              for (int i = 0; i < blocks[stage]; ++i) {
                const int64_t stride = i + 1 == blocks[stage] && stage + 1 < blocks.size() ? 2 : 1;
                const Tensor before = relu(batch_normalization(x));
                const Tensor way = i == 0       ? biased(before, 4 * filters, 1, stride)
                                   : stride > 1 ? max_pool2d(x, {.pool_size = 1, .strides = stride})
                                                : x;
                const Tensor y = conv_norm(conv_norm(before, filters, 1), filters, 3, stride);
                x = add(Tensors{way, biased(y, 4 * filters)});
              }
            return relu(batch_normalization(x));
          },
          mean_and_dense};
}

// ---- Howard et al. 2017, Sandler et al. 2018 ----
Network mobilenet() {
  return {[](Tensor x) {
            x = conv_norm(x, 32, 3, 2, relu6);
            int64_t before = 32;
            for (const int64_t filters : {64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024}) {
              x = conv_norm(depthwise_norm(x, 3, filters > before && filters > 64 ? 2 : 1, relu6), filters, 1, 1,
                            relu6);
              before = filters;
            }
            return x;
          },
          [](Tensor x) { return flatten(biased(global_average_pool2d(x, true), 1000)); }};
}

Network mobilenet_v2() {
  struct Stage {
    int64_t wider, filters, times, stride;
  };
  return {[](Tensor x) {
            x = conv_norm(x, 32, 3, 2, relu6);
            for (const Stage& s : {Stage{1, 16, 1, 1}, Stage{6, 24, 2, 2}, Stage{6, 32, 3, 2}, Stage{6, 64, 4, 2},
                                   Stage{6, 96, 3, 1}, Stage{6, 160, 3, 2}, Stage{6, 320, 1, 1}})
              for (int64_t i = 0; i < s.times; ++i) {
                Tensor y = s.wider > 1 ? conv_norm(x, s.wider * x.dim(-1), 1, 1, relu6) : x;
                y = conv_norm(depthwise_norm(y, 3, i == 0 ? s.stride : 1, relu6), s.filters, 1, 1, linear);
                x = i == 0 ? y : add(Tensors{x, y});
              }
            return conv_norm(x, 1280, 1, 1, relu6);
          },
          mean_and_dense};
}

// ---- Chollet 2016 ----
Network xception() {
  return {[](Tensor x) {
            x = conv_norm(conv_norm(x, 32, 3, 2), 64, 3);
            for (const int64_t filters : {128, 256, 728}) {
              const Tensor way = conv_norm(x, filters, 1, 2, linear);
              const Tensor y = separable_norm(relu(separable_norm(x, filters)), filters);
              x = add(Tensors{way, halved(y)});
            }
            for (int block = 0; block < 8; ++block) {
              Tensor y = x;
              for (int i = 0; i < 3; ++i) y = separable_norm(relu(y), 728);
              x = add(Tensors{x, y});
            }
            const Tensor y = separable_norm(relu(separable_norm(relu(x), 728)), 1024);
            x = add(Tensors{conv_norm(x, 1024, 1, 2, linear), halved(y)});
            return relu(separable_norm(relu(separable_norm(x, 1536)), 2048));
          },
          mean_and_dense};
}

// ---- Huang et al. 2016 ----
Network densenet(std::vector<int> blocks) {
  return {[=](Tensor x) {
            x = halved(conv_norm(x, 64, 7, 2));
            const auto next = [](Tensor t, int64_t filters, int64_t kernel) {
              return conv2d(relu(batch_normalization(t)),
                            {.filters = filters, .kernel = kernel, .padding = same, .use_bias = false});
            };
            for (size_t block = 0; block < blocks.size(); ++block) {
              if (block > 0) x = average_pool2d(next(x, x.dim(-1) / 2, 1), 2);
              for (int i = 0; i < blocks[block]; ++i) x = concatenate({x, next(next(x, 128, 1), 32, 3)});
            }
            return relu(batch_normalization(x));
          },
          mean_and_dense};
}

// ---- Tan and Le 2019; the first layer is a Normalization ----
Network efficientnet(double depth) {
  struct Stage {
    int64_t kernel, times, filters, wider, stride;
  };
  return {[=](Tensor x) {
            x = conv_norm(normalization(rescaling(x, 1.0 / 255)), 32, 3, 2, silu);
            for (const Stage& s :
                 {Stage{3, 1, 16, 1, 1}, Stage{3, 2, 24, 6, 2}, Stage{5, 2, 40, 6, 2}, Stage{3, 3, 80, 6, 2},
                  Stage{5, 3, 112, 6, 1}, Stage{5, 4, 192, 6, 2}, Stage{3, 1, 320, 6, 1}}) {
              const auto times = static_cast<int64_t>(std::ceil(static_cast<double>(s.times) * depth));
              for (int64_t i = 0; i < times; ++i) {
                Tensor y = s.wider > 1 ? conv_norm(x, s.wider * x.dim(-1), 1, 1, silu) : x;
                y = squeezed(depthwise_norm(y, s.kernel, i == 0 ? s.stride : 1, silu), x.dim(-1) / 4);
                y = conv_norm(y, s.filters, 1, 1, linear);
                x = i == 0 ? y : add(Tensors{x, y});
              }
            }
            return conv_norm(x, 1280, 1, 1, silu);
          },
          mean_and_dense};
}

const std::map<std::string, Network>& earlier() {
  static const std::map<std::string, Network> all{
      {"VGG16", vgg({2, 2, 3, 3, 3})},
      {"VGG19", vgg({2, 2, 4, 4, 4})},
      {"ResNet50", resnet({3, 4, 6, 3})},
      {"ResNet101", resnet({3, 4, 23, 3})},
      {"ResNet152", resnet({3, 8, 36, 3})},
      {"ResNet50V2", resnet_v2({3, 4, 6, 3})},
      {"ResNet101V2", resnet_v2({3, 4, 23, 3})},
      {"MobileNet", mobilenet()},
      {"MobileNetV2", mobilenet_v2()},
      {"Xception", xception()},
      {"DenseNet121", densenet({6, 12, 24, 16})},
      {"DenseNet169", densenet({6, 12, 32, 32})},
      {"EfficientNetB0", efficientnet(1)},
      {"EfficientNetB1", efficientnet(1.1)},
  };
  return all;
}
const Network& network_of(const std::string& model) {
  const auto found = earlier().find(model);
  return found == earlier().end() ? networks::later().at(model) : found->second;
}

struct Parameters {
  int64_t all = 0, trainable = 0;
};
Parameters parameters_of(const Graph& graph) {
  Parameters out;
  for (const Variable& v : graph.variables) {
    if (v.kind != VariableKind::kWeight) continue;
    const int64_t n = graph.type(graph.inputs[static_cast<size_t>(v.input)].value).shape.elements();
    out.all += n;
    if (v.trainable) out.trainable += n;
  }
  return out;
}

TEST(Models, OfKerasApplicationsHaveTheirParameters) {
  int built = 0;
  for (const golden::Row& row : golden::rows("models.csv")) {
    const std::string& name = row.at("model");
    SCOPED_TRACE(name);
    const Network& network = network_of(name);
    std::vector<int64_t> shape = golden::integers(row.at("input"));
    if (shape.size() == 1) shape = {224, 224, shape[0]};  // any size: NonexNonex3
    shape.insert(shape.begin(), 1);
    Graph graph;
    const Tensor map = network.features(feed(graph, "image", Shape(shape)));
    EXPECT_EQ(std::to_string(map.dim(-1)), row.at("features"));
    const Parameters without = parameters_of(graph);
    EXPECT_EQ(std::to_string(without.all), row.at("params_notop"));
    EXPECT_EQ(std::to_string(without.trainable), row.at("trainable_notop"));
    const Tensor classes = network.top(map);
    EXPECT_EQ(classes.shape().str(), Shape({1, std::stoll(row.at("classes"))}).str());
    const Parameters with = parameters_of(graph);
    EXPECT_EQ(std::to_string(with.all), row.at("params_top"));
    EXPECT_EQ(std::to_string(with.trainable), row.at("trainable_top"));
    ++built;
  }
  EXPECT_EQ(built, 21);
  std::cout << built << " networks\n";
}

}  // namespace
}  // namespace tenon

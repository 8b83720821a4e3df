// The table of models and the table of benchmark cases.
#include "models/models.h"

namespace tenon::models {
namespace {

ImageShape resnet_image(const Params& params) {
  if (params.get<std::string>("depth") == "20") return {32, 32, 3, 10};
  return {224, 224, 3, 1000};
}

std::vector<ModelInfo> make_models() {
  const Augmentation shift_and_flip{4, true, 0, 1, 1};
  return {
      {"mlp",
       "multilayer perceptron: flatten, hidden layers with ReLU, one logit a class",
       mlp,
       [](const Params&) {
         return ImageShape{28, 28, 1, 10};
       },
       "adam",
       0.001,
       "constant",
       128,
       2000,
       Augmentation::none(),
       {{"hidden", std::string("128"), "sizes of the hidden layers, separated by commas"},
        {"dropout", 0.0, "rate after each hidden layer", 0, 0.999}}},
      {"fashion",
       "3x3 convolutions of 32 and 64 filters, each with max-pool, dropout, dense",
       fashion,
       [](const Params&) {
         return ImageShape{28, 28, 1, 10};
       },
       "adam",
       0.003,
       "cosine",
       128,
       2000,
       Augmentation::none(),
       {{"dropout", 0.4, "rate before the last layer", 0, 0.999},
        {"padding", std::string("same"), "of the convolutions", 0, 0, {"same", "valid"}}}},
      {"flowers",
       "the reference CNN for 299x299 photos: two 5x5 convolutions, dense 300, dropout",
       flowers,
       [](const Params&) {
         return ImageShape{299, 299, 3, 5};
       },
       "adam",
       0.01,
       "constant",
       256,
       100,
       Augmentation(),
       {{"ksize1", int64_t{5}, "kernel of the first convolution", 1, 299},
        {"ksize2", int64_t{5}, "kernel of the second convolution", 1, 299},
        {"nfil1", int64_t{10}, "filters of the first convolution", 1, 1 << 16},
        {"nfil2", int64_t{20}, "filters of the second convolution", 1, 1 << 16},
        {"dprob", 0.25, "dropout rate after the dense layer", 0, 0.999},
        {"batch_norm", false, "batch normalisation after both dense layers"}}},
      {"resnet",
       "residual network, version 1: depth 20 for 32x32, 18 and 50 for 224x224",
       resnet,
       resnet_image,
       "momentum",
       0.1,
       "cosine",
       128,
       10000,
       shift_and_flip,
       {{"depth", std::string("20"), "layers", 0, 0, {"20", "18", "50"}},
        {"l2", 0.0, "penalty on the convolutions' kernels: l2 * sum of squares", 0, 1}}},
  };
}

Params with(const char* optimizer, double rate, int64_t classes, Params more = {}) {
  more.set("optimizer", std::string(optimizer));
  more.set("learning_rate", rate);
  more.set("num_classes", classes);
  return more;
}

std::vector<BenchCase> make_cases() {
  const Params flowers_flags{{"ksize1", int64_t{5}}, {"ksize2", int64_t{5}}, {"nfil1", int64_t{10}},
                             {"nfil2", int64_t{20}}, {"dprob", 0.25},        {"batch_norm", false}};
  const auto depth = [](const char* d) { return Params{{"depth", std::string(d)}}; };
  return {
      {"mlp_tiny",
       "dense 4-16-16-3, batch 16, SGD",
       mlp,
       with("sgd", 0.01, 3, {{"hidden", std::string("16,16")}}),
       {0, 4, 1, 3},
       16,
       100},
      {"mlp_mnist",
       "dense 784-128-10, batch 64, SGD",
       mlp,
       with("sgd", 0.01, 10, {{"hidden", std::string("128")}}),
       {0, 784, 1, 10},
       64,
       100},
      {"mnist_cnn",
       "conv 32, conv 64, each with max-pool, dropout .5, dense 10; batch 64, Adam",
       fashion,
       with("adam", 0.001, 10, {{"dropout", 0.5}, {"padding", std::string("valid")}}),
       {28, 28, 1, 10},
       64,
       1},
      {"flowers180",
       "180x180x3: conv 16, 32, 64, each with max-pool, dense 128, dense 5; batch 32, Adam",
       flowers180,
       with("adam", 0.001, 5),
       {180, 180, 3, 5},
       32,
       1},
      {"flowers299",
       "the reference CNN at 299x299x3, dropout .25; batch 32, Adam",
       flowers,
       with("adam", 0.001, 5, flowers_flags),
       {299, 299, 3, 5},
       32,
       1},
      {"resnet20",
       "CIFAR ResNet-20, batch 128, momentum .9",
       resnet,
       with("momentum", 0.1, 10, depth("20")),
       {32, 32, 3, 10},
       128,
       1},
      {"resnet18",
       "ResNet-18 at 224, batch 16, momentum",
       resnet,
       with("momentum", 0.1, 1000, depth("18")),
       {224, 224, 3, 1000},
       16,
       1},
      {"resnet50",
       "ResNet-50 at 224, batch 16, momentum",
       resnet,
       with("momentum", 0.1, 1000, depth("50")),
       {224, 224, 3, 1000},
       16,
       1},
      {"resnet50_infer",
       "ResNet-50 at 224, batch 1, prediction",
       resnet,
       with("momentum", 0.1, 1000, depth("50")),
       {224, 224, 3, 1000},
       1,
       1,
       Mode::kPredict},
      {"resnet50_infer32",
       "ResNet-50 at 224, batch 32, prediction",
       resnet,
       with("momentum", 0.1, 1000, depth("50")),
       {224, 224, 3, 1000},
       32,
       1,
       Mode::kPredict},
  };
}

template <class Table>
auto* find(const Table& table, std::string_view name) {
  for (const auto& entry : table)
    if (name == entry.name) return &entry;
  return static_cast<decltype(&table[0])>(nullptr);
}

}  // namespace

std::span<const ModelInfo> all_models() {
  static const auto* models = new std::vector<ModelInfo>(make_models());
  return *models;
}
const ModelInfo* find_model(std::string_view name) { return find(all_models(), name); }

std::span<const BenchCase> bench_cases() {
  static const auto* cases = new std::vector<BenchCase>(make_cases());
  return *cases;
}
const BenchCase* find_bench_case(std::string_view name) { return find(bench_cases(), name); }

}  // namespace tenon::models

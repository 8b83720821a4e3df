// The table of benchmark cases.
#include "models/find_by_name.h"
#include "models/models.h"

namespace tenon::models {
namespace {

using BenchFeatures = std::vector<BenchFeature>;

BenchFeatures numbers_to_classify(int64_t count, int32_t classes) {
  return {{"image", {count}}, {"label", {}, classes}};
}
BenchFeatures images(int64_t size, int64_t channels, int32_t classes) {
  return {{"image", {size, size, channels}}, {"label", {}, classes}};
}
BenchFeatures sentences(int64_t length, int32_t vocabulary) {
  return {{"source", {length}, vocabulary}, {"target", {length}, vocabulary}, {"label", {length}, vocabulary}};
}

Params with(const char* optimizer, double rate, int64_t classes, Params more = {}) {
  more.set("optimizer", std::string(optimizer));
  more.set("learning_rate", rate);
  more.set("num_classes", classes);
  return more;
}

Params resnet_params(const char* depth, int64_t classes) {
  return with("momentum", 0.1, classes, {{"depth", std::string(depth)}});
}

struct TransformerSize {
  int64_t d_model, layers, heads, ffn, vocabulary;
};
constexpr TransformerSize kSmallTransformer{.d_model = 128, .layers = 4, .heads = 4, .ffn = 512, .vocabulary = 8000};
constexpr TransformerSize kBaseTransformer{.d_model = 512, .layers = 6, .heads = 8, .ffn = 2048, .vocabulary = 32000};

Params transformer_params(const TransformerSize& size, double dropout) {
  return with("adam", 1e-4, size.vocabulary,
              {{"d_model", size.d_model},
               {"layers", size.layers},
               {"heads", size.heads},
               {"ffn", size.ffn},
               {"vocabulary", size.vocabulary},
               {"dropout", dropout}});
}

std::vector<BenchCase> image_cases() {
  const Params flowers_flags{{"ksize1", int64_t{5}}, {"ksize2", int64_t{5}}, {"nfil1", int64_t{10}},
                             {"nfil2", int64_t{20}}, {"dprob", 0.25},        {"batch_norm", false}};
  return {
      {
          .name = "mlp_tiny",
          .description = "dense 4-16-16-3, batch 16, SGD",
          .model = mlp,
          .params = with("sgd", 0.01, 3, {{"hidden", std::string("16,16")}}),
          .features = numbers_to_classify(4, 3),
          .batch_size = 16,
          .steps_per_call = 100,
      },
      {
          .name = "mlp_mnist",
          .description = "dense 784-128-10, batch 64, SGD",
          .model = mlp,
          .params = with("sgd", 0.01, 10, {{"hidden", std::string("128")}}),
          .features = numbers_to_classify(784, 10),
          .batch_size = 64,
          .steps_per_call = 100,
      },
      {
          .name = "mnist_cnn",
          .description = "conv 32, conv 64, each with max-pool, dropout .5, dense 10; batch 64, Adam",
          .model = fashion,
          .params = with("adam", 0.001, 10, {{"dropout", 0.5}, {"padding", std::string("valid")}}),
          .features = images(28, 1, 10),
          .batch_size = 64,
      },
      {
          .name = "flowers180",
          .description = "180x180x3: conv 16, 32, 64, each with max-pool, dense 128, dense 5; batch 32, Adam",
          .model = flowers180,
          .params = with("adam", 0.001, 5),
          .features = images(180, 3, 5),
          .batch_size = 32,
      },
      {
          .name = "flowers299",
          .description = "the reference CNN at 299x299x3, dropout .25; batch 32, Adam",
          .model = flowers,
          .params = with("adam", 0.001, 5, flowers_flags),
          .features = images(299, 3, 5),
          .batch_size = 32,
      },
  };
}

std::vector<BenchCase> resnet_cases() {
  return {
      {
          .name = "resnet20",
          .description = "CIFAR ResNet-20, batch 128, momentum .9",
          .model = resnet,
          .params = resnet_params("20", 10),
          .features = images(32, 3, 10),
          .batch_size = 128,
      },
      {
          .name = "resnet18",
          .description = "ResNet-18 at 224, batch 16, momentum",
          .model = resnet,
          .params = resnet_params("18", 1000),
          .features = images(224, 3, 1000),
          .batch_size = 16,
      },
      {
          .name = "resnet50",
          .description = "ResNet-50 at 224, batch 16, momentum",
          .model = resnet,
          .params = resnet_params("50", 1000),
          .features = images(224, 3, 1000),
          .batch_size = 16,
      },
      {
          .name = "resnet50_infer",
          .description = "ResNet-50 at 224, batch 1, prediction",
          .model = resnet,
          .params = resnet_params("50", 1000),
          .features = images(224, 3, 1000),
          .batch_size = 1,
          .mode = Mode::kPredict,
      },
      {
          .name = "resnet50_infer32",
          .description = "ResNet-50 at 224, batch 32, prediction",
          .model = resnet,
          .params = resnet_params("50", 1000),
          .features = images(224, 3, 1000),
          .batch_size = 32,
          .mode = Mode::kPredict,
      },
  };
}

std::vector<BenchCase> transformer_cases() {
  return {
      {
          .name = "transformer_small",
          .description = "encoder-decoder d128, 4 + 4 layers, 64 x (32 + 32) of 8,000 tokens, dropout .1, Adam",
          .model = transformer_case,
          .params = transformer_params(kSmallTransformer, 0.1),
          .features = sentences(32, 8000),
          .batch_size = 64,
      },
      {
          .name = "transformer_base",
          .description = "encoder-decoder d512, 6 + 6 layers, 32 x (32 + 32) of 32,000 tokens, dropout .1, Adam",
          .model = transformer_case,
          .params = transformer_params(kBaseTransformer, 0.1),
          .features = sentences(32, 32000),
          .batch_size = 32,
      },
      {
          .name = "transformer_base_d0",
          .description = "transformer_base without dropout",
          .model = transformer_case,
          .params = transformer_params(kBaseTransformer, 0),
          .features = sentences(32, 32000),
          .batch_size = 32,
      },
  };
}

// Those of the catalogue that are timed beside other frameworks, and their predictions.
std::vector<BenchCase> catalogue_peers() {
  constexpr struct {
    const char *trains, *one, *many;
  } kNames[] = {{"mobilenet_v2", "mobilenet_v2_infer", "mobilenet_v2_infer32"},
                {"efficientnet_b0", "efficientnet_b0_infer", "efficientnet_b0_infer32"},
                {"vit_b_16", "vit_b_16_infer", "vit_b_16_infer32"}};
  std::vector<BenchCase> out;
  for (const auto& names : kNames)
    for (const BenchCase& c : catalogue_cases()) {
      if (std::string_view(c.name) != names.trains) continue;
      const std::string name = c.description.substr(0, c.description.find(','));
      out.push_back(c);
      out.back().description = name + " at 224, batch 32, momentum";
      for (const int64_t batch : {1, 32}) {
        out.push_back(c);
        BenchCase& predicts = out.back();
        predicts.name = batch == 1 ? names.one : names.many;
        predicts.description = name + " at 224, batch " + std::to_string(batch) + ", prediction";
        predicts.batch_size = batch;
        predicts.mode = Mode::kPredict;
      }
    }
  return out;
}

std::vector<BenchCase> make_cases() {
  std::vector<BenchCase> all;
  for (const auto& some : {image_cases(), resnet_cases(), transformer_cases(), catalogue_peers()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

}  // namespace

std::span<const BenchCase> bench_cases() {
  static const auto* cases = new std::vector<BenchCase>(make_cases());
  return *cases;
}
const BenchCase* find_bench_case(std::string_view name) { return find_in(bench_cases(), catalogue_cases(), name); }

}  // namespace tenon::models

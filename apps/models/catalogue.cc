// The models of tenon/applications.h for the runner: each is called on the images that data give, and classified as all others.
#include <algorithm>

#include "models/models.h"
#include "models/networks.h"
#include "tenon/applications.h"

namespace tenon::models {
namespace {

using applications::Application;
using applications::Preprocess;

// How networks of a family are trained from nothing: as their papers say, for fewer examples in a step.
struct Recipe {
  std::string_view family;
  const char* optimizer;
  double learning_rate, epsilon;
};
constexpr Recipe kRecipes[] = {
    {"ResNet", "momentum", 0.1, 1e-7},
    {"ResNetV2", "momentum", 0.1, 1e-7},
    {"DenseNet", "momentum", 0.1, 1e-7},
    {"VGG", "momentum", 0.01, 1e-7},
    {"ConvNeXt", "adamw", 5e-4, 1e-7},
    {"ViT", "adamw", 5e-4, 1e-7},
    {"EfficientNet", "rmsprop_momentum", 0.016, 1e-3},
    {"EfficientNetV2", "rmsprop_momentum", 0.016, 1e-3},
};
constexpr Recipe kOtherwise{"", "rmsprop_momentum", 0.045, 1.0};

const Recipe& recipe_of(const Application& a) {
  const auto* found =
      std::find_if(std::begin(kRecipes), std::end(kRecipes), [&](const Recipe& r) { return r.family == a.family; });
  return found == std::end(kRecipes) ? kOtherwise : *found;
}

std::vector<ModelFlag> flags_of(const Application& a) {
  const std::string_view family = a.family;
  std::vector<ModelFlag> out{{"freeze", std::string(),
                              "a regular expression: layers with a weight in whose name it is found are not trained"}};
  if (family.starts_with("MobileNet"))
    out.push_back({"width_multiplier", 1.0, "of all layers: Keras's alpha", 1e-3, 100});
  if (family == "MobileNet")
    out.push_back({"depth_multiplier", int64_t{1}, "channels that each channel becomes", 1, 1000});
  if (family == "MobileNetV3") out.push_back({"minimalistic", false, "ReLU, no squeeze and excite, kernels of 3x3"});
  if (family == "EfficientNet")
    out.push_back(
        {"imagenet_weights", false, "weights are those of ImageNet that Keras publishes, as its \"imagenet\""});
  if (family == "AmoebaNet") {
    out.push_back({"num_layers", int64_t{18}, "normal cells", 3, 1000});
    out.push_back({"num_filters", int64_t{256}, "of the first normal cell, a multiple of 16", 16, 1 << 20});
  }
  return out;
}

applications::Options options_of(const Application& a, const Shape& image, const Params& params) {
  applications::Options o{
      .input_shape = image, .classes = params.get<int64_t>("num_classes"), .classifier_activation = linear};
  const std::string_view family = a.family;
  if (family.starts_with("MobileNet")) o.alpha = params.get<double>("width_multiplier", 1);
  if (family == "MobileNet") o.depth_multiplier = params.get<int64_t>("depth_multiplier", 1);
  if (family == "MobileNetV3") o.minimalistic = params.get<bool>("minimalistic", false);
  if (family == "EfficientNet") o.imagenet_weights = params.get<bool>("imagenet_weights", false);
  if (family == "AmoebaNet") {
    o.num_layers = params.get<int64_t>("num_layers", 18);
    o.num_filters = params.get<int64_t>("num_filters", 256);
  }
  return o;
}

// Data have pixels from -1 to 1, which is what most of them take.
Tensor prepared(Tensor x, const Application& a) {
  if (a.preprocess == Preprocess::kTf) return x;
  const Tensor pixels = (x + 1) * 127.5;
  return x.dim(-1) == 3 ? preprocess_input(pixels, a.preprocess) : pixels;
}

void freeze(Model& model, const std::string& expression) {
  if (expression.empty()) return;
  try {
    model.set_layers_trainable(expression, false);
  } catch (const Error& e) {
    throw Error(Status(e.status().code(), "freeze: " + e.status().message()));
  }
}

ModelFn model_of(const Application& a) {
  return [&a](const Features& features, const Tensor& labels, Mode mode, const Params& params) {
    const Tensor x = prepared(image_of(features, params), a);
    Model model = a.build(options_of(a, {x.dim(1), x.dim(2), x.dim(3)}, params));
    freeze(model, params.get<std::string>("freeze", ""));
    return classify(model(x), labels, mode, make_optimizer(params));
  };
}

std::vector<ModelInfo> make_catalogue() {
  std::vector<ModelInfo> out;
  for (const Application& a : applications::all()) {
    const Recipe& recipe = recipe_of(a);
    out.push_back({
        .name = a.id,
        .description = std::string(a.name) + ", with Keras's layers and weights",
        .model = model_of(a),
        .example = [size = a.size](const Params&) -> ExampleInfo {
          return {"images", {{"height", size}, {"width", size}, {"channels", 3}, {"num_classes", 1000}}};
        },
        .optimizer = recipe.optimizer,
        .learning_rate = recipe.learning_rate,
        .schedule = "cosine",
        .warmup_steps = 500,
        .epsilon = recipe.epsilon,
        .train_batch_size = 32,
        .train_steps = 10000,
        .augmentation = {},
        .flags = flags_of(a),
        .family = a.family,
    });
  }
  return out;
}

std::vector<BenchCase> make_catalogue_cases() {
  std::vector<BenchCase> out;
  for (const Application& a : applications::all())
    out.push_back({
        .name = a.id,
        .description = std::string(a.name) + ", momentum",
        .model = model_of(a),
        .params = {{"optimizer", std::string("momentum")}, {"learning_rate", 0.01}, {"num_classes", int64_t{1000}}},
        .features = {{"image", {a.size, a.size, 3}}, {"label", {}, 1000}},
        .batch_size = 32,
    });
  return out;
}

}  // namespace

std::span<const ModelInfo> catalogue() {
  static const auto* models = new std::vector<ModelInfo>(make_catalogue());
  return *models;
}

bool is_network(std::string_view name) { return applications::find(name) != nullptr; }

Model network_of(std::string_view name, const Shape& image, const Params& params) {
  const Application& a = *applications::find(name);
  return a.build(options_of(a, image, params));
}

std::span<const BenchCase> catalogue_cases() {
  static const auto* cases = new std::vector<BenchCase>(make_catalogue_cases());
  return *cases;
}

}  // namespace tenon::models

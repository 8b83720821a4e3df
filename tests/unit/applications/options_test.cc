#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tenon/applications.h"

namespace tenon::applications {
namespace {

std::string error_of(const Application& application, const Options& options) {
  try {
    (void)application.build(options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Applications, AreFoundByEitherName) {
  EXPECT_EQ(all().size(), 42U);
  for (const Application& a : all()) {
    EXPECT_EQ(find(a.name), &a);
    EXPECT_EQ(find(a.id), &a);
  }
  EXPECT_EQ(find("resnet50v2"), find("ResNet50V2"));
  EXPECT_EQ(find("resnet51"), nullptr);
  EXPECT_EQ(find(""), nullptr);
}

// Those that keras.applications has and tests/golden/models.csv lacks, and two that it does not have: the papers' and torchvision's.
TEST(Applications, BeyondTheGoldenOnesHavePublishedParameters) {
  const std::pair<const char*, int64_t> published[] = {
      {"ResNet152V2", 60380648},      {"EfficientNetB2", 9177569},   {"EfficientNetB3", 12320535},
      {"EfficientNetB4", 19466823},   {"EfficientNetB5", 30562527},  {"EfficientNetB6", 43265143},
      {"EfficientNetB7", 66658687},   {"EfficientNetV2B1", 8212124}, {"EfficientNetV2B2", 10178374},
      {"EfficientNetV2B3", 14467622}, {"EfficientNetV2S", 21612360}, {"EfficientNetV2M", 54431388},
      {"EfficientNetV2L", 119027848}, {"DenseNet201", 20242984},     {"NASNetLarge", 88949818},
      {"ConvNeXtSmall", 50223688},    {"ConvNeXtBase", 88591464},    {"ConvNeXtLarge", 197767336},
      {"ConvNeXtXLarge", 350196968},  {"ViTB16", 86567656}};
  for (const auto& [name, parameters] : published) EXPECT_EQ(find(name)->build({}).count_params(), parameters) << name;
}

TEST(Applications, RefuseWhatTheyDoNotHave) {
  const Application& resnet = *find("ResNet50");
  EXPECT_EQ(error_of(resnet, {.alpha = 0.5}), "applications: resnet50 has no option alpha");
  EXPECT_EQ(error_of(resnet, {.imagenet_weights = true}), "applications: resnet50 has no option imagenet_weights");
  EXPECT_EQ(error_of(*find("EfficientNetV2B0"), {.imagenet_weights = true}),
            "applications: efficientnetv2-b0 has no option imagenet_weights");
  EXPECT_EQ(error_of(*find("EfficientNetB0"), {.input_shape = {32, 32, 1}, .imagenet_weights = true}),
            "applications: imagenet_weights are of images of 3 channels, and these have 1");
  EXPECT_EQ(error_of(resnet, {.num_layers = 3}), "applications: resnet50 has no option num_layers");
  EXPECT_EQ(error_of(resnet, {.include_top = false, .pooling = "mean"}),
            "applications: pooling is 'mean', expected avg, max or nothing");
  EXPECT_EQ(error_of(resnet, {.input_shape = {31, 32, 3}}),
            "applications: the height of input_shape is 31, expected 32 or more");
  EXPECT_EQ(error_of(resnet, {.input_shape = {32, 32}}),
            "applications: input_shape has 2 sizes, expected height, width and channels");
  EXPECT_EQ(error_of(resnet, {.input_shape = {32, kAnySize, 3}}),
            "applications: the width of input_shape is any size, which this model does not take with its classifier");
  EXPECT_EQ(error_of(resnet, {.classes = 0}), "applications: classes is 0, expected 1 or more");
  EXPECT_EQ(error_of(*find("MobileNet"), {.alpha = 0}), "applications: alpha is 0, expected more than 0");
  EXPECT_EQ(error_of(*find("InceptionV3"), {.input_shape = {74, 75, 3}}),
            "applications: the height of input_shape is 74, expected 75 or more");
  EXPECT_EQ(error_of(*find("NASNetMobile"), {.include_top = false, .input_shape = {kAnySize, 64, 3}}),
            "applications: the height of input_shape is any size, which this model does not take");
  EXPECT_EQ(error_of(*find("ViTB16"), {.input_shape = {40, 48, 3}}),
            "applications: ViTB16's images are 40 x 48, expected multiples of 16");
  EXPECT_EQ(error_of(*find("AmoebaNetD"), {.num_filters = 20}),
            "applications: num_filters is 20, expected a multiple of 16");
  EXPECT_NE(error_of(resnet, {.weights = "nothing.safetensors"}).find("nothing.safetensors"), std::string::npos);
}

// Six normal cells of 64 filters: a reduction doubles them after a third and two thirds, and a cell gives three sums and its input.
TEST(Applications, AmoebaNetGrowsAsItIsTold) {
  Model model = AmoebaNetD(
      {.include_top = false, .input_shape = {64, 64, 3}, .pooling = "avg", .num_layers = 6, .num_filters = 64});
  Strategy strategy("cpu");
  model.compile({.strategy = strategy});
  const Array answer = model.predict(Array(std::vector<float>(64 * 64 * 3, 0.5F), {1, 64, 64, 3}))[0];
  EXPECT_EQ(answer.shape(), Shape({1, 4 * 256}));
  int cells = 0;
  for (const AnyLayer& layer : model.layers()) cells += layer->name().ends_with("/cell_output");
  EXPECT_EQ(cells, 6 + 2 + 2);
}

TEST(Applications, TakeImagesOfAnySizeWithoutAClassifier) {
  Model model = MobileNetV2({.include_top = false, .pooling = "avg", .alpha = 0.35});
  Strategy strategy("cpu");
  model.compile({.strategy = strategy});
  for (const int64_t size : {32, 48})
    EXPECT_EQ(
        model.predict(Array(std::vector<float>(static_cast<size_t>(size * size * 3), 0.5F), {1, size, size, 3}))[0]
            .shape(),
        Shape({1, 1280}));
}

// By hand: 255 and 0 of red, green and blue.
TEST(Applications, PreprocessPixelsAsKerasDoes) {
  const auto prepared = [](Preprocess kind) {
    Strategy strategy("cpu");
    Function f = strategy.function([&](const Features& in) { return Outputs{{"y", preprocess_input(in["x"], kind)}}; });
    return f(Arrays{{"x", Array(std::vector<float>{255, 0, 51}, {1, 3})}})["y"].to<float>();
  };
  const auto expect = [&](Preprocess kind, const std::vector<float>& values) {
    const std::vector<float> found = prepared(kind);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i], values[i], 1e-4);
  };
  expect(Preprocess::kNone, {255, 0, 51});
  expect(Preprocess::kTf, {1, -1, -0.6F});
  expect(Preprocess::kTorch, {(1 - 0.485F) / 0.229F, -0.456F / 0.224F, (0.2F - 0.406F) / 0.225F});
  expect(Preprocess::kCaffe, {51 - 103.939F, -116.779F, 255 - 123.68F});
}

TEST(Applications, TakeTheWeightsOfAFile) {
  const Options options{.include_top = false, .input_shape = {32, 32, 3}, .pooling = "avg"};
  const Array image(std::vector<float>(32 * 32 * 3, 100.0F), {1, 32, 32, 3});
  Model saved = MobileNetV3Small(options);
  Strategy first("cpu", {.seed = 5}), second("cpu", {.seed = 6});
  saved.compile({.strategy = first});
  const std::vector<float> expected = saved.predict(image)[0].to<float>();
  const std::string file = testing::TempDir() + "/mobilenet.safetensors";
  saved.save_weights(file);
  Options with = options;
  with.weights = file;
  Model loaded = MobileNetV3Small(with);
  loaded.compile({.strategy = second});
  EXPECT_EQ(loaded.predict(image)[0].to<float>(), expected);
  with.input_shape = {};  // of any size
  Model any = MobileNetV3Small(with);
  any.compile({.strategy = Strategy("cpu", {.seed = 7})});
  EXPECT_EQ(any.predict(image)[0].to<float>(), expected);
}

// (x - m) / sqrt(v) / sqrt(v), as Keras's weights = "imagenet" has it, is (x - m) / sqrt(v v).
TEST(Applications, ImagenetWeightsDivideByTheRootOfTheDeviationOnceMore) {
  std::vector<float> pixels(32 * 32 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 37 % 256);
  const Array image(pixels, {1, 32, 32, 3});
  const auto answer = [&](bool imagenet_weights, const std::vector<float>& variance) {
    Model model = EfficientNetB0(
        {.include_top = false, .input_shape = {32, 32, 3}, .pooling = "avg", .imagenet_weights = imagenet_weights});
    model.compile({.strategy = Strategy("cpu", {.seed = 5})});
    (void)model.weights();
    model.strategy().write("normalization/mean", Array({0.485F, 0.456F, 0.406F}, {3}));
    model.strategy().write("normalization/variance", Array(variance, {3}));
    return model.predict(image)[0].to<float>();
  };
  const std::vector<float> published = {0.229F, 0.224F, 0.225F},
                           squared = {0.229F * 0.229F, 0.224F * 0.224F, 0.225F * 0.225F};
  const std::vector<float> once = answer(false, published), twice = answer(true, published),
                           expected = answer(false, squared);
  double error = 0, largest = 0, without = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    error = std::max<double>(error, std::fabs(twice[i] - expected[i]));
    without = std::max<double>(without, std::fabs(once[i] - expected[i]));
    largest = std::max<double>(largest, std::fabs(expected[i]));
  }
  EXPECT_LT(error, 1e-4 * largest);
  EXPECT_GT(without, 1e-2 * largest);
}

// A network in each row, whose numbers of parameters are those of its models.
TEST(Applications, HaveTheParametersOfTheDocument) {
  std::ifstream document(std::string(TENON_GOLDEN) + "/../../share/doc/applications.md");
  std::map<std::string, std::set<std::string>> counts;
  int found = 0;
  for (std::string line; std::getline(document, line);) {
    std::istringstream cells(line);
    std::string empty, family, models, images, parameters;
    for (std::string* cell : {&empty, &family, &models, &images, &parameters}) std::getline(cells, *cell, '|');
    std::istringstream words(parameters);
    for (std::string word; words >> word;) {
      std::erase_if(word, [](char c) { return c == ',' || c == ';'; });
      if (word.size() < 7 || word.find_first_not_of("0123456789") != std::string::npos) continue;
      std::set<std::string>& known = counts[family];
      for (const Application& a : known.empty() ? all() : std::span<const Application>())
        if (" " + std::string(a.family) + " " == family) known.insert(std::to_string(a.build({}).count_params()));
      EXPECT_TRUE(known.contains(word)) << family << word;
      ++found;
    }
  }
  EXPECT_EQ(counts.size(), 14U);
  EXPECT_EQ(found, 27);
}

}  // namespace
}  // namespace tenon::applications

// What models of the catalogue answer: tests/fixtures/applications.csv has Keras's answers with the same weights, by name.
#include <cmath>

#include "tenon/applications.h"
#include "unit/layer/golden.h"

namespace tenon::applications {
namespace {

// Those of make_applications.py.
std::vector<double> numbers(const std::string& name, int64_t count) {
  uint32_t seed = 2166136261U;
  for (const char c : name) seed = (seed ^ static_cast<uint8_t>(c)) * 16777619U;
  std::vector<double> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) {
    uint32_t h = static_cast<uint32_t>(i) * 2654435761U + seed;
    h ^= h >> 15;
    h *= 2246822519U;
    h ^= h >> 13;
    out[i] = static_cast<double>(h) / 4294967296.0;
  }
  return out;
}

Array weight(const std::string& name, const Type& type) {
  const Shape& shape = type.shape;
  if (type.dtype == DType::kI32) return Array(3);
  const std::string last = name.substr(name.rfind('/') + 1);
  const bool positive = last == "gamma" || last == "variance" || last == "moving_variance";
  double fan = 1, range = 0.2;
  const bool by_channel = shape.rank() == 4 && shape[3] == 1;
  for (int d = 0; d < shape.rank() - (by_channel ? 2 : 1); ++d) fan *= static_cast<double>(shape[d]);
  if (last.find("kernel") != std::string::npos) range = std::sqrt(6.0 / fan);
  std::vector<float> values;
  for (const double u : numbers(name, shape.elements()))
    values.push_back(static_cast<float>(positive ? 0.5 + u : (2 * u - 1) * range));
  return Array(values, shape);
}

Options options_of(const golden::Row& row, int64_t size) {
  Options o{.input_shape = {size, size, 3}};
  std::istringstream words(row.at("options"));
  for (std::string word; words >> word;) {
    const std::string key = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
    if (key == "include_top") o.include_top = value == "1";
    if (key == "pooling") o.pooling = value;
    if (key == "classes") o.classes = std::stoll(value);
    if (key == "classifier_activation") o.classifier_activation = value;
    if (key == "alpha") o.alpha = std::stod(value);
    if (key == "depth_multiplier") o.depth_multiplier = std::stoll(value);
    if (key == "minimalistic") o.minimalistic = value == "1";
  }
  return o;
}

std::vector<float> answer_of(const golden::Row& row) {
  const int64_t size = std::stoll(row.at("size"));
  Model model = find(row.at("model"))->build(options_of(row, size));
  Strategy strategy("cpu");
  model.compile({.strategy = strategy});
  (void)model.weights();  // makes them
  for (const auto& v : strategy.variables()) strategy.write(v.name, weight(v.name, v.type));
  std::vector<float> image;
  for (const double u : numbers("image", size * size * 3)) image.push_back(static_cast<float>(2 * u - 1));
  return model.predict(Array(image, {1, size, size, 3}))[0].to<float>();
}

class Answers : public testing::TestWithParam<golden::Row> {};

TEST_P(Answers, AreKerasWithTheSameWeights) {
  const golden::Row& row = GetParam();
  const std::vector<float> all = answer_of(row);
  ASSERT_EQ(std::to_string(all.size()), row.at("count"));
  const golden::Numbers expected = golden::numbers(row.at("values"));
  double largest = 1;
  for (const double v : expected) largest = std::max(largest, std::fabs(v));
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(all[i * (all.size() - 1) / (expected.size() - 1)], expected[i], 1e-4 * largest) << "value " << i;
}

std::vector<golden::Row> cases() { return golden::rows("../fixtures/applications.csv"); }
INSTANTIATE_TEST_SUITE_P(Applications, Answers, testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.at("model"); });

}  // namespace
}  // namespace tenon::applications

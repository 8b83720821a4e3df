// Keras's files of weights: fixtures/weights were written by Keras 3.15.1 (make_weights.py), with what its models give.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "checkpoint/keras/hdf5_file.h"
#include "tenon/part.h"
#include "tenon/preprocessing.h"
#include "tenon/recurrent.h"
#include "unit/data/temporary_directory.h"
#include "unit/model/model_data_testing.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

const std::string kFolder = std::string(TENON_GOLDEN) + "/../fixtures/weights/";

std::vector<float> numbers_in(const std::string& text) {
  std::istringstream in(text);
  std::vector<float> out;
  for (float x; in >> x;) out.push_back(x);
  return out;
}

struct Case {
  Array x;
  std::vector<float> y;
};

Case case_of(const std::string& model, const Shape& shape) {
  std::ifstream file(kFolder + "weights.csv");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(','), second = line.find(',', first + 1);
    if (line.substr(0, first) == model)
      return {Array(numbers_in(line.substr(first + 1, second - first - 1)), shape),
              numbers_in(line.substr(second + 1))};
  }
  throw Error(Status(Code::kInvalid, "no " + model));
}

// `first` and others: names, where Keras's are given.
Sequential image_model(const std::string& first = "first") {
  return Sequential({Input({6, 6, 2}), Conv2D({.filters = 3, .kernel = 3, .name = first}),
                     BatchNormalization({.scale = false}), DepthwiseConv2D({.kernel = 2}), ReLU(),
                     SeparableConv2D({.filters = 2, .kernel = 2, .name = "wide"}), Dropout(0.5), Flatten(),
                     Dense({.units = 3, .name = "head"})});
}

Model sequence_model() {
  const Symbol x = Input({4, 3});
  Symbol y = LSTM({.units = 3, .return_sequences = true})(x);
  y = Bidirectional(GRU({.units = 2, .return_sequences = true}))(y);
  y = MultiHeadAttention({.num_heads = 2, .key_dim = 2})({y, y});
  y = LayerNormalization({.center = false})(y);
  y = TimeDistributed(Dense({.units = 2}))(y);
  return Model({x}, {Dense({.units = 2})(Flatten()(y))});
}

void compile(Model& model) { model.compile({.loss = MeanSquaredError(), .strategy = Strategy("cpu")}); }

void expect_gives(Model& model, const Case& c) {
  const std::vector<float> y = model.predict(c.x).at(0).to<float>();
  ASSERT_EQ(y.size(), c.y.size());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], c.y[i], 2e-5 * (1 + std::fabs(c.y[i]))) << i;
}

class KerasWeights : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!Part::find({"files/hdf5", "HDF5", "tenon-hdf5", "libhdf5-dev"}).ok()) GTEST_SKIP() << "no hdf5.so";
  }
  TemporaryDirectory directory_;
};
class KerasImageWeights : public KerasWeights {};
INSTANTIATE_TEST_SUITE_P(Files, KerasImageWeights,
                         ::testing::Values("image.weights.h5", "image.keras", "image.h5", "image_keras2.h5"));

// Counts of 64 bits, and layers with numbers of another session.
TEST_F(KerasWeights, OfPublishedEfficientNetsAreTaken) {
  Sequential model({Input({4, 4, 3}), Rescaling(1.0 / 255), Normalization(),
                    Normalization({.mean = {0, 0, 0}, .variance = {0.229F, 0.224F, 0.225F}}),
                    Conv2D({.filters = 2, .kernel = 3, .use_bias = false, .name = "stem_conv"})});
  compile(model);
  model.load_weights(kFolder + "published_keras2.h5");
  expect_gives(model, case_of("published", {2, 4, 4, 3}));
  EXPECT_EQ(model.strategy().read<int32_t>("normalization/count"), std::vector<int32_t>{7});
}

TEST_P(KerasImageWeights, ModelGivesWhatKerasGives) {
  Sequential model = image_model();
  compile(model);
  const WarmStartReport report = model.load_weights(kFolder + GetParam(), LoadWeightsOptions());
  EXPECT_EQ(report.loaded.size(), 12u);
  EXPECT_EQ(report.fresh, std::vector<std::string>());
  EXPECT_EQ(report.left_over, std::vector<std::string>());
  expect_gives(model, case_of("image", {2, 6, 6, 2}));
}

TEST_P(KerasImageWeights, WarmStartTakesThem) {
  Sequential model = image_model();
  compile(model);
  const WarmStartReport report =
      model.strategy().warm_start({.ckpt_to_initialize_from = kFolder + GetParam(),
                                   .vars_to_warm_start = {{".*"}, VarsToWarmStart::Among::kWeights}});
  EXPECT_EQ(report.fresh, std::vector<std::string>());
  EXPECT_EQ(model.strategy().warm_started().loaded.size(), 12u);
  expect_gives(model, case_of("image", {2, 6, 6, 2}));
}

class KerasSequenceWeights : public KerasWeights {};
INSTANTIATE_TEST_SUITE_P(Files, KerasSequenceWeights,
                         ::testing::Values("sequence.weights.h5", "sequence_3.0.weights.h5"));

TEST_P(KerasSequenceWeights, ModelGivesWhatKerasGives) {
  Model model = sequence_model();
  compile(model);
  model.load_weights(kFolder + GetParam());
  expect_gives(model, case_of("sequence", {2, 4, 3}));
}

// By classes and their order alone, as Keras does it.
TEST_F(KerasWeights, FileThatNamesNoLayersIsLoaded) {
  Sequential model = image_model();
  compile(model);
  model.load_weights(kFolder + "image_3.0.weights.h5");
  expect_gives(model, case_of("image", {2, 6, 6, 2}));
}

// Where Keras looks: by class and place, whatever the names. The bytes are Keras's own.
void expect_written_as_keras_does(Model& model, const std::string& theirs, const std::string& ours) {
  model.load_weights(theirs);
  model.save_weights(ours);
  const Hdf5File a = Hdf5File::open(theirs).take(), b = Hdf5File::open(ours).take();
  const auto all = [](const Hdf5File& file) {
    std::map<std::string, std::string> out;
    for (const Hdf5Dataset& d : file.datasets()) {
      if (d.path.starts_with("optimizer") || d.path.find("seed") != std::string::npos) continue;
      std::string bytes(static_cast<size_t>(d.bytes), '\0');
      EXPECT_TRUE(file.read(d, std::as_writable_bytes(std::span(bytes))).ok());
      const std::string group = d.path.substr(0, d.path.rfind('/'));
      const auto* name = file.names(group, "name");
      out[d.path + (name ? " of " + name->at(0) : "")] = Shape(d.dims).str() + bytes;
    }
    return out;
  };
  EXPECT_EQ(all(a), all(b));
}

TEST_F(KerasWeights, ImageModelIsWrittenAsKerasWritesIt) {
  Sequential model = image_model();
  compile(model);
  expect_written_as_keras_does(model, kFolder + "image.weights.h5", directory_ / "a.weights.h5");
}

TEST_F(KerasWeights, WrittenOnesAreRead) {
  Model model = sequence_model(), other = sequence_model();
  compile(model);
  compile(other);
  model.load_weights(kFolder + "sequence.weights.h5");
  model.save_weights(directory_ / "a.weights.h5");
  other.load_weights(directory_ / "a.weights.h5");
  expect_gives(other, case_of("sequence", {2, 4, 3}));
}

TEST_F(KerasWeights, ReportSaysWhatDiffers) {
  Sequential model({Input({6, 6, 2}), Conv2D({.filters = 3, .kernel = 3, .name = "first"}), Flatten(),
                    Dense({.units = 3, .name = "head"}), Dense({.units = 2, .name = "last"})});
  compile(model);
  const WarmStartReport report =
      model.load_weights(kFolder + "image.weights.h5", {.by_name = true, .skip_mismatch = true});
  EXPECT_EQ(report.loaded,
            (std::map<std::string, std::string>{
                {"first/bias", "first/bias"}, {"first/kernel", "first/kernel"}, {"head/bias", "head/bias"}}));
  EXPECT_EQ(report.mismatched, std::vector<std::string>{"head/kernel"});
  EXPECT_EQ(report.fresh, (std::vector<std::string>{"head/kernel", "last/bias", "last/kernel"}));
  EXPECT_EQ(report.left_over.size(), 9u);
}

TEST_F(KerasWeights, RulesRenameAndTurn) {
  Sequential model({Input({2}), Dense({.units = 3})});
  compile(model);
  const std::string rules = directory_.write(
      "a.rules", "# PyTorch's\nfc\\.weight -> dense/kernel linear\n(f)c\\.(bias) -> dense/$2\n.*tracked -> drop\n");
  // "fc.weight" [3,2] 1..6, "fc.bias" 7..9, "bn.tracked" i64 1.
  const std::string header =
      R"({"fc.weight":{"dtype":"F32","shape":[3,2],"data_offsets":[8,32]},"fc.bias":{"dtype":"F32","shape":[3],"data_offsets":[32,44]},)"
      R"("bn.tracked":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})";
  std::string file;
  for (int shift = 0; shift < 64; shift += 8) file += static_cast<char>(header.size() >> shift & 0xff);
  file += header + std::string("\1\0\0\0\0\0\0\0", 8);
  for (const float x : {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f, 9.f}) file.append(reinterpret_cast<const char*>(&x), 4);
  const std::string path = directory_.write("a.safetensors", file);
  model.load_weights(path, {.rules = rules});
  EXPECT_EQ(model.strategy().read<float>("dense/kernel"), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(model.strategy().read<float>("dense/bias"), (std::vector<float>{7, 8, 9}));
}

}  // namespace
}  // namespace tenon

// Data of any numbers train the same: what the device lacks is converted for it.
#include <gtest/gtest.h>

#include <numeric>

#include "tenon/layer_classes.h"
#include "tenon/ops.h"
#include "unit/data/temporary_directory.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

constexpr int64_t kRows = 16;
const char* const kDevices[] = {"cpu", "cpu:units=8", "tpu-emulator:v2-8"};
const EvaluateOptions kSilent{.batch_size = kRows, .verbose = Verbose::kSilent};

// a, b, a, b, ..
template <class T>
Array alternating(T a, T b) {
  std::vector<T> values;
  for (int64_t i = 0; i < kRows; ++i) values.push_back(i % 2 == 0 ? a : b);
  return Array(values, {kRows, 1});
}

Sequential slope(const char* device) {
  Sequential model({Dense({.units = 1, .use_bias = false, .kernel_initializer = zeros()})});
  model.compile({.optimizer = SGD(0.5), .loss = "mse", .strategy = Strategy(device)});
  return model;
}

double trained_slope(Sequential& model) { return model.strategy().read("dense/kernel").item(); }

// y = w x with w = 0, x = 1, 2 and y = 3, 4: the loss is (9 + 16) / 2. Its gradient is -(3 + 8), so that a step of rate 0.5 gives
// w = 5.5, and then the loss is (2.5^2 + 7^2) / 2.
void expect_slope(const char* device, const Array& x, const Array& y) {
  SCOPED_TRACE(std::string(device) + " " + x.type().str() + " " + y.type().str());
  Sequential model = slope(device);
  const FitOptions fit{.batch_size = kRows, .verbose = Verbose::kSilent};
  EXPECT_EQ(model.fit(x, y, fit)["loss"][0], 12.5);
  EXPECT_EQ(trained_slope(model), 5.5);
  EXPECT_EQ(model.evaluate(x, y, kSilent).at("loss"), 27.625);
  EXPECT_EQ(model.predict(x)[0].to<float>()[1], 11);
  EXPECT_EQ(model.predict_on_batch(x)[0].to<float>()[0], 5.5);
  EXPECT_EQ(model.test_on_batch(x, y).at("loss"), 27.625);

  Sequential by_batch = slope(device);
  EXPECT_EQ(by_batch.train_on_batch(x, y).at("loss"), 12.5);
  EXPECT_EQ(trained_slope(by_batch), 5.5);

  Sequential by_dataset = slope(device);
  const Dataset data = Dataset::from_arrays({{"x", x}, {"y", y}}, {.batch_size = kRows});
  EXPECT_EQ(by_dataset.fit(data, fit)["loss"][0], 12.5);
  EXPECT_EQ(trained_slope(by_dataset), 5.5);
  EXPECT_EQ(by_dataset.evaluate(data, kSilent).at("loss"), 27.625);
}

TEST(DataTypes, OfAnyKindTrain) {
  for (const char* device : kDevices) {
    expect_slope(device, alternating<float>(1, 2), alternating<float>(3, 4));
    expect_slope(device, alternating<uint8_t>(1, 2), alternating<uint8_t>(3, 4));
    expect_slope(device, alternating<double>(1, 2), alternating<double>(3, 4));
    expect_slope(device, alternating<int32_t>(1, 2), alternating<int64_t>(3, 4));
  }
}

TEST(DataTypes, OfClassesAreIntegers) {
  for (const char* device : kDevices) {
    Sequential model({Dense({.units = 4, .kernel_initializer = zeros()})});
    model.compile({.loss = SparseCategoricalCrossentropy({.from_logits = true}), .strategy = Strategy(device)});
    EXPECT_NEAR(model.evaluate(alternating<float>(1, 2), alternating<uint8_t>(0, 3), kSilent).at("loss"), std::log(4),
                1e-6)
        << device;
  }
}

// Keras casts what its losses of classes are given: 0 and 3.7 are the classes 0 and 3.
template <class T>
void expect_classes(const char* device) {
  const Array given = alternating<T>(0, static_cast<T>(3.7));
  const auto made = [&](const char* loss) {
    Sequential model({Dense({.units = 4, .use_bias = false, .kernel_initializer = values_initializer({1, 2, 3, 5})})});
    model.compile({.loss = loss, .metrics = {"accuracy"}, .strategy = Strategy(device)});
    return model;
  };
  for (const char* loss : {"sparse_categorical_crossentropy", "circle"}) {
    Sequential whole = made(loss), floats = made(loss);
    const Array x = alternating<float>(0.1f, 0.2f);
    EXPECT_EQ(floats.evaluate(x, given, kSilent), whole.evaluate(x, alternating<int32_t>(0, 3), kSilent)) << device;
    EXPECT_EQ(floats.train_on_batch(x, given), whole.train_on_batch(x, alternating<int32_t>(0, 3))) << device;
  }
}

TEST(DataTypes, OfClassesMayBeFloats) {
  for (const char* device : kDevices) {
    expect_classes<float>(device);
    expect_classes<double>(device);
  }
}

// What it is given.
struct Witness : Layer {
  explicit Witness(DType* type) : seen(type) {}
  Tensor call(Tensor x) override {
    *seen = x.dtype();
    return cast(x, DType::kF32);
  }
  DType* seen;
};
struct Seeing : Model {
  explicit Seeing(DType* type) : witness(type) {}
  Tensor call(Tensor x) override { return witness(x); }
  Witness witness;
};

TEST(DataTypes, StayAsTheyAreWhereTheDeviceHasThem) {
  DType seen = DType::kNone;
  const auto predict = [&](const char* device) {
    Seeing model(&seen);
    model.compile({.strategy = Strategy(device)});
    model.predict(alternating<uint8_t>(1, 2));
    return seen;
  };
  EXPECT_EQ(predict("cpu"), DType::kU8);
  EXPECT_EQ(predict("tpu-emulator"), DType::kF32);
}

// Keras's layers multiply integers by their weights as numbers.
TEST(DataTypes, OfIntegersAreNumbersToLayersWithKernels) {
  const Array ints(std::vector<int32_t>{1, 2, 3, 4}, {1, 4});
  const auto sum = [](AnyLayer layer, const Array& x) {
    Sequential model({std::move(layer)});
    model.compile({.strategy = Strategy("cpu")});
    return model.predict(x)[0].to<float>();
  };
  EXPECT_EQ(sum(Dense({.units = 1, .kernel_initializer = ones()}), ints), std::vector<float>{10});
  EXPECT_EQ(
      sum(Conv1D({.filters = 1, .kernel = 2, .kernel_initializer = ones()}), Array(ints.to<int32_t>(), {1, 4, 1})),
      (std::vector<float>{3, 5, 7}));
  EXPECT_EQ(sum(Embedding({.input_dim = 5, .output_dim = 1, .embeddings_initializer = ones()}), ints),
            (std::vector<float>{1, 1, 1, 1}));
}

// Keras reads the rows 1, 2, 9 and 0 there.
TEST(DataTypes, OfEmbeddedNumbersMayBeFloats) {
  std::vector<float> rows(10);
  std::iota(rows.begin(), rows.end(), 0.0f);
  for (const char* device : kDevices) {
    Sequential model(
        {Input({4}),
         Embedding({.input_dim = 10, .output_dim = 1, .embeddings_initializer = values_initializer(rows)})});
    model.compile({.strategy = Strategy(device)});
    EXPECT_EQ(model.predict(Array(std::vector<float>{1.7f, 2.2f, 9.99f, -0.5f}, {1, 4}))[0].to<float>(),
              (std::vector<float>{1, 2, 9, 0}))
        << device;
  }
}

// 1/3 has the bits 0x3eaa'aaab, of which bfloat16 keeps the upper half, rounded: 0.333984375. As Keras assigns.
TEST(DataTypes, OfWeightsInAFileMayBeOtherFloats) {
  const TemporaryDirectory directory;
  const auto made = [](const char* policy, double value) {
    Sequential model({Input({1}), Dense({.units = 1, .kernel_initializer = constant_initializer(value)})});
    model.compile({.strategy = Strategy("cpu", {.dtype_policy = policy})});
    return model;
  };
  for (const std::string name : {"w", "w.safetensors"}) {
    Sequential narrow = made("bfloat16", 1.0 / 3), wide = made("float32", 0);
    narrow.save_weights(directory / name);
    wide.load_weights(directory / name);
    EXPECT_EQ(wide.strategy().read("dense/kernel").type(), (Type{DType::kF32, {1, 1}}));
    EXPECT_EQ(wide.strategy().read<float>("dense/kernel")[0], 0.333984375f);
    wide.save_weights(directory / name);
    Sequential back = made("bfloat16", 0);
    EXPECT_EQ(back.load_weights(directory / name, {.by_name = true}).loaded.size(), 2u);
    EXPECT_EQ(back.strategy().read("dense/kernel").type(), (Type{DType::kBF16, {1, 1}}));
    EXPECT_EQ(back.strategy().read<float>("dense/kernel")[0], 0.333984375f);
  }
}

TEST(Policies, OfAFunctionAreThoseOfPredict) {
  for (const std::string policy : {"float32", "mixed_bfloat16", "bfloat16"}) {
    SCOPED_TRACE(policy);
    const auto made = [] { return Sequential({Input({3}), Dense({.units = 8, .activation = tanh}), Dense(1)}); };
    std::vector<float> values(24);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7) / 7 - 0.4f;
    const Array x(values, {8, 3});
    Sequential predicting = made(), called = made();
    predicting.compile({.strategy = Strategy("cpu", {.dtype_policy = policy})});
    Function call = Strategy("cpu", {.dtype_policy = policy}).function([&](const Features& in) {
      return Outputs{{"y", cast(called(in["x"]), DType::kF32)}};
    });
    EXPECT_EQ(call({{"x", x}})["y"].to<float>(), predicting.predict(x)[0].to<float>());
  }
}

}  // namespace
}  // namespace tenon

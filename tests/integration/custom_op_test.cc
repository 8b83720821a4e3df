// A vendor's op in model code: example.so has a kernel for example.softsign, the other backends have none.
#include "tenon/custom_op.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/ops.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

CustomRules softsign_rules() {
  return {.gradient = [](const CustomGradient& g) { return Tensors{g.gradients[0] / square(1.0 + abs(g.inputs[0]))}; },
          .decomposition = [](const Tensors& in) { return Tensors{in[0] / (1.0 + abs(in[0]))}; }};
}

Tensor vendor_softsign(Tensor x, CustomRules rules = softsign_rules()) {
  return custom_op("example.softsign", {x}, {}, {x.type()}, std::move(rules))[0];
}

std::vector<float> values_of(const std::string& device, const std::function<Tensor(Tensor)>& f,
                             const std::vector<float>& x) {
  Strategy strategy(device);
  Function run = strategy.function([&](const Features& in) { return Outputs{{"y", f(in["x"])}}; });
  return run({{"x", Array(x, {static_cast<int64_t>(x.size()), 1})}})["y"].to<float>();
}

const std::vector<float> kX = {-3, -1, 0, 1, 3, 0.5f, -0.5f, 9};

std::vector<float> of_each(const std::function<float(float)>& f) {
  std::vector<float> out;
  for (const float x : kX) out.push_back(f(x));
  return out;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected, float within = 1e-5f) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], within) << i;
}

const char* const kDevices[] = {"example", "example:units=2", "cpu", "cpu:units=2", "tpu-emulator:v2-8"};

TEST(VendorOp, IsTakenByTheDeviceThatHasIt) {
  const CustomRules sevens{.decomposition = [](const Tensors& in) { return Tensors{full_like(in[0], 7)}; }};
  const auto f = [&](Tensor x) { return vendor_softsign(x, sevens); };
  const std::vector<float> kernel = of_each([](float x) { return x / (1 + std::fabs(x)); });
  expect_near(values_of("example", f, kX), kernel);
  expect_near(values_of("example:units=2", f, kX), kernel);
  expect_near(values_of("cpu", f, kX), of_each([](float) { return 7.0f; }));
}

TEST(VendorOp, MeansTheSameOnEveryDevice) {
  for (const char* device : kDevices) {
    SCOPED_TRACE(device);
    expect_near(values_of(
                    device, [](Tensor x) { return vendor_softsign(x); }, kX),
                of_each([](float x) { return x / (1 + std::fabs(x)); }));
  }
}

TEST(VendorOp, IsDifferentiatedByItsFunctionOrItsDecomposition) {
  CustomRules composed = softsign_rules();
  composed.gradient = nullptr;
  for (const char* device : kDevices)
    for (const CustomRules& rules : {softsign_rules(), composed}) {
      SCOPED_TRACE(device);
      const auto slope = [&](Tensor x) { return gradients(reduce_sum(vendor_softsign(x, rules)), {x})[0]; };
      const auto f = [](float x) { return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x))); };
      expect_near(values_of(device, slope, kX), of_each(f));
    }
}

TEST(VendorOp, WithoutADecompositionIsRefusedWhereThereIsNoKernel) {
  const auto f = [](Tensor x) { return vendor_softsign(x, {}); };
  expect_near(values_of("example", f, kX), of_each([](float x) { return x / (1 + std::fabs(x)); }));
  for (const std::string device : {"cpu", "tpu-emulator:v2-8"}) {
    const std::string message = message_of([&] { values_of(device, f, kX); });
    EXPECT_NE(message.find("cannot run 1 of 1 nodes: example.softsign 'example.softsign': "), std::string::npos)
        << message;
    EXPECT_NE(message.find(", and it has no decomposition"), std::string::npos) << message;
  }
}

TEST(VendorOp, OfAnAttributeThatTheKernelDoesNotKnowIsLeftToItsDecomposition) {
  const auto f = [](Tensor x) {
    return custom_op("example.other", {x}, {{"alpha", 2.0}}, {x.type()},
                     {.decomposition = [](const Tensors& in) { return Tensors{in[0] * 2.0}; }})[0];
  };
  for (const char* device : kDevices) expect_near(values_of(device, f, kX), of_each([](float x) { return 2 * x; }));
}

TEST(VendorOp, TakesItsDecompositionForDynamicDimensions) {
  for (const char* device : {"example", "cpu"}) {
    SCOPED_TRACE(device);
    Strategy strategy(device);
    Function run = strategy.function(
        [](const Features& in) {
          return Outputs{{"y", reduce_sum(vendor_softsign(in["x"]))}};
        },
        {.dynamic_shapes = {{"x", {{0, {"rows", 8}}}}}});
    for (const int64_t n : {3, 8})
      EXPECT_NEAR(run({{"x", Array(std::vector<float>(static_cast<size_t>(n), 1), {n})}})["y"].item(), 0.5 * n, 1e-5);
  }
}

struct VendorSoftsign : LayerOf<VendorSoftsign> {
  Tensor call(Tensor x) override { return vendor_softsign(x); }
};

// y = 2 a - b through a layer of one's own; the weights that fit() leaves.
std::vector<float> trained(const std::string& device, const std::string& file) {
  Sequential model({Dense({.units = 4, .name = "in"}), VendorSoftsign(), Dense({.units = 1, .name = "out"})});
  model.compile({.optimizer = Adam(0.05), .loss = "mse", .strategy = Strategy(device, {.seed = 3})});
  std::vector<float> x, y;
  for (int i = 0; i < 32; ++i) {
    x.insert(x.end(), {static_cast<float>(i % 8) / 8, static_cast<float>(i % 5) / 5});
    y.push_back(2 * x[x.size() - 2] - x.back());
  }
  const Array inputs(x, {32, 2});
  model.fit(inputs, Array(y, {32, 1}), {.batch_size = 16, .epochs = 5, .verbose = Verbose::kSilent, .shuffle = false});
  model.save(file);
  return model.predict(inputs)[0].to<float>();
}

TEST(VendorOp, TrainsInLayersOnEveryDeviceAlike) {
  const std::string folder = testing::TempDir() + "custom_op_test";
  std::filesystem::create_directories(folder);
  const std::vector<float> expected = trained("cpu", folder + "/cpu");
  for (const std::string device : kDevices) {
    SCOPED_TRACE(device);
    const bool rounds = device.starts_with("tpu");  // the factors of products, to bf16
    expect_near(trained(device, folder + "/other"), expected, rounds ? 4e-3f : 1e-5f);
  }
  std::filesystem::remove_all(folder);
}

TEST(VendorOp, GoesOnFromACheckpointOnAnotherDevice) {
  const std::string folder = testing::TempDir() + "custom_op_checkpoint";
  std::filesystem::create_directories(folder);
  const std::vector<float> expected = trained("example", folder + "/model");
  Sequential model({Dense({.units = 4, .name = "in"}), VendorSoftsign(), Dense({.units = 1, .name = "out"})});
  model.compile({.optimizer = Adam(0.05), .loss = "mse", .strategy = Strategy("cpu")});
  model.load(folder + "/model");
  std::vector<float> x;
  for (int i = 0; i < 32; ++i) x.insert(x.end(), {static_cast<float>(i % 8) / 8, static_cast<float>(i % 5) / 5});
  expect_near(model.predict(Array(x, {32, 2}))[0].to<float>(), expected);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tenon

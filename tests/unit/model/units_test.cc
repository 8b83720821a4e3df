// What several units, each with a part of the batch, give together: as one unit with all of it.
#include <gtest/gtest.h>

#include <cmath>

#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/masking.h"

namespace tenon {
namespace {

const char* const kUnitDevices[] = {"cpu", "cpu:units=8"};

Array sixteen() {
  std::vector<float> v;
  for (int i = 0; i < 16; ++i) v.push_back(static_cast<float>(i % 5) - 2);
  return Array(v, {16, 1});
}

// With y = w x, w = 1 and targets 0 the loss is 34, the sum of x^2, and its gradient 68. Keras under a strategy sums
// over the whole batch: it divides means by the number of replicas, not sums, and adds up gradients.
TEST(Units, SumALossOverTheWholeBatch) {
  for (const char* device : kUnitDevices) {
    Sequential model({Dense({.units = 1, .use_bias = false, .kernel_initializer = ones()})});
    model.compile({.optimizer = SGD(0.001),
                   .loss = MeanSquaredError({.reduction = Reduction::kSum}),
                   .strategy = Strategy(device)});
    const Array zero(std::vector<float>(16), {16, 1});
    EXPECT_NEAR(model.fit(sixteen(), zero, {.batch_size = 16, .verbose = Verbose::kSilent})["loss"][0], 34, 1e-4)
        << device;
    EXPECT_NEAR(model.strategy().read<float>("dense/kernel")[0], 1 - 0.068, 1e-6) << device;
    EXPECT_NEAR(model.evaluate(sixteen(), zero, {.batch_size = 16, .verbose = Verbose::kSilent}).at("loss"),
                34 * 0.932 * 0.932, 1e-3)
        << device;
  }
}

TEST(Units, KeepTheRowsOfSeveralSteps) {
  for (const char* device : kUnitDevices) {
    const Strategy strategy(device);
    Function f = strategy.function(
        [](const Features& in) {
          const Tensor count = variable(in["x"], "count", {}, zeros(), false), next = count + 1.0;
          assign(count, next);
          return Outputs{{"rows", in["x"] * next},
                         {"positive", compare(in["x"], zeros_like(in["x"]), CompareKind::kGt)}};
        },
        {.steps_per_call = 4});
    const Results found = f.repeat(3, {{"x", sixteen()}});
    ASSERT_EQ(found["rows"].shape(), (Shape{3, 16, 1})) << device;
    const std::vector<float> rows = found["rows"].to<float>(), one = sixteen().to<float>();
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rows[i], one[i % 16] * static_cast<float>(i / 16 + 1)) << device << " " << i;
    EXPECT_EQ(found["positive"].shape(), (Shape{3, 16, 1})) << device;
  }
}

// y = 2 x + 1 for 27 rows: over 8 units batches of 8 leave 3, which no unit count divides.
TEST(Units, PredictSeveralBatchesACall) {
  std::vector<float> x;
  for (int i = 0; i < 27; ++i) x.push_back(static_cast<float>(i % 7) - 3);
  for (const char* device : {"cpu", "cpu:units=8", "tpu-emulator:v2-8"})
    for (const int batch : {8, 5})
      for (const int steps : {1, 2, 3})
        for (const bool bounded : {false, true}) {
          Sequential model({Dense({.units = 1, .kernel_initializer = constant_initializer(2), .bias_initializer = ones()})});
          model.compile(
              {.steps_per_execution = steps, .bounded_batch = bounded, .strategy = Strategy(device)});
          const std::vector<float> y = model.predict(Array(x, {27, 1}), {.batch_size = batch})[0].to<float>();
          ASSERT_EQ(y.size(), x.size()) << device;
          for (size_t i = 0; i < x.size(); ++i)
            EXPECT_EQ(y[i], 2 * x[i] + 1) << device << " batches of " << batch << ", " << steps << " a call " << bounded;
        }
}

// Rows 0 and 2 on one unit, 4 and 10 on the other: of all the mean is 4 and the variance 14; of each alone 1 and 1, 7 and 9.
TEST(Units, NormalizeByTheMomentsOfTheWholeBatchWhereTheyAreSynchronized) {
  const Array x({0.0f, 2.0f, 4.0f, 10.0f}, {4, 1});
  for (const bool synchronized : {false, true})
    for (const bool masked : {false, true}) {
      Strategy strategy("cpu:units=2");
      BatchNormalization norm({.momentum = 0, .epsilon = 0, .synchronized = synchronized});
      Function f = strategy.function(
          [&](const Features& in) {
            const Tensor rows = reshape(in["x"], {in["x"].dim(0), 1, 1});
            if (masked) set_mask(rows, full(*rows.graph(), DType::kBool, {rows.dim(0), 1}, 1));
            const Tensor y = norm(masked ? rows : in["x"]);
            return Outputs{{"y", reshape(y, {y.dim(0), 1})}};
          },
          {.mode = Mode::kTrain});
      const std::vector<float> y = f({{"x", x}})["y"].to<float>();
      const double root = std::sqrt(14.0);
      const std::vector<double> expected = synchronized
                                               ? std::vector<double>{-4 / root, -2 / root, 0, 6 / root}
                                               : std::vector<double>{-1, 1, -1, 1};
      for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], expected[i], 1e-5) << synchronized << masked << i;
      EXPECT_NEAR(strategy.read<float>("batch_normalization/moving_mean")[0], 4, 1e-5);
      EXPECT_NEAR(strategy.read<float>("batch_normalization/moving_variance")[0], synchronized ? 14 : 5, 1e-4);
    }
}

}  // namespace
}  // namespace tenon

// What several units do with an optimizer's gradients and state, by options of the Strategy.
#include <gtest/gtest.h>

#include "tenon/optimizers.h"
#include "tenon/strategy.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

// The variable w[2] after one step of SGD at rate 1 from 0; the gradient on unit u is row u of `rows`, of which the last units' are 0.
Floats after_a_step(const std::string& device, const StrategyOptions& options, const Floats& rows) {
  const Strategy strategy(device, options);
  const int64_t units = strategy.num_replicas_in_sync();
  Floats all = rows;
  all.resize(static_cast<size_t>(2 * units));
  Function step = strategy.function([](const Features& in) {
    const Tensor w = variable(in["x"], "w", {2}, constant_initializer(0));
    SGD(1.0).apply({reduce_sum(in["x"], {0})}, {w});
    return Outputs{};
  });
  step({{"x", Array(all, {units, 2})}});
  Floats out = strategy.read<float>("w");
  for (float& w : out) w *= -static_cast<float>(units);  // the sum of the gradients
  return out;
}

constexpr const char* kDevices[] = {"cpu:units=4", "tpu-emulator:v2-8"};
class OnUnits : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(ReplicaOptions, OnUnits, testing::ValuesIn(kDevices));

// bf16 has 8 bits: 1 + 2^-9 becomes 1, and so does each of 1 + 2^-8 + 2^-8 + 2^-8 where every sum is rounded. Added up before it is
// rounded that is 129.5 / 128, of which the even neighbour is 130 / 128.
TEST_P(OnUnits, GradientsGoInBf16AndAreAddedUpInF32) {
  const float e = 0x1p-8f;
  const Floats rows{1, 1 + e / 2, e, 0, e, 0, e, 0};
  EXPECT_EQ(after_a_step(GetParam(), {.all_reduce_dtype = DType::kBF16}, rows), (Floats{130.0f / 128, 1}));
  EXPECT_EQ(after_a_step(GetParam(), {}, rows), (Floats{1 + 3 * e, 1 + e / 2}));
}

TEST(ReplicaOptions, OneUnitSendsNothingAndRoundsNothing) {
  const Floats rows{1 + 0x1p-9f, 0};
  EXPECT_EQ(after_a_step("cpu", {.all_reduce_dtype = DType::kBF16}, rows), rows);
}

TEST(ReplicaOptions, OtherDtypesAreRefused) {
  EXPECT_EQ(message_of([] { Strategy("cpu", {.all_reduce_dtype = DType::kF16}); }),
            "StrategyOptions.all_reduce_dtype is f16, expected bf16, or none");
}

}  // namespace
}  // namespace tenon

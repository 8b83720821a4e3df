// Strategies by the names that TPU users know, and which device they are on.
#include <gtest/gtest.h>

#include "tenon/strategy.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

TEST(DeviceChoice, ListsTheUnitsOfATpu) {
  const TPUStrategy strategy("tpu-emulator:v2-8");
  const std::vector<UnitInfo> units = strategy.logical_devices();
  ASSERT_EQ(units.size(), 8u);
  EXPECT_EQ(strategy.num_replicas_in_sync(), 8);
  for (size_t i = 0; i < units.size(); ++i) {
    EXPECT_EQ(units[i].kind, "accelerator");
    EXPECT_TRUE(units[i].name.starts_with("TPU:" + std::to_string(i))) << units[i].name;
  }
}

// Systems D3: a batch of 128 on each of 8 cores, and the learning rate scaled with it.
TEST(DeviceChoice, ScalesBatchAndLearningRateWithTheUnits) {
  const Strategy one("cpu"), eight("tpu-emulator:v2-8");
  EXPECT_EQ(one.global_batch_size(128), 128);
  EXPECT_EQ(eight.global_batch_size(128), 1024);
  EXPECT_DOUBLE_EQ(one.scaled_learning_rate(1e-3), 1e-3);
  EXPECT_DOUBLE_EQ(eight.scaled_learning_rate(1e-3), 8e-3);
}

TEST(DeviceChoice, StrategiesByNameRefuseOtherDevices) {
  EXPECT_EQ(OneDeviceStrategy("cpu").num_replicas_in_sync(), 1);
  EXPECT_EQ(message_of([] { OneDeviceStrategy("cpu:units=2"); }),
            "OneDeviceStrategy: cpu:units=2 has 2 units, expected 1");
  EXPECT_EQ(message_of([] { TPUStrategy("cpu"); }), "TPUStrategy: cpu is a cpu, expected a TPU");
}

TEST(DeviceChoice, TakesTheFirstThatIsHere) {
  const ResolvedDevice tpu = resolve_device({"tpu-emulator:v2-8", "cpu"}).take();
  EXPECT_EQ(tpu.device, "tpu-emulator:v2-8");
  EXPECT_EQ(tpu.replicas, 8);
  EXPECT_TRUE(tpu.passed_over.empty());
  const ResolvedDevice cpu = resolve_device({"tpu", "no-such-backend", "cpu", "gpu"}).take();
  EXPECT_EQ(cpu.kind, "cpu");
  EXPECT_EQ(cpu.replicas, 1);
  ASSERT_EQ(cpu.passed_over.size(), 2u);
  EXPECT_EQ(cpu.passed_over[0].path, "tpu");
  EXPECT_EQ(cpu.passed_over[1].path, "no-such-backend");
  EXPECT_TRUE(cpu.searched.starts_with("looked for tpu, no-such-backend, cpu, gpu; found ")) << cpu.searched;
}

TEST(DeviceChoice, SaysWhatIsHereWhereNoneOfThemIs) {
  const Status none = resolve_device({"tpu", "no-such-backend"}).status();
  EXPECT_EQ(none.code(), Code::kUnavailable);
  EXPECT_NE(none.message().find("cpu (cpu)"), std::string::npos) << none.message();
  EXPECT_NE(none.message().find("; tpu: there is none; no-such-backend: "), std::string::npos) << none.message();
}

TEST(DeviceChoice, ScopesNest) {
  EXPECT_FALSE(Strategy::Scope::innermost());
  const Strategy outer("cpu"), inner("cpu:units=2");
  {
    const auto first = outer.scope();
    {
      const auto second = inner.scope();
      EXPECT_EQ(Strategy::Scope::innermost()->device(), "cpu:units=2");
    }
    EXPECT_EQ(Strategy::Scope::innermost()->device(), "cpu");
  }
  EXPECT_FALSE(Strategy::Scope::innermost());
}

}  // namespace
}  // namespace tenon

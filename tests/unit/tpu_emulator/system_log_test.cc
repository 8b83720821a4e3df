// The lines of a TPU system in the order in which TPUEstimator logged them on a v3-8.
#include "system_log.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

struct Lines {
  Lines() {
    host.ctx = this;
    host.log = [](void* ctx, int32_t level, const char* text) {
      Lines& lines = *static_cast<Lines*>(ctx);
      lines.all.emplace_back(text);
      if (level >= TENON_LOG_INFO) lines.told.emplace_back(text);
    };
  }
  tenon_host host{};
  std::vector<std::string> all, told;  // those that are more than details
};

tpu::Machine v3_8() {
  tpu::Machine m;
  m.name = "v3-8";
  return m;
}

TEST(SystemLog, ListsTheDevicesOfEachHost) {
  Lines lines;
  tpu::SystemLog(lines.host).found(v3_8(), 0);
  ASSERT_EQ(lines.all.size(), 5u + 10u);
  EXPECT_EQ(lines.all[1], "Found TPU system:");
  EXPECT_EQ(lines.all[2], "*** Num TPU Cores: 8");
  EXPECT_EQ(lines.all[3], "*** Num TPU Workers: 1");
  EXPECT_EQ(lines.all[4], "*** Num TPU Cores Per Worker: 8");
  EXPECT_EQ(lines.all[5].rfind(
                "*** Available Device: _DeviceAttributes(/job:worker/replica:0/task:0/device:CPU:0, CPU, -1, ", 0),
            0u);
  for (int core = 0; core < 8; ++core)
    EXPECT_EQ(
        lines.all[6 + core].rfind("*** Available Device: _DeviceAttributes(/job:worker/replica:0/task:0/device:TPU:" +
                                      std::to_string(core) + ", TPU, 17179869184, ",
                                  0),
        0u);
  EXPECT_EQ(
      lines.all[14].rfind("*** Available Device: _DeviceAttributes(/job:worker/replica:0/task:0/device:TPU_SYSTEM:0, "
                          "TPU_SYSTEM, 17179869184, ",
                          0),
      0u);
}

TEST(SystemLog, InitialisesOnceFeedsEachCallAndShutsDown) {
  Lines lines;
  tpu::SystemLog log(lines.host);
  log.found(v3_8(), 6.6);
  lines.all.clear();
  log.begin_call(1);
  log.end_call(1, 1, 0.001, 0.5);
  log.begin_call(234);
  log.end_call(1, 234, 0.001, 2.34);
  log.shut_down();
  log.shut_down();
  const std::vector<std::string> expected{
      "Init TPU system", "Initialized TPU in 7 seconds", "Starting infeed thread controller.",
      "Starting outfeed thread controller.", "Enqueue next (1) batch(es) of data to infeed.",
      "Dequeue next (1) batch(es) of data from outfeed.", "Outfeed finished for iteration (0, 0)",
      "Enqueue next (234) batch(es) of data to infeed.", "Dequeue next (234) batch(es) of data from outfeed.",
      "Outfeed finished for iteration (1, 233)",
      // the first call, which also makes the memory, does not count
      "step time: 1.000 ms predicted for a TPU v3-8; 10.000 ms measured on this machine, which emulates it (mean of "
      "234 steps)",
      "Stop infeed thread controller", "Shutting down InfeedController thread.",
      "InfeedController received shutdown signal, stopping.", "Infeed thread finished, shutting down.",
      "infeed marked as finished", "Stop output thread controller", "Shutting down OutfeedController thread.",
      "OutfeedController received shutdown signal, stopping.", "Outfeed thread finished, shutting down.",
      "outfeed marked as finished", "Shutdown TPU system."};
  EXPECT_EQ(lines.all, expected);
  EXPECT_EQ(lines.told, std::vector<std::string>{expected[10]});
}

TEST(SystemLog, TrainingAndEvaluationHaveTimesOfTheirOwn) {
  Lines lines;
  tpu::SystemLog log(lines.host);
  log.found(v3_8(), 0);
  log.end_call(1, 10, 0.002, 0.1);
  log.end_call(2, 4, 0.003, 0.2);
  ASSERT_EQ(
      lines.all[lines.all.size() - 1],
      "step time: 2.000 ms predicted for a TPU v3-8; 10.000 ms measured on this machine, which emulates it (mean of "
      "10 steps)");
}

TEST(SystemLog, WithoutACallThereIsNothingToShutDown) {
  Lines lines;
  tpu::SystemLog log(lines.host);
  log.shut_down();
  EXPECT_TRUE(lines.all.empty());
}

}  // namespace

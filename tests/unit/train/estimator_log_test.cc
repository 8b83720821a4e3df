// The Estimator's log: numbers as NumPy prints them, the order of the lines, what a device logs among them.
#include "train/estimator_log.h"

#include <set>
#include <thread>

#include "backend/host/device_log.h"
#include "tenon/devices.h"
#include "train/model_function.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

using Lines = std::vector<std::string>;

TEST(EstimatorLog, NumbersAreThoseOfNumPy) {
  // str(numpy.float32(x))
  EXPECT_EQ(estimator_log::number(4.462118f), "4.462118");
  EXPECT_EQ(estimator_log::number(0.40743852f), "0.40743852");
  EXPECT_EQ(estimator_log::number(116.58184f), "116.58184");
  EXPECT_EQ(estimator_log::number(2), "2.0");
  EXPECT_EQ(estimator_log::number(0), "0.0");
  EXPECT_EQ(estimator_log::number(1e-5), "1e-05");
  EXPECT_EQ(estimator_log::number(-1.5e20), "-1.5e+20");
  EXPECT_EQ(estimator_log::number(16777216), "16777216.0");
  EXPECT_EQ(estimator_log::number(std::nan("")), "nan");
  EXPECT_EQ(estimator_log::number(-INFINITY), "-inf");
}

TEST(EstimatorLog, SaysTheLossOfTheFirstStepAndOfEachSoManyAfterIt) {
  const std::vector<float> losses(20, 0.5f);
  estimator_log::Losses log(20, false, 8);
  EXPECT_EQ(log.after_call(0, losses), Lines{"loss = 0.5, step = 1"});
  const Lines second = log.after_call(20, losses);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_TRUE(second[0].starts_with("global_step/sec: ")) << second[0];
  EXPECT_TRUE(second[1].starts_with("loss = 0.5, step = 21 (") && second[1].ends_with(" sec)")) << second[1];
  EXPECT_TRUE(log.after_call(40, std::span(losses).first(0)).empty());
  EXPECT_TRUE(estimator_log::Losses(0, false, 8).after_call(0, losses).empty());
}

TEST(EstimatorLog, OnATpuTheLastStepOfACallSpeaksForIt) {
  const std::vector<float> losses{3, 2, 1};
  estimator_log::Losses log(6, true, 8);
  EXPECT_EQ(log.after_call(0, losses), Lines{"loss = 1.0, step = 3"});
  EXPECT_TRUE(log.after_call(3, losses).empty());
  const Lines third = log.after_call(6, losses);
  ASSERT_EQ(third.size(), 3u);
  EXPECT_TRUE(third[0].starts_with("loss = 1.0, step = 9 (")) << third[0];
  EXPECT_TRUE(third[1].starts_with("global_step/sec: ")) << third[1];
  EXPECT_TRUE(third[2].starts_with("examples/sec: ")) << third[2];
}

TEST(EstimatorLog, CountsEvaluationsByTenthsFromTwentyOn) {
  EXPECT_EQ(estimator_log::evaluations(0, 2, 2), (Lines{"Evaluation [1/2]", "Evaluation [2/2]"}));
  EXPECT_EQ(estimator_log::evaluations(3, 4, 0), Lines{"Evaluation [4]"});
  EXPECT_EQ(estimator_log::evaluations(0, 25, 25).size(), 13u);  // each second, and the last
  EXPECT_EQ(estimator_log::evaluations(0, 40, 40),
            (Lines{"Evaluation [4/40]", "Evaluation [8/40]", "Evaluation [12/40]", "Evaluation [16/40]",
                   "Evaluation [20/40]", "Evaluation [24/40]", "Evaluation [28/40]", "Evaluation [32/40]",
                   "Evaluation [36/40]", "Evaluation [40/40]"}));
}

TEST(EstimatorLog, TrainingGoesOnAfterTheDeviceWasClosed) {
  RunConfig config = cpu("");
  config.log_lines = LogLines::kEstimator;
  Estimator closing(small_model, config), staying(small_model, cpu(""));
  Lines lines;
  closing.set_events({.on_info = [&](const std::string& line) { lines.push_back(line); }});
  const Dataset data = examples(12, training_input(4));
  for (Estimator* e : {&closing, &staying})
    for (int i = 0; i < 3; ++i) check(e->train({.input = data, .steps = 3}).status());
  EXPECT_EQ(closing.variables_hash().take(), staying.variables_hash().take());
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "training_loop marked as finished"), 3);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const auto& l) { return l.starts_with("Using config: "); }),
            1);
  EXPECT_EQ(closing.evaluate({.input = examples(8, evaluation_input(4))}).take(),
            staying.evaluate({.input = examples(8, evaluation_input(4))}).take());
}

TEST(EstimatorClose, KeepsWhatNoCheckpointHas) {
  Estimator closing(small_model, cpu("")), staying(small_model, cpu(""));
  const Dataset data = examples(12, training_input(4));
  check(closing.close());  // nothing was opened
  for (Estimator* e : {&closing, &staying}) check(e->train({.input = data, .steps = 3}).status());
  check(closing.close());
  EXPECT_EQ(closing.global_step().take(), 3);
  EXPECT_EQ(closing.variables_hash().take(), staying.variables_hash().take());
  for (Estimator* e : {&closing, &staying}) check(e->train({.input = data, .steps = 3}).status());
  EXPECT_EQ(closing.global_step().take(), 6);
  EXPECT_EQ(closing.variables_hash().take(), staying.variables_hash().take());
}

TEST(DeviceLog, TellsLinesInOrderOnItsOwnThread) {
  Lines lines;
  std::set<std::thread::id> threads;
  DeviceLog::write("nobody listens");
  {
    DeviceLog log([&](const std::string& line, bool detail) {
      lines.push_back(detail ? line + ", in detail" : line);
      threads.insert(std::this_thread::get_id());
    });
    DeviceLog::write("first");
    EXPECT_EQ(lines, Lines{"first"});
    std::thread([] { DeviceLog::write("second", true), DeviceLog::write("third"); }).join();
    EXPECT_EQ(lines, Lines{"first"});
    DeviceLog::write("fourth");
    EXPECT_EQ(lines, (Lines{"first", "second, in detail", "third", "fourth"}));
    std::thread([] { DeviceLog::write("fifth"); }).join();
  }
  EXPECT_EQ(lines.back(), "fifth");
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(TpuConfig, IsHeldAgainstADeviceOfSeveralUnits) {
  const Dataset data = examples(16, training_input(8));
  const auto trained = [&](const char* device, const TPUConfig& tpu) {
    RunConfig config;
    config.device = device;
    config.tpu = tpu;
    return Estimator(small_model, config).train({.input = data, .max_steps = 2}).status().message();
  };
  EXPECT_EQ(trained("cpu:units=8", {}), "");
  EXPECT_EQ(trained("cpu:units=8", {.num_shards = 8}), "");
  EXPECT_EQ(trained("cpu:units=8", {.num_shards = 4}), "TPUConfig.num_shards is 4, device 'cpu:units=8' has 8 cores");
  EXPECT_EQ(trained("cpu", {.num_shards = 8}), "");  // what was written for a TPU
  EXPECT_EQ(trained("cpu:units=2", {.num_cores_per_replica = 2}),
            "TPUConfig.num_cores_per_replica is 2, expected 0 or 1: a model is not dealt over cores");
  EXPECT_EQ(trained("cpu:units=2", {.per_host_input_for_training = static_cast<InputPipelineConfig>(6)}),
            "TPUConfig.per_host_input_for_training is 6, expected 1 to 5");
  EXPECT_EQ(trained("cpu:units=2", {.iterations_per_loop = -1}),
            "TPUConfig.iterations_per_loop is -1, expected 0 to 1048576");
}

TEST(SoftPlacement, IsASettingOfTheCompiler) {
  RunConfig config;
  EXPECT_FALSE(compile_options(config, 3).soft_placement);
  config.soft_placement = true;
  EXPECT_TRUE(compile_options(config, 3).soft_placement);
  EXPECT_EQ(compile_options(config, 3).max_iterations, 3);
}

TEST(ResolveDevice, FallsBackFromTpuToCpuAndSaysSo) {
  const ResolvedDevice tpu = resolve_device("tpu").take();
  EXPECT_NE(tpu.kind, "");
  EXPECT_FALSE(tpu.emulated);
  EXPECT_TRUE(tpu.searched.starts_with("looked for a TPU, a GPU, a CPU; found ")) << tpu.searched;
  EXPECT_NE(tpu.searched.find("cpu (cpu)"), std::string::npos) << tpu.searched;
  EXPECT_EQ(resolve_device("auto").take().device, tpu.device);
  const ResolvedDevice eight = resolve_device("cpu:units=8").take();
  EXPECT_EQ(eight.device, "cpu:units=8");
  EXPECT_EQ(eight.replicas, 8);
  EXPECT_EQ(resolve_device("cpu").take().replicas, 1);
  EXPECT_FALSE(resolve_device("nothing").ok());
  EXPECT_FALSE(resolve_device("cpu:nonsense").ok());
}

TEST(ResolveDevice, TheEstimatorSaysWhatItTookInOneLine) {
  RunConfig config;
  config.device = "tpu";
  Estimator estimator(small_model, config);
  Lines lines;
  estimator.set_events({.on_info = [&](const std::string& line) { lines.push_back(line); }});
  check(estimator.train({.input = examples(8, training_input(4)), .max_steps = 1}).status());
  ASSERT_GE(lines.size(), 1u);
  const ResolvedDevice found = resolve_device("tpu").take();
  EXPECT_EQ(lines[0], found.searched + "; took " + found.device + ", 1 replica in sync");
}

}  // namespace
}  // namespace tenon

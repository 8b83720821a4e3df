// Preflight of a user's own model: against a backend whose numbers stand in oracle.cc, and against the TPU emulator.
#include "tenon/preflight.h"

#include <gtest/gtest.h>

#include <thread>

namespace tenon {
namespace {

// 4 numbers to 3 classes.
EstimatorSpec small(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  const Tensor logits = dense(features["point"], {.units = 3});
  EstimatorSpec spec{.mode = mode, .loss = sparse_categorical_crossentropy(labels, logits, {.from_logits = true})};
  if (mode == Mode::kTrain) spec.train_op = minimize(Adam(0.01), spec.loss);
  return spec;
}

const std::vector<FeatureSpec> kPoint{{"point", {DType::kF32, {4}}}, {"label", {DType::kI32, {}}}};

const PlannedAllocation* find_allocation(const Preflight& p, const std::string& name) {
  for (const PlannedAllocation& a : p.memory.allocations)
    if (a.name == name) return &a;
  return nullptr;
}

TEST(Preflight, SaysWhatTheDevicePredicts) {
  const Preflight p = preflight(small, {}, kPoint, "oracle", {.batch_size = 50, .iterations_per_loop = 400}).take();
  EXPECT_EQ(p.verdict, Verdict::kAccepted);
  EXPECT_TRUE(p.status.ok());
  EXPECT_EQ(p.unit_batch_size, 25);
  EXPECT_EQ(p.parameters, 4 * 3 + 3);
  EXPECT_EQ(p.step.machine, "oracle-2");
  EXPECT_EQ(p.step.software, "Delphi 1.0");
  EXPECT_TRUE(p.step.validated);
  EXPECT_EQ(p.step.bottleneck, "matrix unit");
  EXPECT_EQ(p.step.advice, "ask again\nask another");
  EXPECT_EQ(p.step.units, 2);
  EXPECT_EQ(p.step.hosts, 1);
  EXPECT_DOUBLE_EQ(p.step.step_ms, 2.5);
  EXPECT_DOUBLE_EQ(p.step.device_ms, 2);
  EXPECT_DOUBLE_EQ(p.step.infeed_ms, 0.7);
  EXPECT_DOUBLE_EQ(p.step.outfeed_ms, 0.001);
  EXPECT_DOUBLE_EQ(p.step.host_ms, 0.4);  // 400 iterations
  EXPECT_DOUBLE_EQ(p.step.collective_ms, 0.3);
  EXPECT_DOUBLE_EQ(p.step.update_ms, 0.5);
  EXPECT_DOUBLE_EQ(p.step.matrix_utilisation(), 0.5);  // 4e6 of 3.2e9 a second in 2.5 ms
  EXPECT_DOUBLE_EQ(p.examples_per_second(), 20000);    // 50 in 2.5 ms
}

TEST(Preflight, NamesTheKernelsByTheModelsNodes) {
  const Preflight p = preflight(small, {}, kPoint, "oracle", {.batch_size = 2}).take();
  ASSERT_EQ(p.step.kernels.size(), 2u);
  const PredictedKernel& first = p.step.kernels[0];
  EXPECT_EQ(first.name, "dense/dot_bias_act");
  EXPECT_EQ(first.op, "dot_bias_act");
  EXPECT_EQ(first.nodes, 3);
  EXPECT_EQ(first.category, "dot");
  EXPECT_EQ(first.bound, "matrix unit");
  EXPECT_DOUBLE_EQ(first.ms, 1.5);
  EXPECT_EQ(first.flops, 4000u);
  EXPECT_EQ(first.padded_flops, 8000u);
  EXPECT_EQ(first.bytes, 100u);
  EXPECT_EQ(first.padded_bytes, 200u);
  EXPECT_DOUBLE_EQ(p.step.kernels[1].start_ms, 1.5);
  EXPECT_FALSE(p.step.kernels[1].name.empty());
}

TEST(Preflight, TellsTheMemoryPlanLargestFirst) {
  const Preflight p = preflight(small, {}, kPoint, "oracle", {.batch_size = 16}).take();
  EXPECT_EQ(p.memory.capacity, 8000u);
  EXPECT_EQ(p.memory.peak, 3340u);
  EXPECT_EQ(p.memory.arguments, 1000u);
  EXPECT_EQ(p.memory.workspace, 2000u);
  EXPECT_EQ(p.memory.code, 300u);
  EXPECT_EQ(p.memory.reserved, 40u);
  ASSERT_FALSE(p.memory.allocations.empty());
  const PlannedAllocation& largest = p.memory.allocations[0];
  EXPECT_EQ(largest.name, "dense/dot_bias_act");
  EXPECT_EQ(largest.type, "f32[8,3]");  // 8 examples a core
  EXPECT_EQ(largest.bytes, 1u << 20);
  EXPECT_EQ(largest.dense_bytes, 96u);
  const PlannedAllocation* point = find_allocation(p, "point");
  ASSERT_NE(point, nullptr);
  EXPECT_EQ(point->op, "");
  EXPECT_EQ(point->type, "f32[8,4]");
  EXPECT_EQ(point->bytes, 256u);
  ASSERT_NE(find_allocation(p, "dense/kernel/Adam_1"), nullptr);
  EXPECT_EQ(find_allocation(p, "dense/kernel/Adam_1")->dense_bytes, 48u);
}

TEST(Preflight, NamesTheLayersThatArePadded) {
  const Preflight p = preflight(small, {}, kPoint, "oracle", {.batch_size = 16}).take();
  ASSERT_EQ(p.step.padded_layers.size(), 2u);
  const PaddedLayer& dense = p.step.padded_layers[0];
  EXPECT_EQ(dense.name, "dense");
  EXPECT_EQ(dense.type, "f32[8,3]");
  EXPECT_EQ(dense.sizes_text(), "features 3 take 4, batch 8 takes 16");
  EXPECT_DOUBLE_EQ(dense.memory_padding(), 1 - 24.0 / 64);
  EXPECT_DOUBLE_EQ(dense.matrix_padding(), 0.5);  // 4,000 of 8,000 operations
  const PaddedLayer& point = p.step.padded_layers[1];
  EXPECT_EQ(point.name, "point");
  EXPECT_EQ(point.sizes_text(), "features 4 take 8");
  EXPECT_EQ(point.flops, 0u);
}

TEST(Preflight, KeepsTheLinesOfAnOutOfMemoryReport) {
  const Preflight p = preflight(small, {}, kPoint, "oracle:full", {.batch_size = 16}).take();
  EXPECT_EQ(p.verdict, Verdict::kOutOfMemory);
  EXPECT_EQ(p.status.code(), Code::kOutOfMemory);
  EXPECT_EQ(p.status.message(), "oracle:full: Ran out of memory.\n  1. Size: 9000\n  2. Size: ?[31m1");
  EXPECT_EQ(p.memory.peak, 9000u);
  ASSERT_FALSE(p.memory.allocations.empty());
  EXPECT_EQ(p.memory.allocations[0].name, "dense/dot_bias_act");
  EXPECT_TRUE(p.step.kernels.empty());
}

TEST(Preflight, GivesTheReasonOfARefusal) {
  const Preflight p = preflight(small, {}, kPoint, "oracle:adam_update", {.batch_size = 16}).take();
  EXPECT_EQ(p.verdict, Verdict::kRefused);
  EXPECT_EQ(p.status.code(), Code::kUnsupported);
  EXPECT_NE(p.status.message().find("dense/kernel/update"), std::string::npos) << p.status.message();
  EXPECT_NE(p.status.message().find("no oracle knows it"), std::string::npos);
}

TEST(Preflight, RefusesABatchThatDoesNotDivide) {
  const Preflight p = preflight(small, {}, kPoint, "oracle", {.batch_size = 101}).take();
  EXPECT_EQ(p.verdict, Verdict::kRefused);
  EXPECT_EQ(p.status.message(), "train batch size 101 must be divisible by number of replicas 2");
}

TEST(Preflight, MistakesOfTheModelAreErrors) {
  const ModelFn wrong = [](const Features& f, const Tensor&, Mode, const Params&) -> EstimatorSpec {
    return {.loss = f["pixel"]};
  };
  const Result<Preflight> p = preflight(wrong, {}, kPoint, "oracle", {.batch_size = 16});
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.status().message().find("pixel"), std::string::npos) << p.status().message();
  EXPECT_FALSE(preflight(small, {}, kPoint, "oracle", {.batch_size = 0}).ok());
  EXPECT_FALSE(preflight(small, {}, kPoint, "oracle", {.batch_size = 2, .iterations_per_loop = 0}).ok());
}

TEST(Preflight, ListsTheMachines) {
  EXPECT_EQ(machine_names("oracle").take(), (std::vector<std::string>{"full", "other"}));
  EXPECT_FALSE(machine_names("none").ok());
}

TEST(Preflight, DevicesThatDoNotPredictSaySo) {
  const Result<Preflight> p = preflight(small, {}, kPoint, "cpu", {.batch_size = 16});
  EXPECT_EQ(p.status().code(), Code::kUnsupported);
  EXPECT_EQ(p.status().message(), "device 'cpu' does not predict what a step would take");
  EXPECT_TRUE(machine_names("cpu").take().empty());
}

// 128 x 128 products of bf16: 8 rows take 8 cycles of 700 MHz at best, so a step cannot take less than its arithmetic.
EstimatorSpec wide(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  Tensor x = features["point"];
  for (int64_t i = 0; i < params.get<int64_t>("layers"); ++i) x = dense(x, {.units = 4096, .activation = relu});
  const Tensor logits = dense(x, {.units = 128});
  EstimatorSpec spec{.mode = mode, .loss = sparse_categorical_crossentropy(labels, logits, {.from_logits = true})};
  if (mode == Mode::kTrain) spec.train_op = minimize(Adam(0.01), spec.loss);
  return spec;
}
const std::vector<FeatureSpec> kWide{{"point", {DType::kF32, {4096}}}, {"label", {DType::kI32, {}}}};

TEST(PreflightOnATpu, PredictsNoLessThanTheArithmeticTakes) {
  const int64_t layers = 4, batch = 8192;
  const Preflight p = preflight(wide, {{"layers", layers}}, kWide, "tpu-emulator:v2-8", {.batch_size = batch}).take();
  ASSERT_EQ(p.verdict, Verdict::kAccepted) << p.status.message();
  EXPECT_EQ(p.step.machine, "v2-8");
  EXPECT_EQ(p.step.units, 8);
  EXPECT_TRUE(p.step.validated);
  EXPECT_NEAR(p.step.peak_flops, 46e12 / 2, 0.01 * 23e12);  // a chip of two cores does 46 TFLOP/s
  // Forward and both gradients of each product, but no gradient of the input.
  const double cell = 2.0 * batch / 8 * 4096;
  const double flops = cell * 4096 * (3 * layers - 1) + cell * 128 * 3;
  EXPECT_NEAR(static_cast<double>(p.step.flops), flops, 0.001 * flops);
  EXPECT_GT(p.step.step_ms, flops / p.step.peak_flops * 1e3);
  EXPECT_GT(p.step.collective_ms, 0);
}

std::string padding_of(const Preflight& p) {
  std::string out;
  for (const PaddedLayer& layer : p.step.padded_layers)
    out += layer.name + " " + layer.type + ": " + layer.sizes_text() + "\n";
  return out;
}

// By hand, of 8 x 128 and of 16 or 128 examples a core: images have the batch in lanes where that pads less.
EstimatorSpec sizes(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  const int64_t units = params.get<int64_t>("units");
  const Tensor pixels = conv2d(features["image"], {.filters = 20, .kernel = 3, .padding = same});
  const Tensor hidden = dense(flatten(max_pool2d(pixels, {.pool_size = 2})), {.units = units, .activation = relu});
  const Tensor logits = dense(hidden, {.units = 256});
  EstimatorSpec spec{.mode = mode, .loss = sparse_categorical_crossentropy(labels, logits, {.from_logits = true})};
  if (mode == Mode::kTrain) spec.train_op = minimize(Adam(0.01), spec.loss);
  return spec;
}

TEST(PreflightOnATpu, ListsLayersWhoseSizesFillNoTiles) {
  const std::vector<FeatureSpec> images{{"image", {DType::kF32, {8, 8, 3}}}, {"label", {DType::kI32, {}}}};
  const auto padding = [&](int64_t units, int64_t batch) {
    return padding_of(
        preflight(sizes, {{"units", units}}, images, "tpu-emulator:v3-8", {.batch_size = 8 * batch}).take());
  };
  EXPECT_EQ(padding(100, 128),
            "image f32[128,8,8,3]: features 3 take 8\n"
            "conv2d f32[128,8,8,20]: features 20 take 24\n"
            "dense f32[128,100]: features 100 take 128\n");
  EXPECT_EQ(padding(128, 12),
            "conv2d f32[12,8,8,20]: batch 12 takes 16, features 20 take 128\n"
            "image f32[12,8,8,3]: batch 12 takes 128, features 3 take 8\n"
            "dense_1 f32[12,256]: batch 12 takes 16\n"
            "dense f32[12,128]: batch 12 takes 16\n");
}

TEST(PreflightOnATpu, RunsOutOfMemoryWithTheWholeReport) {
  const Preflight p =
      preflight(wide, {{"layers", int64_t{60}}}, kWide, "tpu-emulator:v2-8", {.batch_size = 1024}).take();
  EXPECT_EQ(p.verdict, Verdict::kOutOfMemory);
  const std::string& text = p.status.message();
  EXPECT_NE(text.find("Compilation failure: Ran out of memory in memory space hbm. Used "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  Largest program allocations in hbm:\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Unpadded size: 64.00M"), std::string::npos) << text;  // 4096 x 4096 x 4 bytes
}

TEST(PreflightOnATpu, RefusesDoubles) {
  const ModelFn doubles = [](const Features& f, const Tensor&, Mode mode, const Params&) {
    const Tensor w = variable(f["point"], "w", {4, 1}, zeros());
    const Tensor y = cast(dot(cast(f["point"], DType::kF64), cast(w, DType::kF64)), DType::kF32);
    EstimatorSpec spec{.mode = mode, .loss = reduce(mul(y, y), {0, 1}, ReduceKind::kSum)};
    if (mode == Mode::kTrain) spec.train_op = minimize(SGD(0.1), spec.loss);
    return spec;
  };
  const Preflight p = preflight(doubles, {}, kPoint, "tpu-emulator:v3-8", {.batch_size = 64}).take();
  EXPECT_EQ(p.verdict, Verdict::kRefused);
  EXPECT_NE(p.status.message().find("double"), std::string::npos) << p.status.message();
}

TEST(PreflightOnATpu, SeveralThreadsMayAskAtOnce) {
  const Preflighter machine = Preflighter::open("tpu-emulator:v3-8").take();
  EXPECT_EQ(machine.units(), 8);
  std::vector<double> alone, together(8);
  const auto ask = [&](int i) {
    return machine.run(wide, {{"layers", int64_t{1 + i % 4}}}, kWide, {.batch_size = 1024}).take().step.step_ms;
  };
  for (int i = 0; i < 8; ++i) alone.push_back(ask(i));
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { together[static_cast<size_t>(i)] = ask(i); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(alone, together);
}

}  // namespace
}  // namespace tenon

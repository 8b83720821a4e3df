// Predictions of a step in many processes: what is exchanged, and what a user would reckon by hand.
#include "tenon/scaling.h"

#include <gtest/gtest.h>

#include "compile/shared_graph.h"
#include "step/exchange_groups.h"
#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/optimizers.h"
#include "train/model_function.h"

namespace tenon {
namespace {

constexpr int64_t kWidth = 2048;  // a layer's weights are 16 MiB: more than a bucket
const std::vector<FeatureSpec> kFeatures{{"x", {DType::kF32, {kWidth}}}, {"label", {DType::kF32, {kWidth}}}};

EstimatorSpec layers(const Features& features, const Tensor& labels, Mode mode, const Params&) {
  Tensor x = features["x"];
  for (int i = 0; i < 4; ++i) x = dense(x, {.units = kWidth, .use_bias = false});
  EstimatorSpec spec{.mode = mode};
  spec.loss = mean_squared_error(labels, x);
  spec.train_op = minimize(Adam(0.001), spec.loss);
  spec.training_tensors.emplace_back("error", reduce_mean(abs(x - labels)));  // behind the updates, as what models log
  return spec;
}

std::vector<ScalingRow> predicted(const Cluster& cluster, const ScalingOptions& options = {},
                                  double backward_share = 0) {
  const MeasuredStep step{.ms = 100, .examples = 32, .backward_share = backward_share};
  return predict_scaling(layers, {}, kFeatures, cluster, step, options).take();
}

Cluster hosts(int n, double bytes_per_s) { return {n, 1, 1, true, {1e10, 0}, {bytes_per_s, 0}}; }

uint64_t exchanged(const ScalingRow& row) {
  uint64_t bytes = 0;
  for (const ScalingExchange& e : row.exchanges) bytes += e.bytes;
  return bytes;
}

TEST(Scaling, HasARowForEachPowerOfTwoAndForAll) {
  std::vector<int> processes;
  for (const ScalingRow& row : predicted(hosts(6, 1e9))) processes.push_back(row.processes);
  EXPECT_EQ(processes, (std::vector<int>{1, 2, 4, 6}));
}

TEST(Scaling, GradientsGoInBucketsOfALayerEach) {
  const ScalingRow row = predicted(hosts(2, 1e9)).back();
  int large = 0;
  for (const ScalingExchange& e : row.exchanges) large += e.bytes >= uint64_t{16} << 20;
  EXPECT_EQ(large, 4);
  EXPECT_EQ(exchanged(row), (uint64_t{64} << 20) + 8);  // and loss and error
  EXPECT_NEAR(row.exchange_ms, 67.1, 0.1);              // 67.1 MB at 1 GB/s
}

// 12 MB of gradients take 12.6 ms at 1 GB/s, in three buckets of four layers. The backward pass hides two of them, and the last the updates
// of these two: they move as many bytes as all products of these layers do, in a step of 100 ms, and it takes 4.2 ms.
TEST(Scaling, SmallLayersShareBucketsOfWhichUpdatesHideTheLast) {
  const ModelFn small = [](const Features& features, const Tensor& labels, Mode mode, const Params&) {
    Tensor x = features["x"];
    for (int i = 0; i < 12; ++i) x = dense(x, {.units = 512, .use_bias = false});
    EstimatorSpec spec{.mode = mode};
    spec.loss = mean_squared_error(labels, x);
    spec.train_op = minimize(SGD(0.001), spec.loss);
    return spec;
  };
  const std::vector<FeatureSpec> features{{"x", {DType::kF32, {512}}}, {"label", {DType::kF32, {512}}}};
  const ScalingRow row =
      predict_scaling(small, {}, features, hosts(2, 1e9), {.ms = 100, .examples = 32}, {}).take().back();
  EXPECT_NEAR(row.exchange_ms, 12.6, 0.1);
  EXPECT_NEAR(row.hidden_ms, row.exchange_ms, 0.01);
  int large = 0;
  for (const ScalingExchange& e : row.exchanges) large += e.bytes >= uint64_t{4} << 20;
  EXPECT_EQ(large, 3);
}

// What is large alone, as an embedding whose gradient is the last one, keeps no smaller ones from going before it.
TEST(Scaling, ALargeGradientIsABucketByItself) {
  const ModelFn tied = [](const Features& features, const Tensor& labels, Mode mode, const Params&) {
    Tensor x = dense(features["x"], {.units = 2048, .use_bias = false});                        // 4 MiB, and the last
    for (const int units : {512, 512, 512}) x = dense(x, {.units = units, .use_bias = false});  // 4, 1 and 1
    EstimatorSpec spec{.mode = mode};
    spec.loss = mean_squared_error(labels, x);
    spec.train_op = minimize(SGD(0.001), spec.loss);
    return spec;
  };
  const std::vector<FeatureSpec> features{{"x", {DType::kF32, {512}}}, {"label", {DType::kF32, {512}}}};
  std::vector<uint64_t> mib;
  const std::vector<ScalingRow> rows =
      predict_scaling(tied, {}, features, hosts(2, 1e9), {.ms = 100, .examples = 32}, {}).take();
  for (const ScalingExchange& e : rows.back().exchanges)
    if (e.bytes >= 1 << 20) mib.push_back(e.bytes >> 20);
  EXPECT_EQ(mib, (std::vector<uint64_t>{2, 4, 4}));
}

TEST(Scaling, GradientsOfHalfTheBytesTakeHalfTheTime) {
  const ScalingRow row = predicted(hosts(2, 1e9), {.all_reduce_dtype = DType::kBF16}).back();
  EXPECT_EQ(exchanged(row), (uint64_t{32} << 20) + 8);
  EXPECT_NEAR(row.exchange_ms, 33.6, 0.1);
}

// What is dealt is sent once as a sum's share, and once as new weights: together as much. Each updates its part.
TEST(Scaling, DealtOptimizerStateSendsAsMuch) {
  const ScalingRow whole = predicted(hosts(4, 1e9)).back();
  const ScalingRow dealt = predicted(hosts(4, 1e9), {.shard_optimizer_state = true}).back();
  EXPECT_NEAR(dealt.exchange_ms, whole.exchange_ms, 0.01 * whole.exchange_ms);
  EXPECT_LT(dealt.compute_ms, whole.compute_ms);
}

// The backward pass of four equal layers gives one gradient after the other: at least three quarters of it follow the
// first. The last exchange goes on beside the updates of three of the four.
TEST(Scaling, OfAVerySlowExchangeTheBackwardPassHidesWhatFollowsItsFirstBucketAndUpdatesHideMore) {
  const ScalingRow row = predicted(hosts(2, 1e6), {}, 0.6).back();
  EXPECT_LT(row.hidden_ms, 60 + 0.75 * 40);
  EXPECT_GT(row.hidden_ms, 0.75 * 60);
  EXPECT_DOUBLE_EQ(row.step_ms, row.compute_ms + row.exchange_ms - row.hidden_ms);
}

TEST(Scaling, AFastNetworkScalesWithoutLoss) {
  for (const ScalingRow& row : predicted(hosts(8, 1e15))) {
    EXPECT_NEAR(row.step_ms, 100, 0.01);
    EXPECT_NEAR(row.efficiency, 1, 1e-4);
    EXPECT_EQ(row.batch_size, 32 * row.processes);
  }
}

TEST(Scaling, AFixedBatchIsSharedOut) {
  const std::vector<ScalingRow> rows = predicted(hosts(4, 1e15), {.batch_size = 32});
  EXPECT_DOUBLE_EQ(rows[0].step_ms, 100);
  EXPECT_LT(rows[2].step_ms, rows[1].step_ms);
  EXPECT_GT(rows[2].step_ms, 25);  // updates take as long as before
  EXPECT_EQ(predict_scaling(layers, {}, kFeatures, hosts(4, 1e9), {.ms = 1, .examples = 32}, {.batch_size = 30})
                .status()
                .message(),
            "train batch size 30 must be divisible by number of replicas 4");
}

TEST(Scaling, WhatMovesBytesHasMoreOfTheTimeWhereTheyCostMore) {
  // Updates move bytes and the rest computes: of a batch of half the size what is left over is the updates' time.
  const auto half_batch = [](double flops_per_byte) {
    const MeasuredStep step{.ms = 100, .examples = 32, .flops_per_byte = flops_per_byte};
    return predict_scaling(layers, {}, kFeatures, hosts(2, 1e15), step, {.batch_size = 32}).take().back().compute_ms;
  };
  EXPECT_DOUBLE_EQ(half_batch(8), half_batch(0));
  EXPECT_LT(half_batch(0.001), 52);  // arithmetic alone
  EXPECT_GT(half_batch(1000), 90);   // bytes alone, nearly all of weights
  EXPECT_LT(half_batch(4), half_batch(16));
}

// Two processes of a host read 64 examples a step: at 160 a second 0.4 s.
TEST(Scaling, AStepWaitsForItsInput) {
  const ScalingRow row = predicted({1, 2, 1, true, {1e10, 0}, {}}, {.input_examples_per_s = 160}).back();
  EXPECT_NEAR(row.input_ms, 400, 1e-9);
  EXPECT_NEAR(row.step_ms, 400, 1e-9);
  EXPECT_NEAR(row.input_needed_per_s(), 160, 1e-9);
}

TEST(Scaling, NothingOfTheBackwardPassWaitsForAnExchangeAndUpdatesForTheirOwnAlone) {
  const Spread spread{2, 1, InputPipelineConfig::kBroadcast};
  const Trace traced = trace_model(layers, {}, kFeatures, 64, Mode::kTrain, spread).take();
  const SharedPlan plan = plan_shared(*traced.graph, 1).take();
  std::vector<TakenAndGiven> parts;
  for (const GraphPart& part : plan.parts) parts.push_back({part.kind, &part.takes, &part.gives});
  const std::vector<int> awaited = awaited_exchanges(parts);
  std::vector<int> exchanges;
  for (size_t p = 0; p < parts.size(); ++p)
    if (parts[p].kind == PartKind::kExchange) exchanges.push_back(static_cast<int>(p));
  ASSERT_GE(exchanges.size(), 4u);  // a bucket of each layer's weights
  for (int p = 0; p <= exchanges.back(); ++p) EXPECT_EQ(awaited[static_cast<size_t>(p)], -1) << p;
  // Each bucket's weights are updated once its sum is there, while later ones are under way.
  const std::vector<int> updates(awaited.begin() + exchanges.back() + 1, awaited.end());
  EXPECT_EQ(updates, exchanges);
}

TEST(Scaling, AStepThatWasNotMeasuredIsRefused) {
  EXPECT_EQ(predict_scaling(layers, {}, kFeatures, hosts(2, 0), {.ms = 1, .examples = 1}, {}).status().message(),
            "scaling: 'between' has no bandwidth above 0");
  EXPECT_FALSE(predict_scaling(layers, {}, kFeatures, hosts(2, 1), {}, {}).ok());
}

}  // namespace
}  // namespace tenon

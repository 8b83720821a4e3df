#include "plugins/tpu-emulator/forecast/step_forecast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "bench/tpu_fit/fc_graph.h"
#include "plugins/tpu-emulator/time/matrix_time.h"

namespace {

using tenon::plugin::FlatGraph;
using tenon::plugin::GraphBuilder;
using tenon::plugin::GraphView;

tpu::Forecast forecast(const FlatGraph& graph, const tpu::ForecastOptions& options = {}) {
  return tpu::forecast(GraphView(*graph.graph()), tpu::load_machine("v2-8"), options);
}

// ---- matrix units ----

// bf16[8,128] @ [128,128] takes 8 cycles; the tile of weights has to be loaded too, 128 cycles behind it.
TEST(TpuMatrixTime, AProductHasTheBestStationaryOperand) {
  EXPECT_EQ(tpu::product_cycles(1024, 128, 128), 1024);
  EXPECT_EQ(tpu::product_cycles(8, 128, 128), 128);
  EXPECT_EQ(tpu::product_cycles(1024, 1024, 1024), 8 * 8 * 1024);
  EXPECT_EQ(tpu::product_cycles(8, 1024, 1024), 8 * 1024);  // the 8 rows stay, padded to one tile
  EXPECT_EQ(tpu::product_cycles(128, 4096, 128), 4096);     // so does a result of one tile
  EXPECT_EQ(tpu::product_cycles(129, 129, 129), 2 * 2 * 136);
}

tpu::MatrixWork dot_work(int64_t m, int64_t k, int64_t n, int32_t dtype, int32_t precision) {
  GraphBuilder b;
  const uint32_t a = b.input(dtype, {m, k}, TENON_ROLE_FEED), w = b.input(dtype, {k, n}, TENON_ROLE_STATE);
  const uint32_t y = b.value(dtype, {m, n});
  b.node("dot", {a, w}, {y}).attr_enum("precision", precision);
  b.result(y);
  const FlatGraph graph = b.build();
  return tpu::matrix_work(GraphView(*graph.graph()).node(0));
}

TEST(TpuMatrixTime, PrecisionCostsPassesForFloatsOnly) {
  const double once = dot_work(512, 512, 512, TENON_F32, TENON_PRECISION_DEFAULT).cycles;
  EXPECT_EQ(dot_work(512, 512, 512, TENON_F32, TENON_PRECISION_HIGH).cycles, 3 * once);
  EXPECT_EQ(dot_work(512, 512, 512, TENON_F32, TENON_PRECISION_HIGHEST).cycles, 6 * once);
  EXPECT_EQ(dot_work(512, 512, 512, TENON_BF16, TENON_PRECISION_HIGHEST).cycles, once);
}

TEST(TpuMatrixTime, PaddingIsWorkThatWasNotAskedFor) {
  const tpu::MatrixWork work = dot_work(128, 100, 128, TENON_F32, TENON_PRECISION_DEFAULT);
  EXPECT_EQ(work.flops, 2u * 128 * 100 * 128);
  EXPECT_EQ(work.padded_flops, 2u * 128 * 128 * 128);
}

// 32 channels of 3x3 taps, each to itself: 9 products and 9 sums an element on the vector unit; on the matrix unit 288 rows for each of 16
// tiles of pixels.
TEST(TpuMatrixTime, ADepthwiseConvolutionIsForTheVectorUnitToo) {
  const auto work = [](int64_t groups) {
    GraphBuilder b;
    const uint32_t x = b.input(TENON_F32, {8, 16, 16, 32}, TENON_ROLE_FEED);
    const uint32_t w = b.input(TENON_F32, {3, 3, 32 / groups, 32}, TENON_ROLE_STATE),
                   y = b.value(TENON_F32, {8, 16, 16, 32});
    b.node("conv", {x, w}, {y}).attr_i64("groups", groups).attr_list("strides", {1, 1});
    b.result(y);
    const FlatGraph graph = b.build();
    return tpu::matrix_work(GraphView(*graph.graph()).node(0));
  };
  EXPECT_EQ(work(32).vector_ops, 2.0 * 9 * 8 * 16 * 16 * 32);
  EXPECT_EQ(work(32).cycles, 16.0 * 288);
  EXPECT_EQ(work(8).vector_ops, 0);  // four channels are summed
  EXPECT_EQ(work(1).vector_ops, 0);
}

// ---- measured dense networks on a v2-8 (Wang, Wei, Brooks 2019) ----

struct Measured {
  int64_t layers, nodes, input, output, batch;
  double ms;
};

class TpuStepTime : public testing::TestWithParam<Measured> {};

TEST_P(TpuStepTime, IsWithin15PercentOfTheMeasured) {
  const Measured& m = GetParam();
  const FlatGraph graph = tpu_fit::FcGraph({m.layers, m.nodes, m.input, m.output, m.batch / 8}).build();
  EXPECT_NEAR(forecast(graph).step_s * 1e3, m.ms, 0.15 * m.ms);
}

INSTANTIATE_TEST_SUITE_P(DenseNetworks, TpuStepTime,
                         testing::Values(Measured{8, 64, 8000, 200, 4096, 26.3468},    // infeed
                                         Measured{4, 32, 2000, 1000, 16384, 43.0159},  //
                                         Measured{8, 128, 2000, 200, 128, 2.5314},     // enqueueing a batch
                                         Measured{64, 2048, 2000, 1000, 512, 102.22},  // updates, all-reduces
                                         Measured{32, 4096, 2000, 1000, 512, 208.63},  //
                                         Measured{4, 8192, 2000, 1000, 512, 87.18},    //
                                         Measured{16, 1024, 2000, 1000, 512, 8.09}));  //

// 128 rows of 1000 floats for each of 8 cores, at the rate at which a host sends rows that it makes.
TEST(TpuForecast, RowsOfLabelsTakeTheInfeedOfTheirFloats) {
  const auto infeed_s = [](bool rows) {
    GraphBuilder b;
    const uint32_t x = b.input(TENON_F32, {128, 1000}, TENON_ROLE_FEED);
    const uint32_t label =
        rows ? b.input(TENON_F32, {128, 1000}, TENON_ROLE_FEED) : b.input(TENON_I32, {128}, TENON_ROLE_FEED);
    const uint32_t loss = b.value(TENON_F32, {128}), lse = b.value(TENON_F32, {128});
    b.node("softmax_cross_entropy", {x, label}, {loss, lse});
    b.result(loss, TENON_MODE_EACH);
    return forecast(b.build()).infeed_s;
  };
  const tpu::Machine v2 = tpu::load_machine("v2-8");
  EXPECT_NEAR(infeed_s(true) - infeed_s(false),
              1024 * 4000 / v2.infeed_one_hot_bytes_per_s - 1024 * 4 / v2.infeed_bytes_per_s, 1e-9);
}

// A batch of 64 for each 1000 to 2000 classes: the one thread that makes few labels takes 4 ms for 65,536 floats; with more
// of them, ever less of them are its. No class more changes a step by more than its floats take.
TEST(TpuForecast, AStepChangesSmoothlyWithTheNumberOfClasses) {
  const auto step_s = [](int64_t classes) {
    return forecast(tpu_fit::FcGraph({4, 512, 2000, classes, 8}).build()).step_s;
  };
  EXPECT_NEAR(step_s(1024), 4.58e-3, 0.05e-3);
  EXPECT_LT(step_s(1600), 3e-3);
  double before = step_s(1000);
  for (int64_t classes = 1001; classes < 1600; ++classes) {
    const double now = step_s(classes);
    EXPECT_NEAR(now, before, 30e-6) << classes;
    before = now;
  }
}

// Fitted to v2-8: a machine's file may say that its host deals all labels, or none, over its threads.
TEST(TpuForecast, HowManyLabelsOneThreadMakesIsTheMachines) {
  const FlatGraph graph = tpu_fit::FcGraph({4, 512, 2000, 1024, 8}).build();
  tpu::Machine machine = tpu::load_machine("v2-8");
  const auto infeed_s = [&] { return tpu::forecast(GraphView(*graph.graph()), machine, {}).infeed_s; };
  const double alone = 65536 * machine.infeed_one_hot_element_s;
  EXPECT_NEAR(infeed_s(), alone, 1e-9);
  machine.infeed_one_hot_serial_elements = 1e6;
  EXPECT_NEAR(infeed_s(), alone, 1e-9);
  machine.infeed_one_hot_serial_elements = 0;
  EXPECT_LT(infeed_s(), 0.6 * alone);
}

// ---- kernels ----

std::vector<std::string> categories(const tpu::Forecast& f) {
  std::vector<std::string> names;
  for (const tpu::Kernel& kernel : f.kernels) names.push_back(kernel.category);
  return names;
}

// An f32 parameter takes the bytes to read and write it and its slots and to read its gradient, and 8 more; LAMB reads
// the parameter and its direction again once their norms are known.
TEST(TpuForecast, AnUpdateMovesTheBytesOfItsOptimizer) {
  struct Case {
    const char* op;
    int slots;
    double bytes;
  };
  for (const auto& [op, slots, bytes] :
       {Case{"momentum_update", 1, 28}, {"adam_update", 2, 36}, {"lamb_update", 2, 44}}) {
    const std::vector<int64_t> dims = {4096, 1024};
    GraphBuilder b;
    std::vector<uint32_t> in = {b.input(TENON_F32, dims, TENON_ROLE_STATE),
                                b.input(TENON_F32, dims, TENON_ROLE_FEED),
                                b.input(TENON_F32, {}, TENON_ROLE_SCALAR),
                                b.input(TENON_I64, {}, TENON_ROLE_STATE),
                                TENON_NONE,
                                TENON_NONE,
                                TENON_NONE};
    std::vector<uint32_t> out = {b.value(TENON_F32, dims)};
    for (int k = 0; k < slots; ++k) {
      in.push_back(b.input(TENON_F32, dims, TENON_ROLE_STATE));
      out.push_back(b.value(TENON_F32, dims));
    }
    b.node(op, in, out);
    b.result(out[0], TENON_MODE_LAST, 1);
    for (int k = 0; k < slots; ++k) b.result(out[static_cast<size_t>(k) + 1], TENON_MODE_LAST, 5 + k);
    const tpu::Forecast f = forecast(b.build());
    ASSERT_EQ(categories(f), std::vector<std::string>{"update"});
    const double parameters = 4096 * 1024;
    EXPECT_NEAR(f.kernels[0].memory_s * tpu::load_machine("v2-8").hbm_bytes_per_s / parameters, bytes, 0.01) << op;
  }
}

// x w1 -> relu -> w2, read by what follows it alone: one kernel a product.
TEST(TpuFusion, AnElementwiseReaderIsTheEpilogueOfAProduct) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {256, 256}, TENON_ROLE_FEED),
                 w = b.input(TENON_F32, {256, 256}, TENON_ROLE_STATE);
  const uint32_t y = b.value(TENON_F32, {256, 256}), z = b.value(TENON_F32, {256, 256});
  b.node("dot", {x, w}, {y});
  b.node("activation", {y}, {z}).attr_enum("act", TENON_ACT_RELU);
  b.result(z);
  const FlatGraph graph = b.build();
  const tpu::Forecast f = forecast(graph);
  ASSERT_EQ(categories(f), std::vector<std::string>{"dot"});
  EXPECT_EQ(f.kernels[0].nodes, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(f.kernels[0].padded_bytes, 3u * 256 * 256 * 4);
}

TEST(TpuFusion, AChainOfElementwiseNodesReadsAndWritesOnce) {
  GraphBuilder b;
  uint32_t x = b.input(TENON_F32, {1024, 1024}, TENON_ROLE_FEED);
  for (int i = 0; i < 5; ++i) {
    const uint32_t y = b.value(TENON_F32, {1024, 1024});
    b.node("neg", {x}, {y});
    x = y;
  }
  b.result(x);
  const FlatGraph graph = b.build();
  const tpu::Forecast f = forecast(graph);
  ASSERT_EQ(f.kernels.size(), 1u);
  EXPECT_EQ(f.kernels[0].padded_bytes, 2u * 1024 * 1024 * 4);
  EXPECT_EQ(f.kernels[0].bound, tpu::Bound::kMemory);
}

// Two convolutions with batch norm and ReLU between: moments come out of the first one's kernel, the second reads what
// the first wrote and normalises on the way. Passes over memory: x in, y out; y in, z out.
TEST(TpuFusion, ABatchNormCostsNoPassOfItsOwn) {
  const std::vector<int64_t> image = {64, 16, 16, 128};
  GraphBuilder b;
  const uint32_t x = b.input(TENON_BF16, image, TENON_ROLE_FEED);
  const uint32_t w1 = b.input(TENON_BF16, {1, 1, 128, 128}, TENON_ROLE_STATE);
  const uint32_t w2 = b.input(TENON_BF16, {1, 1, 128, 128}, TENON_ROLE_STATE);
  const uint32_t gamma = b.input(TENON_F32, {128}, TENON_ROLE_STATE),
                 beta = b.input(TENON_F32, {128}, TENON_ROLE_STATE);
  const uint32_t y = b.value(TENON_BF16, image), n = b.value(TENON_BF16, image), z = b.value(TENON_BF16, image);
  const uint32_t mean = b.value(TENON_F32, {128}), variance = b.value(TENON_F32, {128});
  b.node("conv", {x, w1}, {y}).attr_list("strides", {1, 1});
  b.node("batch_norm", {y, gamma, beta}, {n, mean, variance}).attr_enum("act", TENON_ACT_RELU);
  b.node("conv", {n, w2}, {z}).attr_list("strides", {1, 1});
  b.result(z);
  const FlatGraph graph = b.build();
  const tpu::Forecast f = forecast(graph);
  ASSERT_EQ(categories(f), (std::vector<std::string>{"convolution", "convolution"}));
  const double pass = 64 * 16 * 16 * 128 * 2;
  EXPECT_NEAR(static_cast<double>(f.kernels[0].padded_bytes), 2 * pass, 0.05 * pass);
  EXPECT_NEAR(static_cast<double>(f.kernels[1].padded_bytes), 2 * pass, 0.05 * pass);
}

// What two kernels read: written once and read twice, or made from x twice.
TEST(TpuFusion, CheapWorkIsDoneTwiceRatherThanWrittenDearWorkIsNot) {
  for (const bool dear : {false, true}) {
    GraphBuilder b;
    const uint32_t x = b.input(TENON_BF16, {1024, 1024}, TENON_ROLE_FEED);
    const uint32_t e = b.value(TENON_BF16, {1024, 1024});
    b.node(dear ? "atan2" : "add", {x, x}, {e});
    for (const int64_t axis : {0, 1}) {
      const uint32_t sum = b.value(TENON_BF16, {1024});
      b.node("reduce", {e}, {sum}).attr_list("axes", {axis}).attr_enum("kind", TENON_REDUCE_SUM);
      b.result(sum);
    }
    const FlatGraph graph = b.build();
    EXPECT_EQ(forecast(graph).kernels.size(), dear ? 3u : 2u);
  }
}

TEST(TpuFusion, WhatNoResultNeedsDoesNotRun) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {1024}, TENON_ROLE_FEED), y = b.value(TENON_F32, {1024});
  const uint32_t dead = b.value(TENON_F32, {1024});
  b.node("neg", {x}, {y});
  b.node("exp", {x}, {dead});
  b.result(y);
  const FlatGraph graph = b.build();
  EXPECT_EQ(forecast(graph).kernels.size(), 1u);
}

// The order: a gradient is summed and used up before the next is made.
TEST(TpuSchedule, AVariableIsUpdatedAsSoonAsItsGradientIsThere) {
  const FlatGraph graph = tpu_fit::FcGraph({6, 512, 512, 512, 64}).build();
  const GraphView view(*graph.graph());
  const tpu::Forecast f = forecast(graph);
  int alive = 0, most = 0;
  std::vector<char> is_gradient(view.n_values(), 0);
  for (const tpu::Kernel& kernel : f.kernels) {
    const auto node = view.node(kernel.root);
    const bool made = node.name().substr(0, 3) == "dw_", used = node.name().substr(0, 7) == "kernel_";
    alive += made - used;
    most = std::max(most, alive);
  }
  EXPECT_EQ(alive, 0);
  EXPECT_LE(most, 2);
}

TEST(TpuSchedule, AStateIsReplacedAfterAllItsReaders) {
  const FlatGraph graph = tpu_fit::FcGraph({4, 64, 64, 64, 8}).build();
  const GraphView view(*graph.graph());
  const tpu::Forecast f = forecast(graph);
  std::vector<int> replaced(view.n_values(), 0);
  for (const tpu::Kernel& kernel : f.kernels) {
    for (uint32_t value : kernel.reads) EXPECT_FALSE(replaced[value]) << view.node(kernel.root).name();
    if (std::string(kernel.category) == "update") replaced[view.node(kernel.root).operand_id(0)] = 1;
  }
}

TEST(TpuForecast, KernelsFollowOneAnotherAndAddUp) {
  const FlatGraph graph = tpu_fit::FcGraph({4, 256, 2000, 200, 64}).build();
  const tpu::Forecast f = forecast(graph);
  double at = 0;
  for (const tpu::Kernel& kernel : f.kernels) {
    EXPECT_NEAR(kernel.start_s, at, 1e-12);
    at += kernel.seconds;
  }
  EXPECT_NEAR(at, f.device_s, 1e-12);
  EXPECT_GE(f.step_s, std::max(f.device_s, f.infeed_s));
  EXPECT_GT(f.matrix_utilisation, 0);
  EXPECT_LT(f.matrix_utilisation, 1);
}

TEST(TpuForecast, AnEmptyGraphTakesTheHostsTimeOnly) {
  GraphBuilder b;
  b.result(b.input(TENON_F32, {4}, TENON_ROLE_STATE), TENON_MODE_LAST, 1);
  const FlatGraph graph = b.build();
  const tpu::Forecast f = forecast(graph);
  EXPECT_TRUE(f.kernels.empty());
  EXPECT_EQ(f.infeed_s, 0);
  EXPECT_EQ(f.bottleneck, "host");
}

}  // namespace

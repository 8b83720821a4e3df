// tpu-emulator.so through its table, with graphs that the core does not make: bounded dimensions, and a step that does not
// fit.
#include <gtest/gtest.h>

#include <cstdlib>

#include "conformance/host/subject.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;

Subject& tpu() {
  static Subject subject(std::string(std::getenv("TENON_PLUGIN_PATH")) + "/tpu-emulator.so", 1, 2);
  return subject;
}

tenon_options forecasting() {
  tenon_options options{};
  options.struct_size = sizeof options;
  options.settings = "forecast=1";
  return options;
}

// conv and ReLU of images f32[8,274,286,3]; dimensions of `bounded` are not fixed.
FlatGraph convolution(const std::vector<int>& bounded) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {8, 274, 286, 3}, TENON_ROLE_FEED);
  const uint32_t w = b.input(TENON_F32, {3, 3, 3, 8}, TENON_ROLE_STATE);
  const uint32_t y = b.value(TENON_F32, {8, 272, 284, 8}), z = b.value(TENON_F32, {8, 272, 284, 8});
  uint8_t scalar = 0;
  for (const int axis : bounded) {
    b.input(TENON_I64, {}, TENON_ROLE_SCALAR);
    b.extent(x, axis, ++scalar);
    if (axis < 3) b.extent(y, axis, scalar), b.extent(z, axis, scalar);
  }
  b.node("conv", {x, w}, {y}).name("stem");
  b.node("relu", {y}, {z}).name("act");
  b.result(z);
  return b.build();
}

tenon_verdict asked(const FlatGraph& graph, const tenon_options& options) {
  tenon_verdict verdict{};
  const uint32_t node = 0;
  expect_ok(tpu().backend().supports(tpu().device(), graph.graph(), &options, &node, 1, &verdict, sizeof verdict),
            "supports");
  return verdict;
}

tenon_info forecast_of(const FlatGraph& graph) {
  tenon_info info = Program(tpu(), tpu().device(), *graph.graph(), forecasting()).info();
  info.warnings = nullptr;  // the program's
  info.allocations = nullptr;
  return info;
}

TEST(TpuGraphs, ABoundedBatchOrFeatureDimensionIsForecastAsItsBound) {
  const tenon_info fixed = forecast_of(convolution({}));
  EXPECT_GT(fixed.device_ns, 0u);
  for (const std::vector<int>& bounded : {std::vector<int>{0}, {3}, {0, 3}}) {
    const FlatGraph graph = convolution(bounded);
    EXPECT_EQ(asked(graph, forecasting()).answer, TENON_TAKE);
    const tenon_info info = forecast_of(graph);
    EXPECT_EQ(info.device_ns, fixed.device_ns);
    EXPECT_EQ(info.workspace_bytes, fixed.workspace_bytes);
    EXPECT_EQ(info.flops, fixed.flops);
  }
}

TEST(TpuGraphs, ABoundedDimensionIsNotRun) {
  tenon_options running{};
  running.struct_size = sizeof running;
  const FlatGraph graph = convolution({0});
  const tenon_verdict verdict = asked(graph, running);
  EXPECT_EQ(verdict.answer, TENON_REFUSE);
  EXPECT_STREQ(verdict.reason,
               "'stem' has bounded dimensions, which the emulator forecasts (forecast=1) but does not run");
  EXPECT_THROW(Program(tpu(), tpu().device(), *graph.graph()), Unsupported);
}

TEST(TpuGraphs, ADynamicSpatialConvolutionIsRefusedEvenInAForecast) {
  const FlatGraph graph = convolution({0, 1, 2});
  const tenon_verdict verdict = asked(graph, forecasting());
  EXPECT_EQ(verdict.answer, TENON_REFUSE);
  EXPECT_STREQ(verdict.reason,
               "Compilation failure: Dynamic Spatial Convolution is not supported: lhs shape is "
               "f32[<=8,<=274,<=286,3]\n    TPU compilation failed");
  tenon_program* program = nullptr;
  tenon_info info{};
  info.struct_size = sizeof info;
  const tenon_options options = forecasting();
  const tenon_status status = tpu().backend().compile(tpu().device(), graph.graph(), &options, &program, &info);
  EXPECT_EQ(status.code, TENON_UNSUPPORTED);
  EXPECT_STREQ(status.message, verdict.reason);
}

TEST(TpuGraphs, AStepThatDoesNotFitListsItsAllocations) {
  GraphBuilder b;
  // A feed and three sorts, whose values and indices have 3.9 GiB each, and whose last dimension is padded from 1000 to 1024: 4 GiB.
  const uint32_t x = b.input(TENON_F32, {1 << 20, 1000}, TENON_ROLE_FEED);
  std::vector<uint32_t> all{x};
  for (int i = 0; i < 3; ++i) {
    all.push_back(b.value(TENON_F32, {1 << 20, 1000}));
    b.node("sort", {all[all.size() - 2]}, {all.back(), b.value(TENON_I32, {1 << 20, 1000})})
        .attr_i64("k", 1000)
        .attr_bool("descending", false)
        .name("sort" + std::to_string(i));
    b.result(all.back());
  }
  const FlatGraph graph = b.build();
  tenon_program* program = nullptr;
  tenon_info info{};
  info.struct_size = sizeof info;
  const tenon_options options = forecasting();
  const tenon_status status = tpu().backend().compile(tpu().device(), graph.graph(), &options, &program, &info);
  ASSERT_EQ(status.code, TENON_OUT_OF_MEMORY);
  EXPECT_EQ(program, nullptr);
  EXPECT_GT(info.peak_bytes, info.capacity_bytes);
  ASSERT_EQ(info.n_allocations, 6u);
  ASSERT_EQ(info.allocation_stride, sizeof(tenon_allocation));
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(info.allocations[i].bytes, uint64_t{4} << 30) << i;
    EXPECT_EQ(info.allocations[i].dense_bytes, uint64_t{4000} << 20) << i;
    EXPECT_LT(info.allocations[i].node, 6u);
  }
}

}  // namespace
}  // namespace tenon::conformance

// tpu-emulator.so through its table, with a graph that the core does not make: a step that does not fit.
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
  options.flags = TENON_OPTION_FORECAST;
  return options;
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

// The whole text of a TPU's compiler that ran out of memory, in the columns in which XLA prints it.
#include "forecast/report.h"

#include <gtest/gtest.h>

#include "tenon/plugin/graph_builder.h"

namespace {

TEST(Report, SizesAsXlaWritesThem) {
  EXPECT_EQ(tpu::size_text(12), "12B");
  EXPECT_EQ(tpu::size_text(4096), "4.0K");
  EXPECT_EQ(tpu::size_text(528ull << 20), "528.00M");
  EXPECT_EQ(tpu::size_text(3ull << 29), "1.50G");
}

// s32[8388608,8,4], as a TPU that ran out of memory reported it: 1 GiB of numbers takes 32.
TEST(Report, OutOfMemory) {
  tenon::plugin::GraphBuilder b;
  const uint32_t x = b.input(TENON_I32, {8388608, 8, 4}, TENON_ROLE_FEED, "tokens");
  const uint32_t y = b.value(TENON_I32, {8388608, 8, 4});
  b.node("div", {x, x}, {y}).name("bucket/FloorMod");
  b.result(y);
  const auto graph = b.build();
  const tenon::plugin::GraphView view(*graph.graph());
  tpu::MemoryPlan plan;
  plan.reserved_bytes = 528ull << 20;
  plan.argument_bytes = 0;
  plan.temp_bytes = plan.temp_live_bytes = 40ull << 30;
  plan.program_bytes = plan.temp_bytes + (30ull << 20);
  plan.total_bytes = plan.program_bytes + plan.reserved_bytes;
  plan.capacity_bytes = 16ull << 30;
  tpu::Allocation a;
  a.value = y;
  a.node = 0;
  a.layout = tpu::row_major_layout(view.value(y));
  plan.allocations.push_back(a);
  EXPECT_EQ(tpu::out_of_memory_text(view, plan),
            "Compilation failure: Ran out of memory in memory space hbm. Used 40.54G of 16.00G hbm. Exceeded hbm "
            "capacity by 24.54G.\n"
            "\n"
            "Total hbm usage >= 40.54G:\n"
            "    reserved        528.00M\n"
            "    program          40.03G\n"
            "    arguments            0B\n"
            "Output size unknown.\n"
            "Program hbm requirement 40.03G:\n"
            "    global           30.00M\n"
            "    HLO temp         40.00G (3.1% utilization, 0.0% fragmentation (0B))\n"
            "  Largest program allocations in hbm:\n"
            "  1. Size: 32.00G\n"
            "     Operator: op_type=\"RealDiv\" op_name=\"bucket/FloorMod\"\n"
            "     Shape: s32[8388608,8,4]{2,1,0:T(8,128)}\n"
            "     Unpadded size: 1.00G\n"
            "     Extra memory due to padding: 31.00G (32.0x expansion)\n"
            "     XLA label: %div.1 = s32[8388608,8,4]{2,1,0:T(8,128)} div(...)\n"
            "     Allocation type: HLO temp\n"
            "     ==========================\n");
}

}  // namespace

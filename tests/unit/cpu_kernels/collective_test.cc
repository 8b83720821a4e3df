#include "isa_test.h"

TENON_FAMILY_FIXTURE(Collective, add_collective)

namespace tenon::testing {
namespace {

TEST_P(Collective, TheOnlyReplicaIsNumberZero) {
  EXPECT_EQ(run(1, [](NodeRun& n) { n.out(TENON_I32, {}).op("replica_id"); }).get<int32_t>(0), Ints{0});
}

TEST_P(Collective, AGroupOfOneKeepsItsValues) {
  const Floats x = random(30000);
  const std::vector<int64_t> y = {1, -2, int64_t{1} << 40};
  const Results r = run(2, [&](NodeRun& n) {
    n.in(TENON_F32, {300, 100}, x)
        .in(TENON_I64, {3}, y)
        .out(TENON_F32, {300, 100})
        .out(TENON_I64, {3})
        .op("all_reduce")
        .attr_enum("kind", TENON_REDUCE_SUM);
  });
  EXPECT_EQ(r.get(0), x);
  EXPECT_EQ(r.get<int64_t>(1), y);
  for (const char* op : {"all_gather", "reduce_scatter"})
    EXPECT_EQ(run(1,
                  [&](NodeRun& n) {
                    n.in(TENON_F32, {300, 100}, x).out(TENON_F32, {300, 100}).op(op).attr_i64("axis", 0);
                  })
                  .get(0),
              x);
}

TEST_P(Collective, RefusesShapesOfSeveralReplicas) {
  plugin::GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {4}, TENON_ROLE_FEED), y = b.value(TENON_F32, {8});
  b.node("all_gather", {x}, {y}).name("n");
  const plugin::FlatGraph flat = b.build();
  EXPECT_EQ(table_.find("all_gather", 1)->accept(plugin::GraphView(*flat.graph()).node(0)).answer, TENON_REFUSE);
}

}  // namespace
}  // namespace tenon::testing

// Where both sides keep the rules the layer says nothing and changes nothing.
#include <cstring>
#include <thread>

#include "unit/validation/world.h"

namespace tenon::validation_testing {
namespace {

TEST(KeepingRules, EveryEntryWorksAndNothingIsReported) {
  const uint64_t before = plugin::violation_count();
  World world;
  const tenon_backend& t = world.t;
  EXPECT_STREQ(t.name, "fake");
  EXPECT_STREQ(t.version, "1.0");
  EXPECT_EQ(t.extension, nullptr);
  uint32_t n = 0;
  ASSERT_EQ(t.enumerate(t.self, nullptr, nullptr, 0, &n).code, TENON_OK);
  EXPECT_EQ(n, 3u);
  std::vector<tenon_unit> units(n);
  ASSERT_EQ(t.enumerate(t.self, nullptr, units.data(), sizeof(tenon_unit), &n).code, TENON_OK);
  EXPECT_STREQ(units[2].name, "fake");
  EXPECT_EQ(world.supports(*world.graph.graph()).code, TENON_OK);
  ASSERT_EQ(world.submit().code, TENON_OK);
  EXPECT_EQ(world.done, 3u);
  EXPECT_EQ(t.wait(world.queue, world.ticket, UINT64_MAX).code, TENON_OK);
  tenon_stats stats{};
  stats.struct_size = sizeof stats;
  EXPECT_EQ(t.stats(world.device, &stats).code, TENON_OK);
  EXPECT_EQ(stats.bytes_in_use, 5u);
  for (auto free_nothing : {+[](const tenon_backend& b) { b.buffer_free(nullptr); },
                            +[](const tenon_backend& b) { b.queue_destroy(nullptr); },
                            +[](const tenon_backend& b) { b.program_destroy(nullptr); },
                            +[](const tenon_backend& b) { b.device_close(nullptr); }})
    free_nothing(t);
  EXPECT_TRUE(lines().empty()) << lines()[0];
  EXPECT_EQ(plugin::violation_count(), before);
}

TEST(KeepingRules, ContentsAndMemoryAreTheBackends) {
  World world;
  void* memory = nullptr;
  tenon_buffer* b = world.buffer({2, 4}, TENON_DESC_HOST, &memory);
  float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  tenon_copy c = world.write_x();
  c.dst = b;
  c.src_host = values;
  ASSERT_EQ(world.t.copy(world.queue, &c, &world.ticket).code, TENON_OK);
  EXPECT_EQ(std::memcmp(memory, values, sizeof values), 0);
  world.t.buffer_free(b);
  EXPECT_TRUE(lines().empty());
}

TEST(KeepingRules, ErrorsOfTheBackendPassThroughWithTheirText) {
  World world;
  fake::set_fault("copy-error");
  const tenon_copy c = world.write_x();
  const tenon_status status = world.t.copy(world.queue, &c, &world.ticket);
  EXPECT_EQ(status.code, TENON_INVALID);
  EXPECT_STREQ(status.message, "as told");
  EXPECT_TRUE(lines().empty());
}

TEST(KeepingRules, AHandleIsNeverGivenTwice) {
  World world;
  std::vector<tenon_buffer*> all;
  for (int i = 0; i < 100; ++i) {
    tenon_buffer* b = world.buffer({4});
    EXPECT_EQ(std::count(all.begin(), all.end(), b), 0);
    all.push_back(b);
    world.t.buffer_free(b);
  }
  EXPECT_TRUE(lines().empty());
}

TEST(KeepingRules, AFeedMayUseOtherQueuesAndKeepBatchesUpToItsDepth) {
  World world;
  struct Feed {
    World& world;
    tenon_queue* other;
    int released = 0;
  } feed{world, world.new_queue()};
  const tenon_feed table{sizeof table, 0, &feed,
                         [](void* ctx, uint64_t, tenon_buffer** feeds, tenon_point* after) -> int32_t {
                           auto& self = *static_cast<Feed*>(ctx);
                           const tenon_copy c = self.world.write_x();
                           uint64_t ticket = 0;
                           EXPECT_EQ(self.world.t.copy(self.other, &c, &ticket).code, TENON_OK);
                           feeds[0] = self.world.x;
                           *after = {self.other, ticket};
                           return 1;
                         },
                         [](void* ctx, uint64_t) { ++static_cast<Feed*>(ctx)->released; }};
  tenon_run r = world.arguments();
  r.feed = &table;
  ASSERT_EQ(world.t.run(world.queue, &r, &world.ticket, &world.done).code, TENON_OK);
  EXPECT_EQ(world.done, 3u);
  EXPECT_EQ(feed.released, 3);
  EXPECT_TRUE(lines().empty()) << lines()[0];
  world.t.queue_destroy(feed.other);
}

TEST(KeepingRules, FourThreadsOnFourQueues) {
  World world;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&world] {
      tenon_queue* queue = world.new_queue();
      for (int k = 0; k < 50; ++k) {
        tenon_buffer* b = world.buffer({2, 4});
        float values[8] = {};
        tenon_copy c{};
        c.struct_size = sizeof c;
        c.dst = b, c.src_host = values, c.bytes = sizeof values;
        uint64_t ticket = 0;
        EXPECT_EQ(world.t.copy(queue, &c, &ticket).code, TENON_OK);
        EXPECT_EQ(world.t.wait(queue, ticket, UINT64_MAX).code, TENON_OK);
        world.t.buffer_free(b);
      }
      world.t.queue_destroy(queue);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_TRUE(lines().empty()) << lines()[0];
}

TEST(KeepingRules, AThirtyThirdLayerIsRefused) {
  (void)table();
  (void)other_table();
  const tenon_backend inner = fake::make("one of many");
  tenon_status status{};
  int made = 0;
  do {
    tenon_backend out{};
    out.struct_size = sizeof out;
    status = plugin::validate_backend(inner, &out);
    made += status.code == TENON_OK;
  } while (status.code == TENON_OK && made < 100);
  EXPECT_EQ(made, 30);
  EXPECT_EQ(status.code, TENON_UNSUPPORTED);
  EXPECT_STREQ(status.message, "validates at most 32 backends");
}

}  // namespace
}  // namespace tenon::validation_testing

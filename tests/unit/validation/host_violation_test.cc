// Every rule that a host can break: named, answered with TENON_ABI, and nothing reaches the backend.
#include <algorithm>
#include <regex>
#include <thread>

#include "unit/validation/world.h"

namespace tenon::validation_testing {
namespace {

// What reached the backend, but for questions of the layer's own.
int forwarded() {
  int n = 0;
  for (const auto& [entry, count] : fake::calls)
    if (entry != "enumerate" && entry != "wait") n += count;
  return n;
}

class HostViolation : public testing::TestWithParam<Case> {};

TEST_P(HostViolation, IsNamed) {
  World world;
  GetParam().act(world);
  ASSERT_EQ(lines().size(), 1u) << testing::PrintToString(lines());
  const std::string line = std::regex_replace(lines()[0], std::regex("#[0-9]+"), "#N");
  EXPECT_EQ(line, std::string("tenon: the host broke the contract in ") + GetParam().line);
}

// Breaks the rule by this call, which does not reach the backend.
#define VIOLATE(call)                  \
  const int before = forwarded();      \
  world.violate([&] { return call; }); \
  EXPECT_EQ(forwarded(), before)
#define VIOLATE_VOID(call)           \
  const int before = forwarded();    \
  world.violate_void([&] { call; }); \
  EXPECT_EQ(forwarded(), before)

template <class T>
T* wild() {
  static int memory[16];
  return reinterpret_cast<T*>(memory);
}

tenon_status alloc(World& world, const tenon_desc& d) {
  tenon_buffer* out = nullptr;
  void* memory = nullptr;
  return world.t.buffer_alloc(world.device, &d, &out, &memory);
}

const Case kHostDevices[] = {
    CASE(no_count, "enumerate: passes no count", VIOLATE(t.enumerate(t.self, nullptr, nullptr, 0, nullptr));),
    CASE(small_stride, "enumerate: passes units with a stride of 100, expected 168 or more", uint32_t n = 1;
         std::vector<tenon_unit> units(1); VIOLATE(t.enumerate(t.self, nullptr, units.data(), 100, &n));),
    CASE(another_self, "enumerate: passes another self than the table's", uint32_t n = 0;
         VIOLATE(t.enumerate(other_table().self, nullptr, nullptr, 0, &n));),
    CASE(opens_nothing, "device_open: opens no units", VIOLATE(world.open({}));),
    CASE(opens_unit_3_of_3, "device_open: opens unit 3 of 3", VIOLATE(world.open({0, 3}));),
    CASE(opens_a_unit_twice, "device_open: opens unit 1 twice", VIOLATE(world.open({1, 1}));),
    CASE(opens_two_domains, "device_open: opens units of two domains together", VIOLATE(world.open({0, 2}));),
    CASE(huge_struct, "device_open: passes a tenon_open of 99999999 bytes, expected 36 or more", tenon_open o{};
         o.struct_size = 99999999; VIOLATE(world.open({0}, o));),
    CASE(closes_with_things_left,
         "device_close: closes device #N, of which 3 buffers, 1 queues and 1 programs are left",
         VIOLATE_VOID(t.device_close(world.device));),
    CASE(closes_twice, "device_close: passes as device device #N, which was destroyed",
         tenon_device* d = world.new_device();
         std::swap(d, world.device); t.device_close(world.device); VIOLATE_VOID(t.device_close(world.device));
         world.device = d;),
    CASE(uses_a_closed_device, "queue_create: passes as device device #N, which was destroyed",
         tenon_device* d = world.new_device();
         t.device_close(d); tenon_queue* q = nullptr; VIOLATE(t.queue_create(d, 0, &q));),
    CASE(wild_device, "queue_create: passes as device what was never a handle", tenon_queue* q = nullptr;
         VIOLATE(t.queue_create(wild<tenon_device>(), 0, &q));),
    CASE(no_device, "stats: passes no device", tenon_stats s{}; s.struct_size = sizeof s;
         VIOLATE(t.stats(nullptr, &s));),
    CASE(device_of_another_backend, "queue_create: passes as device a handle of another backend",
         tenon_queue* q = nullptr;
         tenon_open o{}; o.struct_size = sizeof o; const uint32_t unit = 0; o.units = &unit; o.n_units = 1;
         tenon_device* d = nullptr; ASSERT_EQ(other_table().device_open(other_table().self, &o, &d).code, TENON_OK);
         VIOLATE(t.queue_create(d, 0, &q));),
    CASE(dirty_stats, "stats: passes a tenon_stats to fill that is not zero", tenon_stats s{}; s.struct_size = sizeof s;
         s.bytes_peak = 1; VIOLATE(t.stats(world.device, &s));),
    CASE(sink_without_emit, "trace: passes a sink that takes no events", tenon_sink s{}; s.struct_size = sizeof s;
         VIOLATE(t.trace(world.device, &s));),
    CASE(two_traces, "trace: begins a trace before the last one was ended", static tenon_sink s{};
         s = {sizeof s, 0, nullptr, [](void*, const tenon_event*, uint32_t, uint64_t) {}};
         ASSERT_EQ(t.trace(world.device, &s).code, TENON_OK); VIOLATE(t.trace(world.device, &s));
         (void)t.trace(world.device, nullptr);),
};
INSTANTIATE_TEST_SUITE_P(Devices, HostViolation, testing::ValuesIn(kHostDevices), name_of);

const Case kHostMemory[] = {
    CASE(unknown_dtype, "buffer_alloc: allocates elements of dtype 77, which there is not",
         tenon_desc d = World::desc({4});
         d.dtype = 77; VIOLATE(alloc(world, d));),
    CASE(rank_9, "buffer_alloc: allocates rank 9", tenon_desc d = World::desc({4}); d.rank = 9;
         VIOLATE(alloc(world, d));),
    CASE(dimension_0, "buffer_alloc: allocates dimension 0", VIOLATE(alloc(world, World::desc({4, 0})));),
    CASE(too_many_bytes, "buffer_alloc: allocates dimension 4611686018427387904",
         VIOLATE(alloc(world, World::desc({4, int64_t{1} << 62})));),
    CASE(unknown_placement, "buffer_alloc: allocates with placement 5", tenon_desc d = World::desc({4});
         d.placement = 5; VIOLATE(alloc(world, d));),
    CASE(splits_rank_0, "buffer_alloc: splits a buffer of rank 0", tenon_desc d = World::desc({});
         d.placement = TENON_SPLIT; VIOLATE(alloc(world, d));),
    CASE(short_desc, "buffer_alloc: passes a tenon_desc of 8 bytes, expected 96 or more",
         tenon_desc d = World::desc({4});
         d.struct_size = 8; VIOLATE(alloc(world, d));),
    CASE(no_desc, "buffer_alloc: passes no tenon_desc", tenon_buffer* b = nullptr; void* m = nullptr;
         VIOLATE(t.buffer_alloc(world.device, nullptr, &b, &m));),
    CASE(frees_twice, "buffer_free: passes as buffer buffer #N, which was destroyed",
         tenon_buffer* b = world.buffer({4});
         t.buffer_free(b); VIOLATE_VOID(t.buffer_free(b));),
    CASE(frees_a_queue, "buffer_free: passes as buffer queue #N",
         VIOLATE_VOID(t.buffer_free(reinterpret_cast<tenon_buffer*>(world.queue)));),
    CASE(frees_what_is_no_handle, "buffer_free: passes as buffer what was never a handle",
         VIOLATE_VOID(t.buffer_free(wild<tenon_buffer>()));),
};
INSTANTIATE_TEST_SUITE_P(Memory, HostViolation, testing::ValuesIn(kHostMemory), name_of);

const Case kHostQueues[] = {
    CASE(two_destinations, "copy: sets both of dst and dst_host", tenon_copy c = world.write_x(); c.dst_host = &c;
         VIOLATE(t.copy(world.queue, &c, &world.ticket));),
    CASE(no_source, "copy: sets none of src and src_host", tenon_copy c = world.write_x(); c.src_host = nullptr;
         VIOLATE(t.copy(world.queue, &c, &world.ticket));),
    CASE(copies_beyond, "copy: copies 32 bytes at 16 of destination #N, which has 32", tenon_copy c = world.write_x();
         c.dst_offset = 16; VIOLATE(t.copy(world.queue, &c, &world.ticket));),
    CASE(copies_part_of_a_row, "copy: copies 8 bytes at 0 of destination #N, whose rows have 16",
         tenon_copy c = world.write_x();
         c.bytes = 8; VIOLATE(t.copy(world.queue, &c, &world.ticket));),
    CASE(copies_to_a_freed_buffer, "copy: passes as destination buffer #N, which was destroyed",
         tenon_copy c = world.write_x();
         c.dst = world.buffer({2, 4}); t.buffer_free(c.dst); VIOLATE(t.copy(world.queue, &c, &world.ticket));),
    CASE(no_room_for_the_ticket, "copy: passes no place for the ticket", const tenon_copy c = world.write_x();
         VIOLATE(t.copy(world.queue, &c, nullptr));),
    CASE(destroyed_queue, "copy: passes as queue queue #N, which was destroyed", const tenon_copy c = world.write_x();
         tenon_queue* q = world.new_queue(); t.queue_destroy(q); VIOLATE(t.copy(q, &c, &world.ticket));),
    CASE(after_a_ticket_to_come, "copy: waits for ticket 7 of queue #N, the last one given is 0",
         tenon_copy c = world.write_x();
         const tenon_point p{world.queue, 7}; c.after = &p; c.n_after = 1;
         VIOLATE(t.copy(world.queue, &c, &world.ticket));),
    CASE(no_points, "copy: waits for 2 points and passes none", tenon_copy c = world.write_x(); c.n_after = 2;
         VIOLATE(t.copy(world.queue, &c, &world.ticket));),
    CASE(after_another_device, "copy: waits for a queue of another device", tenon_copy c = world.write_x();
         tenon_device* d = world.new_device(); tenon_queue* q = nullptr;
         ASSERT_EQ(t.queue_create(d, 0, &q).code, TENON_OK); const tenon_point p{q, 1}; c.after = &p; c.n_after = 1;
         VIOLATE(t.copy(world.queue, &c, &world.ticket));),
    CASE(copies_elsewhere, "copy: copies on queue #N between buffers of other devices", tenon_copy c = world.write_x();
         tenon_device* d = world.new_device(); tenon_queue* q = nullptr;
         ASSERT_EQ(t.queue_create(d, 0, &q).code, TENON_OK); VIOLATE(t.copy(q, &c, &world.ticket));),
    CASE(waits_for_0, "wait: waits for ticket 0 of queue #N, the last one given is 0",
         VIOLATE(t.wait(world.queue, 0, 0));),
    CASE(waits_for_the_future, "wait: waits for ticket 9 of queue #N, the last one given is 1",
         ASSERT_EQ(world.submit().code, TENON_OK);
         VIOLATE(t.wait(world.queue, 9, UINT64_MAX));),
};
INSTANTIATE_TEST_SUITE_P(Queues, HostViolation, testing::ValuesIn(kHostQueues), name_of);

// Calls run with arguments that this spoils.
#define RUN(...)                                                             \
  tenon_run r = world.arguments();                                           \
  std::vector<tenon_buffer*> in{world.w, world.x}, out{world.w, world.loss}; \
  r.inputs = in.data(), r.results = out.data();                              \
  __VA_ARGS__;                                                               \
  VIOLATE(t.run(world.queue, &r, &world.ticket, &world.done))

const Case kRuns[] = {
    CASE(no_iterations, "run: runs 0 iterations of a program compiled for 1 to 3", RUN(r.iterations = 0);),
    CASE(too_many_iterations, "run: runs 4 iterations of a program compiled for 1 to 3", RUN(r.iterations = 4);),
    CASE(no_program, "run: passes no program", RUN(r.program = nullptr);),
    CASE(destroyed_program, "run: passes as program program #N, which was destroyed",
         RUN(r.program = world.compile(world.graph); t.program_destroy(r.program));),
    CASE(program_of_another_device, "run: passes as program a program of another device",
         tenon_device* d = world.new_device();
         std::swap(d, world.device); tenon_program* other = world.compile(world.graph); std::swap(d, world.device);
         RUN(r.program = other);),
    CASE(no_inputs, "run: passes no inputs", RUN(r.inputs = nullptr);),
    CASE(input_missing, "run: passes no input 1", RUN(in[1] = nullptr);),
    CASE(input_of_other_dims, "run: passes as input 1 buffer #N of f32[4,2], expected f32[2,4]",
         RUN(in[1] = world.buffer({4, 2}));),
    CASE(input_freed, "run: passes as input 1 buffer #N, which was destroyed",
         RUN(in[1] = world.buffer({2, 4}); t.buffer_free(in[1]));),
    CASE(result_without_rows, "run: passes as result 1 buffer #N of f32[1], expected f32[3]",
         RUN(out[1] = world.buffer({1}));),
    CASE(result_missing, "run: passes no result 1", RUN(out[1] = nullptr);),
    CASE(another_buffer_for_the_state, "run: passes as result 0 another buffer than that of input 0, which it updates",
         RUN(out[0] = world.buffer({4}));),
    CASE(no_scalars, "run: passes no scalars, the program takes 1", RUN(r.scalars = nullptr);),
    CASE(feed_without_release, "run: passes a feed without next or release", tenon_feed f{}; f.struct_size = sizeof f;
         RUN(r.feed = &f);),
    CASE(short_run, "run: passes a tenon_run of 24 bytes, expected 72 or more", RUN(r.struct_size = 24);),
};
INSTANTIATE_TEST_SUITE_P(Runs, HostViolation, testing::ValuesIn(kRuns), name_of);

TEST(HostViolationOfAliases, AnInputsBufferIsNoResultAndNoBufferIsTwo) {
  World world;
  plugin::GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {4}, TENON_ROLE_STATE), y = b.value(TENON_F32, {4}),
                 z = b.value(TENON_F32, {4});
  b.node("two", {x}, {y, z});
  b.result(y), b.result(z);
  tenon_run r = world.arguments();
  tenon_program* program = world.compile(b.build());
  tenon_buffer* other = world.buffer({4});
  const auto results = [&](tenon_buffer* first, tenon_buffer* second) {
    tenon_buffer *in[] = {world.w}, *out[] = {first, second};
    r.program = program, r.inputs = in, r.results = out;
    return std::string(world.t.run(world.queue, &r, &world.ticket, &world.done).message);
  };
  EXPECT_EQ(results(other, world.w),
            "tenon: the host broke the contract in run: passes an input's buffer as result 1, which updates none");
  EXPECT_EQ(results(other, other), "tenon: the host broke the contract in run: passes one buffer for two results");
}

// ---- work that is not done, calls in progress ----

TEST(HostViolationInTime, NothingIsDestroyedThatSubmittedWorkUses) {
  World world("", true);
  ASSERT_EQ(world.submit().code, TENON_OK);
  for (int round = 0; round < 2; ++round) {
    world.t.buffer_free(world.x);
    world.t.program_destroy(world.program);
  }
  ASSERT_EQ(lines().size(), 4u);
  EXPECT_TRUE(std::regex_match(
      lines()[0],
      std::regex(
          "tenon: the host broke the contract in buffer_free: destroys buffer #[0-9]+, which submitted work uses")));
  EXPECT_TRUE(std::regex_match(lines()[1], std::regex("tenon: the host broke the contract in program_destroy: destroys "
                                                      "program #[0-9]+, which submitted work uses")));
  fake::complete_all();  // now they may go
  world.t.buffer_free(world.x);
  world.x = nullptr;
  EXPECT_EQ(lines().size(), 4u);
}

TEST(HostViolationInTime, AQueueThatOthersWaitForStays) {
  World world("", true);
  ASSERT_EQ(world.submit().code, TENON_OK);
  tenon_queue* second = world.new_queue();
  tenon_copy c = world.write_x();
  const tenon_point p{world.queue, 1};
  c.after = &p, c.n_after = 1;
  ASSERT_EQ(world.t.copy(second, &c, &world.ticket).code, TENON_OK);
  world.violate_void([&] { world.t.queue_destroy(world.queue); });
  ASSERT_EQ(world.t.wait(second, 1, UINT64_MAX).code, TENON_OK);
  world.t.queue_destroy(second);
  EXPECT_EQ(lines().size(), 1u);
}

// A feed whose next does what the test says.
struct Script {
  std::function<int32_t(uint64_t, tenon_buffer**, tenon_point*)> next;
  tenon_feed feed{sizeof(tenon_feed), 0, this,
                  [](void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after) {
                    return static_cast<Script*>(ctx)->next(i, feeds, after);
                  },
                  [](void*, uint64_t) {}};
};

std::string run_with(World& world, Script& script) {
  tenon_run r = world.arguments();
  r.feed = &script.feed;
  const tenon_status status = world.t.run(world.queue, &r, &world.ticket, &world.done);
  return std::regex_replace(std::string(status.message ? status.message : ""), std::regex("#[0-9]+"), "#N");
}

TEST(HostViolationInFeed, ABatchIsWhatTheProgramExpects) {
  World world;
  Script script;
  tenon_buffer* give = world.buffer({4, 4});
  script.next = [&](uint64_t, tenon_buffer** feeds, tenon_point*) { return feeds[0] = give, 1; };
  EXPECT_EQ(run_with(world, script),
            "tenon: the host broke the contract in run: passes as batch 0's input 0 buffer #N of f32[4,4], expected "
            "f32[2,4]");
  world.t.buffer_free(give);
  EXPECT_EQ(run_with(world, script),
            "tenon: the host broke the contract in run: passes as batch 0's input 0 buffer #N, which was destroyed");
  give = nullptr;
  EXPECT_EQ(run_with(world, script), "tenon: the host broke the contract in run: passes no batch 0's input 0");
  script.next = [&](uint64_t, tenon_buffer** feeds, tenon_point* after) {
    return feeds[0] = world.x, *after = {world.queue, 99}, 1;
  };
  EXPECT_EQ(
      run_with(world, script),
      "tenon: the host broke the contract in run: gives a batch after ticket 99 of queue #N, the last one given is 0");
  EXPECT_EQ(lines().size(), 4u);
}

TEST(HostViolationInFeed, TheQueueAndWhatRunUsesAreTaken) {
  World world;
  Script script;
  tenon_copy c = world.write_x();
  uint64_t ticket = 0;
  script.next = [&](uint64_t i, tenon_buffer** feeds, tenon_point*) -> int32_t {
    feeds[0] = world.x;
    if (i == 0) {
      EXPECT_EQ(world.t.copy(world.queue, &c, &ticket).code, TENON_ABI);
    }
    if (i == 1) std::thread([&] { EXPECT_EQ(world.t.copy(world.queue, &c, &ticket).code, TENON_ABI); }).join();
    if (i == 2) world.t.buffer_free(world.w);
    return 1;
  };
  EXPECT_EQ(run_with(world, script), "");
  ASSERT_EQ(lines().size(), 3u);
  EXPECT_NE(lines()[0].find(" from inside its own run"), std::string::npos) << lines()[0];
  EXPECT_NE(lines()[1].find(" while another thread is in run"), std::string::npos) << lines()[1];
  EXPECT_NE(lines()[2].find(", which another call uses"), std::string::npos) << lines()[2];
}

#undef RUN
#undef VIOLATE
#undef VIOLATE_VOID

}  // namespace
}  // namespace tenon::validation_testing

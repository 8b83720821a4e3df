// Every rule that a backend can break: named, reported, and told to the host as TENON_ABI.
#include <signal.h>
#include <unistd.h>

#include <regex>

#include "unit/validation/world.h"

namespace tenon::validation_testing {
namespace {

class BackendViolation : public testing::TestWithParam<Case> {};

// The fault is the case's name with '-' for '_'.
std::string fault_of(const Case& c) {
  return std::regex_replace(std::string(c.name), std::regex("_(?!open|alloc|create|destroy)"), "-");
}

void expect_line(const std::string& expected) {
  ASSERT_EQ(lines().size(), 1u) << testing::PrintToString(lines());
  EXPECT_EQ(std::regex_replace(lines()[0], std::regex("#[0-9]+"), "#N"),
            "backend fake broke the contract in " + expected);
}

TEST_P(BackendViolation, IsNamed) {
  World world;
  fake::set_fault(fault_of(GetParam()));
  GetParam().act(world);
  expect_line(GetParam().line);
  fake::set_fault("");
  ASSERT_EQ(::chdir("/tmp"), 0);
  ::signal(SIGUSR2, SIG_DFL);
}

#define VIOLATE(call) world.violate([&] { return call; })

tenon_status count_units(World& world) {
  uint32_t n = 0;
  return world.t.enumerate(world.t.self, nullptr, nullptr, sizeof(tenon_unit), &n);
}

tenon_status list_units(World& world) {
  std::vector<tenon_unit> units(3);
  uint32_t n = 3;
  return world.t.enumerate(world.t.self, nullptr, units.data(), sizeof(tenon_unit), &n);
}

tenon_status open(World& world, uint64_t flags = 0) {
  tenon_open o{};
  o.flags = flags;
  tenon_device* mine = world.device;
  const tenon_status status = world.open({0}, o);
  world.device = mine;
  return status;
}

tenon_status compile(World& world) {
  tenon_info info{};
  info.struct_size = sizeof info;
  tenon_program* out = nullptr;
  return world.t.compile(world.device, world.graph.graph(), &world.options, &out, &info);
}

tenon_status alloc(World& world, uint64_t flags) {
  tenon_desc d = World::desc({4}, flags);
  tenon_buffer* out = nullptr;
  void* memory = nullptr;
  return world.t.buffer_alloc(world.device, &d, &out, &memory);
}

tenon_status copy(World& world, uint64_t flags = 0) {
  tenon_copy c = world.write_x();
  c.flags = flags;
  return world.t.copy(world.queue, &c, &world.ticket);
}

tenon_status stats(World& world) {
  tenon_stats s{};
  s.struct_size = sizeof s;
  return world.t.stats(world.device, &s);
}

tenon_status describe(World& world) {
  tenon_plan plan{};
  plan.struct_size = sizeof plan;
  return world.t.describe(world.program, &plan);
}

tenon_status error_info(World& world) {
  tenon_error e{};
  e.struct_size = sizeof e;
  return world.t.error_info(world.queue, &e);
}

tenon_status facts(World& world) {
  tenon_facts f{};
  f.struct_size = sizeof f;
  return world.t.facts(world.device, &f);
}

// Any entry: the status.
const Case kStatuses[] = {
    CASE(copy_throw, "copy: threw an exception", VIOLATE(copy(world));),
    CASE(run_throw, "run: threw an exception", VIOLATE(world.submit());),
    CASE(compile_throw, "compile: threw an exception", VIOLATE(compile(world));),
    CASE(supports_code, "supports: answered code 99, which there is not",
         VIOLATE(world.supports(*world.graph.graph()));),
    CASE(run_negative, "run: answered code -1, which there is not", VIOLATE(world.submit());),
    CASE(device_open_silent, "device_open: answered code 8 without a message", VIOLATE(open(world));),
    CASE(buffer_alloc_empty, "buffer_alloc: answered code 8 with an empty message", VIOLATE(alloc(world, 0));),
    CASE(queue_create_lines, "queue_create: gave a message of several lines: 'one?two'", tenon_queue* q = nullptr;
         VIOLATE(t.queue_create(world.device, 0, &q));),
    CASE(stats_negative, "stats: answered code -1, which there is not", VIOLATE(stats(world));),
};
INSTANTIATE_TEST_SUITE_P(Statuses, BackendViolation, testing::ValuesIn(kStatuses), name_of);

// What it leaves changed.
const Case kStates[] = {
    CASE(run_rounding, "run: left the rounding mode changed", VIOLATE(world.submit());),
    CASE(wait_mask, "wait: left the signal mask changed", ASSERT_EQ(world.submit().code, TENON_OK);
         VIOLATE(t.wait(world.queue, world.ticket, 0));),
    CASE(compile_handler, "compile: changed a signal handler", VIOLATE(compile(world));),
    CASE(device_open_directory, "device_open: changed the current directory", VIOLATE(open(world));),
    CASE(device_close_rounding, "device_close: left the rounding mode changed", fake::set_fault("");
         tenon_device* d = world.new_device(); fake::set_fault("device_close-rounding");
         world.violate_void([&] { t.device_close(d); });),
    CASE(copy_rounding, "copy: left the rounding mode changed", VIOLATE(copy(world));),
};
INSTANTIATE_TEST_SUITE_P(States, BackendViolation, testing::ValuesIn(kStates), name_of);

const Case kBackendDevices[] = {
    CASE(enumerate_none, "enumerate: answered OK with no unit, expected UNAVAILABLE and why",
         VIOLATE(count_units(world));),
    CASE(enumerate_beyond, "enumerate: wrote beyond the 3 units it had room for", VIOLATE(list_units(world));),
    CASE(enumerate_depth, "enumerate: gave unit 0 feed_depth 0, expected 1 or more", VIOLATE(list_units(world));),
    CASE(enumerate_kind, "enumerate: gave unit 0 no kind", VIOLATE(list_units(world));),
    CASE(enumerate_endless, "enumerate: gave unit 0 a name without an end", VIOLATE(list_units(world));),
    CASE(enumerate_escape, "enumerate: gave unit 0 a name that cannot be printed: '?[1m'", VIOLATE(list_units(world));),
    CASE(device_open_null, "device_open: answered OK without a device", VIOLATE(open(world));),
    CASE(device_open_both, "device_open: gave a device together with an error", VIOLATE(open(world));),
    CASE(device_open_flags, "device_open: took a tenon_open with flags 4294967552, of which it cannot know 256",
         VIOLATE(open(world, 0x100000100));),
    CASE(stats_size, "stats: set struct_size 56, there was room for 48", VIOLATE(stats(world));),
    CASE(facts_size, "facts: set struct_size 64, there was room for 56", VIOLATE(facts(world));),
    CASE(facts_kind, "facts: tells as kind what is no line: 'A?B'", VIOLATE(facts(world));),
    CASE(facts_vendor, "facts: tells as vendor what is no line: ''", VIOLATE(facts(world));),
    CASE(facts_clock, "facts: tells of trace clock 9, expected 0 to 2", VIOLATE(facts(world));),
};
INSTANTIATE_TEST_SUITE_P(Devices, BackendViolation, testing::ValuesIn(kBackendDevices), name_of);

const Case kPrograms[] = {
    CASE(supports_answer, "supports: answered 9 for node 0, expected 0 to 2",
         VIOLATE(world.supports(*world.graph.graph()));),
    CASE(supports_refuse, "supports: refused node 0 without a reason", VIOLATE(world.supports(*world.graph.graph()));),
    CASE(supports_impure, "supports: answered 2 for node 0 ('step'), then 1: it is to be pure",
         VIOLATE(world.supports(*world.graph.graph()));),
    CASE(supports_beyond, "supports: wrote beyond the 1 verdicts it had room for",
         VIOLATE(world.supports(*world.graph.graph()));),
    CASE(supports_writes, "supports: wrote into the graph", VIOLATE(world.supports(*world.graph.graph()));),
    CASE(supports_flags, "supports: took a tenon_options with flags 16, of which it cannot know 16",
         world.options.flags = 16;
         VIOLATE(world.supports(*world.graph.graph()));),
    CASE(compile_refuse, "compile: takes every node of the graph and cannot compile it: cannot do it after all",
         VIOLATE(compile(world));),
    CASE(compile_full, "compile: is out of memory and does not say in info what it needs", VIOLATE(compile(world));),
    CASE(compile_null, "compile: answered OK without a program", VIOLATE(compile(world));),
    CASE(compile_both, "compile: gave a program together with an error", VIOLATE(compile(world));),
    CASE(compile_info_size, "compile: set info's struct_size 144, there was room for 136", VIOLATE(compile(world));),
    CASE(compile_no_array, "compile: lists 3 allocations with a stride of 0", VIOLATE(compile(world));),
    CASE(compile_wild_array, "compile: lists allocation 0 of node 1000, alive from 0 to 0, of 1 nodes",
         VIOLATE(compile(world));),
    CASE(describe_size, "describe: set struct_size 96, there was room for 88", VIOLATE(describe(world));),
    CASE(describe_stride, "describe: lists 1 steps with a stride of 8", VIOLATE(describe(world));),
    CASE(describe_nameless, "describe: gave step 0 no op", VIOLATE(describe(world));),
    CASE(describe_wild_node, "describe: says that step 0 does node 7 of 1", VIOLATE(describe(world));),
    CASE(describe_twice, "describe: says that two steps do node 0", VIOLATE(describe(world));),
    CASE(describe_endless, "describe: lists buffer 0, alive from 0 to 1, of 1 steps", VIOLATE(describe(world));),
    CASE(describe_nowhere, "describe: lists value 0 of node 0 of 1 in buffer 1 of 1", VIOLATE(describe(world));),
    CASE(describe_beyond, "describe: lists value 0, 16 bytes at 56 of a buffer of 64", VIOLATE(describe(world));),
};
INSTANTIATE_TEST_SUITE_P(Programs, BackendViolation, testing::ValuesIn(kPrograms), name_of);

const Case kBackendMemory[] = {
    CASE(alloc_null, "buffer_alloc: answered OK without a buffer", VIOLATE(alloc(world, 0));),
    CASE(alloc_again, "buffer_alloc: gave the handle of buffer #N, which is alive, once more",
         VIOLATE(alloc(world, 0));),
    CASE(alloc_shows, "buffer_alloc: gave memory for a buffer that is not HOST", VIOLATE(alloc(world, 0));),
    CASE(alloc_hides, "buffer_alloc: gave a HOST buffer no memory", VIOLATE(alloc(world, TENON_DESC_HOST));),
    CASE(alloc_misaligned, "buffer_alloc: gave a HOST buffer memory that is not 64-byte aligned",
         VIOLATE(alloc(world, TENON_DESC_HOST));),
    CASE(alloc_overlaps, "buffer_alloc: gave buffer #N memory of buffer #N", fake::set_fault("");
         (void)world.buffer({4}, TENON_DESC_HOST); fake::set_fault("alloc-overlaps");
         VIOLATE(alloc(world, TENON_DESC_HOST));),
};
INSTANTIATE_TEST_SUITE_P(Memory, BackendViolation, testing::ValuesIn(kBackendMemory), name_of);

const Case kBackendQueues[] = {
    CASE(queue_null, "queue_create: answered OK without a queue", tenon_queue* q = nullptr;
         VIOLATE(t.queue_create(world.device, 0, &q));),
    CASE(queue_flags, "queue_create: took a queue_create's flags, with flags 2, of which it cannot know 2",
         tenon_queue* q = nullptr;
         VIOLATE(t.queue_create(world.device, 2, &q));),
    CASE(copy_flags, "copy: took a tenon_copy with flags 1, of which it cannot know 1", VIOLATE(copy(world, 1));),
    CASE(copy_ticket_zero, "copy: gave ticket 0, expected more than 0", VIOLATE(copy(world));),
    CASE(run_ticket_same, "run: gave ticket 1, expected more than 1", ASSERT_EQ(copy(world).code, TENON_OK);
         VIOLATE(world.submit());),
    CASE(run_more, "run: did 4 iterations, expected at most 3", VIOLATE(world.submit());),
    CASE(run_less, "wait: answered OK for ticket 1, whose run did less than it was told",
         ASSERT_EQ(world.submit().code, TENON_OK);
         VIOLATE(t.wait(world.queue, world.ticket, UINT64_MAX));),
    CASE(wait_timeout, "wait: answered TIMEOUT on an INLINE unit, whose tickets are complete",
         ASSERT_EQ(world.submit().code, TENON_OK);
         VIOLATE(t.wait(world.queue, world.ticket, 5));),
};
const Case kErrors[] = {
    CASE(error_info_size, "error_info: set struct_size 64, there was room for 56", VIOLATE(error_info(world));),
    CASE(error_info_mute, "error_info: tells of code 8 without a message", VIOLATE(error_info(world));),
    CASE(error_info_ticket, "error_info: tells of ticket 99 of queue #N, the last one given is 0",
         VIOLATE(error_info(world));),
};
INSTANTIATE_TEST_SUITE_P(Errors, BackendViolation, testing::ValuesIn(kErrors), name_of);

INSTANTIATE_TEST_SUITE_P(Queues, BackendViolation, testing::ValuesIn(kBackendQueues), name_of);

// Two entries: `first` makes the state that the second one then denies.
TEST(BackendViolationInTime, WaitForEverDoesNotTimeOut) {
  World world("", true);
  ASSERT_EQ(world.submit().code, TENON_OK);
  EXPECT_EQ(world.t.wait(world.queue, world.ticket, 0).code, TENON_TIMEOUT);
  EXPECT_TRUE(lines().empty());
  fake::set_fault("wait-timeout");
  world.violate([&] { return world.t.wait(world.queue, world.ticket, UINT64_MAX); });
  expect_line("wait: answered TIMEOUT, though it was to wait for ever");
}

TEST(BackendViolationInTime, WhatWasCompleteStaysComplete) {
  World world("", true);
  ASSERT_EQ(world.submit().code, TENON_OK);
  ASSERT_EQ(world.submit().code, TENON_OK);
  ASSERT_EQ(world.t.wait(world.queue, 2, UINT64_MAX).code, TENON_OK);
  fake::set_fault("wait-timeout");
  world.violate([&] { return world.t.wait(world.queue, 1, 0); });
  expect_line("wait: answered TIMEOUT for ticket 1, which was complete before");
}

TEST(BackendViolationInTime, AFailureSticks) {
  for (const char* denial : {"wait-forgets", "wait-another"}) {
    World world;
    ASSERT_EQ(world.submit().code, TENON_OK);
    fake::set_fault("wait-fails");
    EXPECT_EQ(world.t.wait(world.queue, 1, 0).code, TENON_INTERNAL);
    fake::set_fault("");
    EXPECT_EQ(world.submit().code, TENON_INVALID) << "the backend keeps the rule here";
    EXPECT_TRUE(lines().empty());
    fake::set_fault(denial);
    world.violate([&] { return world.t.wait(world.queue, 1, 0); });
    expect_line(std::string(denial) == "wait-forgets"
                    ? "wait: answered OK on queue #N, which has failed: the first cause"
                    : "wait: answered 'another cause' on queue #N, which had failed with 'the first cause'");
    lines().clear();
    fake::set_fault("wait-forgets");
    world.violate([&] { return copy(world); });
    expect_line("copy: took work for queue #N, which has failed: the first cause");
  }
}

TEST(BackendViolationInTime, WhatIsToldOfAFailureIsWhatWaitTold) {
  for (const auto& [fault, line] :
       {std::pair("error-info-none", "error_info: tells of no failure of queue #N, which has failed: the first cause"),
        {"error-info-another", "error_info: tells 'another' of queue #N, which had failed with 'the first cause'"}}) {
    World world;
    ASSERT_EQ(world.submit().code, TENON_OK);
    fake::set_fault("wait-fails");
    EXPECT_EQ(world.t.wait(world.queue, 1, 0).code, TENON_INTERNAL);
    fake::set_fault("");
    tenon_error told{};
    told.struct_size = sizeof told;
    EXPECT_EQ(world.t.error_info(world.queue, &told).code, TENON_OK);
    EXPECT_EQ(std::tuple(told.code, told.native, told.ticket, told.node, told.iteration),
              std::tuple(TENON_INTERNAL, 7, 1u, 3u, 2u));
    EXPECT_TRUE(lines().empty());
    fake::set_fault(fault);
    world.violate([&] { return error_info(world); });
    expect_line(line);
  }
}

TEST(BackendViolationInTime, ALostDeviceStaysLost) {
  World world("");
  fake::set_fault("copy-lost");
  EXPECT_EQ(copy(world).code, TENON_DEVICE_LOST);
  EXPECT_TRUE(lines().empty());
  fake::set_fault("");
  world.violate([&] { return world.submit(); });
  expect_line("run: answered OK on a device that was lost");
}

TEST(BackendViolationInTime, TracesAreWholeAndEnd) {
  World world;
  int events = 0;
  const tenon_sink sink{sizeof sink, 0, &events, [](void* ctx, const tenon_event*, uint32_t n, uint64_t) {
                          *static_cast<int*>(ctx) += static_cast<int>(n);
                        }};
  for (const auto& [fault, line] : {std::pair("trace-nameless", "emit: emits an event without a name"),
                                    std::pair("trace-stride", "emit: emits 1 events with a stride of 8")}) {
    lines().clear();
    fake::set_fault(fault);
    ASSERT_EQ(world.t.trace(world.device, &sink).code, TENON_OK);
    expect_line(line);
    fake::set_fault("");
    ASSERT_EQ(world.t.trace(world.device, nullptr).code, TENON_OK);
  }
  EXPECT_EQ(events, 2) << "those of the two flushes";
  lines().clear();
  fake::call_late();
  expect_line("emit: emits events after its trace was ended");
  EXPECT_EQ(events, 2);
}

// ---- feeds ----

struct Batches {
  explicit Batches(World& world, uint64_t end) : feed{sizeof feed, 0, this, next, release}, x(world.x), n(end) {}
  static int32_t next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point*) {
    auto& self = *static_cast<Batches*>(ctx);
    feeds[0] = self.x;
    return i < self.n;
  }
  static void release(void* ctx, uint64_t) { ++static_cast<Batches*>(ctx)->released; }
  tenon_feed feed;
  tenon_buffer* x;
  uint64_t n, released = 0;
};

struct FeedCase {
  const char* fault;
  uint64_t batches;
  const char* line;
};

TEST(BackendViolationInFeed, IsNamed) {
  for (const FeedCase& c : {FeedCase{"feed-order", 3, "asked for batch 1, expected 0"},
                            FeedCase{"feed-greedy", 3, "asked for batch 2 while 2 are unreleased, its feed_depth"},
                            FeedCase{"feed-keeps", 3, "asked for batch 2 while 2 are unreleased, its feed_depth"},
                            FeedCase{"feed-release", 3, "released batch 0, expected 0 of the 0 given"},
                            FeedCase{"feed-release-order", 3, "released batch 1, expected 0 of the 2 given"},
                            FeedCase{"feed-stopped", 1, "asked for batch 1 after the feed had stopped"},
                            FeedCase{"feed-endless", 9, "asked for batch 3 of 3 iterations"},
                            FeedCase{"feed-thread", 3, "called the feed from another thread than run's"}}) {
    World world;
    Batches batches(world, c.batches);
    tenon_run r = world.arguments();
    r.feed = &batches.feed;
    fake::set_fault(c.fault);
    world.violate([&] { return world.t.run(world.queue, &r, &world.ticket, &world.done); });
    expect_line(std::string("run: ") + c.line);
  }
}

TEST(BackendViolationInFeed, ALateCallGetsNothing) {
  World world;
  Batches batches(world, 3);
  tenon_run r = world.arguments();
  r.feed = &batches.feed;
  fake::set_fault("feed-late");
  ASSERT_EQ(world.t.run(world.queue, &r, &world.ticket, &world.done).code, TENON_OK);
  EXPECT_TRUE(lines().empty());
  fake::call_late();
  expect_line("next: called the feed outside of run");
}

// ---- what it asks of the host ----

TEST(BackendViolationOfHostTable, IsNamed) {
  const struct {
    const char* fault;
    const char* line;
  } cases[] = {
      {"copy-log-level", "backend fake broke the contract in log: logs at level 9"},
      {"copy-log-thread", "backend fake broke the contract in log: called the host from outside its entries"},
      {"copy-gang-of-none", "backend fake broke the contract in gang: wants a gang of 0"},
      {"copy-gang-rounding", "backend fake broke the contract in gang: left the rounding mode changed"},
      {"copy-get-nothing", "backend fake broke the contract in cache_get: asks the cache without a key or a size"},
      {"copy-put-nothing", "backend fake broke the contract in cache_put: stores without a key or data"},
      {"copy-open-nothing",
       "backend fake broke the contract in open_backend: opens a backend without a name or a table"},
      {"copy-gang", "tenon: the host broke the contract in gang: made a gang of 1 threads, said 2, asked were 4"}};
  for (const auto& c : cases) {
    World world;
    fake::set_fault(c.fault);
    EXPECT_EQ(copy(world).code, TENON_OK);
    EXPECT_EQ(lines(), std::vector<std::string>{c.line});
  }
}

// ---- what no table can be made of ----

TEST(Validation, ATableThatIsNotWholeIsRefused) {
  (void)table();
  lines().clear();
  tenon_backend inner = fake::make("fake"), out{};
  EXPECT_EQ(plugin::validate_backend(inner, &out).code, TENON_ABI) << "no struct_size";
  out.struct_size = sizeof out;
  inner.run = nullptr;
  EXPECT_EQ(plugin::validate_backend(inner, &out).code, TENON_ABI);
  EXPECT_EQ(lines().size(), 2u);
}

TEST(Validation, InitIsHeldToTheSameRules) {
  (void)table();
  lines().clear();
  static const tenon_host nobody{sizeof(tenon_host)};
  for (const char* fault : {"init-throw", "init-code", "init-silent", "init-lines"}) {
    fake::set_fault(fault);
    tenon_backend out{};
    out.struct_size = sizeof out;
    EXPECT_EQ(plugin::validate_init(fake::init, nobody, "fake", &out).code, TENON_ABI) << fault;
  }
  fake::set_fault("");
  EXPECT_EQ(lines().size(), 4u);
  EXPECT_EQ(lines()[0], "backend fake broke the contract in tenon_backend_init: threw an exception");
  // That host was the last to be told: the table that the other tests use keeps its own.
  EXPECT_EQ(plugin::validate_init(nullptr, nobody, "fake", nullptr).code, TENON_ABI);
}

#undef VIOLATE

}  // namespace
}  // namespace tenon::validation_testing

// A device with memory of its own: what returns at once, what overlaps, what sticks.
#include "tenon/plugin/device_backend.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tenon/plugin/graph_builder.h"
#include "unit/runtime/far_device.h"

namespace tenon::plugin::testing {
namespace {

constexpr int64_t kCount = 16;
constexpr uint64_t kBytes = kCount * sizeof(float);
constexpr uint64_t kMoment = 20'000'000;  // ns
using Floats = std::vector<float>;

class FarDevice : public ::testing::Test {
 protected:
  FarDevice() {
    table.struct_size = sizeof table;
    good(init_device_backend(far_backend(), nullptr, &table));
    tenon_open open{};
    open.struct_size = sizeof open;
    good(table.device_open(table.self, &open, &device));
    good(table.queue_create(device, 0, &queue));
  }
  ~FarDevice() override {
    far_device().open_gate();
    table.queue_destroy(queue);
    for (tenon_buffer* b : buffers) table.buffer_free(b);
    table.program_destroy(program);
    table.device_close(device);
    far_device().lost = false;
    far_device().opens_for_waiters = false;
    far_device().largest_buffer = 1 << 20;
    far_device().bytes_left = 1 << 20;
    EXPECT_EQ(far_device().allocations, 0);
    EXPECT_EQ(far_device().of_host, 0);
  }

  static void good(tenon_status s) { EXPECT_EQ(s.code, TENON_OK) << (s.message ? s.message : ""); }
  static std::string text(tenon_status s) { return s.message ? s.message : ""; }

  tenon_buffer* buffer(float** host = nullptr) {
    tenon_desc desc{};
    desc.struct_size = sizeof desc;
    desc.flags = host ? TENON_DESC_HOST : 0;
    desc.dtype = TENON_F32;
    desc.rank = 1;
    desc.dims[0] = kCount;
    tenon_buffer* out = nullptr;
    good(table.buffer_alloc(device, &desc, &out, reinterpret_cast<void**>(host)));
    buffers.push_back(out);
    return out;
  }
  void fill_with(float* host, float value) { std::fill_n(host, kCount, value); }

  // s' = s + x
  void compile_sum(uint32_t max_iterations) {
    GraphBuilder b;
    const uint32_t s = b.input(TENON_F32, {kCount}, TENON_ROLE_STATE),
                   x = b.input(TENON_F32, {kCount}, TENON_ROLE_FEED);
    const uint32_t y = b.value(TENON_F32, {kCount});
    b.node("add", {s, x}, {y}).name("sum");
    b.result(y, TENON_MODE_LAST, 1);
    const FlatGraph graph = b.build();
    tenon_options options{};
    options.struct_size = sizeof options;
    options.max_iterations = max_iterations;
    good(table.compile(device, graph.graph(), &options, &program, nullptr));
  }
  // y = 14 x, by way of four values that are alive at a time.
  tenon_status compile_fan() {
    GraphBuilder b;
    const uint32_t x = b.input(TENON_F32, {kCount}, TENON_ROLE_FEED);
    const auto sum = [&](uint32_t left, uint32_t right) {
      const uint32_t y = b.value(TENON_F32, {kCount});
      b.node("add", {left, right}, {y}).name("fan");
      return y;
    };
    const uint32_t two = sum(x, x), three = sum(x, two), four = sum(x, three), five = sum(x, four);
    b.result(sum(sum(sum(two, three), four), five));
    const FlatGraph graph = b.build();
    tenon_options options{};
    options.struct_size = sizeof options;
    return table.compile(device, graph.graph(), &options, &program, nullptr);
  }
  // From the host's memory or to it; at these offsets in both.
  tenon_status copy(tenon_copy what, uint64_t* ticket) {
    what.struct_size = sizeof what;
    return table.copy(queue, &what, ticket);
  }
  tenon_error failure() {
    tenon_error error{};
    error.struct_size = sizeof error;
    good(table.error_info(queue, &error));
    return error;
  }
  tenon_status start(std::vector<tenon_buffer*> inputs, std::vector<tenon_buffer*> results, uint32_t iterations,
                     const tenon_feed* feed, uint64_t* ticket, uint32_t* done = nullptr) {
    tenon_run run{};
    run.struct_size = sizeof run;
    run.program = program;
    run.iterations = iterations;
    run.inputs = inputs.data();
    run.results = results.data();
    run.feed = feed;
    return table.run(queue, &run, ticket, done);
  }

  tenon_backend table{};
  tenon_device* device = nullptr;
  tenon_queue* queue = nullptr;
  tenon_program* program = nullptr;
  std::vector<tenon_buffer*> buffers;
};

TEST_F(FarDevice, ReturnsFromRunBeforeTheWorkIsDone) {
  compile_sum(3);
  float *state, *batch;
  tenon_buffer *s = buffer(&state), *x = buffer(&batch);
  fill_with(state, 1);
  fill_with(batch, 10);
  far_device().close_gate();
  uint64_t ticket = 0;
  good(start({s, x}, {s}, 3, nullptr, &ticket));
  EXPECT_EQ(table.wait(queue, ticket, kMoment).code, TENON_TIMEOUT);
  EXPECT_EQ(state[0], 1);
  far_device().open_gate();
  good(table.wait(queue, ticket, UINT64_MAX));
  EXPECT_EQ(Floats(state, state + kCount), Floats(kCount, 31));
}

class FarDeviceParts : public FarDevice, public ::testing::WithParamInterface<uint64_t> {};

// With one value in a buffer, parts are as small as can be.
TEST_P(FarDeviceParts, HasItsWorkspaceInBuffersAsLargeAsItAllows) {
  far_device().largest_buffer = GetParam() * kBytes;
  const int before = far_device().allocations;
  good(compile_fan());
  EXPECT_EQ(far_device().allocations - before, static_cast<int>(4 / GetParam()));
  float *batch, *result;
  tenon_buffer *x = buffer(&batch), *y = buffer(&result);
  fill_with(batch, 1);
  uint64_t ticket = 0;
  good(start({x}, {y}, 1, nullptr, &ticket));
  good(table.wait(queue, ticket, UINT64_MAX));
  EXPECT_EQ(Floats(result, result + kCount), Floats(kCount, 14));
}
INSTANTIATE_TEST_SUITE_P(ValuesInABuffer, FarDeviceParts, ::testing::Values(1, 2, 4));

TEST_F(FarDevice, SaysWhichNodeNeedsMoreThanItsLargestBuffer) {
  far_device().largest_buffer = kBytes - 1;
  const tenon_status status = compile_fan();
  EXPECT_EQ(status.code, TENON_OUT_OF_MEMORY);
  EXPECT_EQ(text(status), "add 'fan': a value of 64 bytes is more than this device's largest buffer, 63");
}

// Hands out two HOST buffers in turn, and remembers the order of what happens.
struct Ring {
  tenon_buffer* buffers[2];
  float* host[2];
  uint64_t count = 4;
  std::string order;
  static int32_t next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point*) {
    auto& ring = *static_cast<Ring*>(ctx);
    ring.order += "n" + std::to_string(i);
    if (i == 2) far_device().open_gate();  // until here no kernel ran
    std::fill_n(ring.host[i % 2], kCount, static_cast<float>(i + 1));
    feeds[0] = ring.buffers[i % 2];
    return i < ring.count;
  }
  static void release(void* ctx, uint64_t i) { static_cast<Ring*>(ctx)->order += "r" + std::to_string(i); }
};

TEST_F(FarDevice, SendsTheNextBatchWhileTheFirstComputes) {
  compile_sum(10);
  float* state;
  Ring ring;
  tenon_buffer* s = buffer(&state);
  for (int i : {0, 1}) ring.buffers[i] = buffer(&ring.host[i]);
  fill_with(state, 0);
  far_device().close_gate();
  const tenon_feed feed{sizeof feed, 0, &ring, Ring::next, Ring::release};
  uint64_t ticket = 0;
  uint32_t done = 0;
  good(start({s, nullptr}, {s}, 10, &feed, &ticket, &done));
  good(table.wait(queue, ticket, UINT64_MAX));
  EXPECT_EQ(done, 4u);
  EXPECT_EQ(state[0], 1 + 2 + 3 + 4);
  EXPECT_EQ(ring.order.find("n2") != std::string::npos, true);
  for (const char* i : {"0", "1", "2", "3"}) {  // each comes before it goes, two at most are held
    const size_t taken = ring.order.find(std::string("n") + i), back = ring.order.find(std::string("r") + i);
    ASSERT_NE(back, std::string::npos) << ring.order;
    EXPECT_LT(taken, back) << ring.order;
  }
  EXPECT_LT(ring.order.find("r0"), ring.order.find("n2")) << ring.order;
}

// A batch that was given back may be filled again before the iteration that reads it has begun.
TEST_F(FarDevice, ReadsABatchAsItWasSentHoweverSoonItIsFilledAgain) {
  compile_sum(1);
  float* state;
  Ring ring;
  ring.count = 1;
  tenon_buffer* s = buffer(&state);
  ring.buffers[0] = buffer(&ring.host[0]);
  fill_with(state, 0);
  far_device().close_gate();
  const tenon_feed feed{sizeof feed, 0, &ring, Ring::next, Ring::release};
  uint64_t ticket = 0, copied = 0;
  good(start({s, nullptr}, {s}, 1, &feed, &ticket));
  ASSERT_EQ(ring.order, "n0r0");
  tenon_queue* other = nullptr;
  good(table.queue_create(device, 0, &other));
  const Floats nine(kCount, 9);
  tenon_copy copy{};
  copy.struct_size = sizeof copy;
  copy.dst = ring.buffers[0];
  copy.src_host = nine.data();
  copy.bytes = kBytes;
  good(table.copy(other, &copy, &copied));
  EXPECT_EQ(table.wait(other, copied, kMoment).code, TENON_TIMEOUT);
  far_device().open_gate();
  good(table.wait(queue, ticket, UINT64_MAX));
  good(table.wait(other, copied, UINT64_MAX));
  EXPECT_EQ(Floats(state, state + kCount), Floats(kCount, 1));
  EXPECT_EQ(Floats(ring.host[0], ring.host[0] + kCount), nine);
  table.queue_destroy(other);
}

TEST_F(FarDevice, IsLostWithItsReasonUntilItIsClosed) {
  compile_sum(1);
  tenon_buffer *s = buffer(), *x = buffer();
  uint64_t first = 0, second = 0;
  good(start({s, x}, {s}, 1, nullptr, &first));
  good(table.wait(queue, first, UINT64_MAX));
  far_device().lost = true;
  good(start({s, x}, {s}, 1, nullptr, &second));  // it had begun
  const tenon_status told = table.wait(queue, second, UINT64_MAX);
  EXPECT_EQ(told.code, TENON_DEVICE_LOST);
  EXPECT_EQ(text(told), "the far device fell off");
  tenon_queue* other = nullptr;
  EXPECT_EQ(table.queue_create(device, 0, &other).code, TENON_DEVICE_LOST);
  EXPECT_EQ(table.wait(queue, first, 0).code, TENON_DEVICE_LOST);
  EXPECT_EQ(start({s, x}, {s}, 1, nullptr, &second).code, TENON_DEVICE_LOST);
  EXPECT_EQ(failure().ticket, 2u);
  EXPECT_EQ(failure().program, program);
}

// By whatever entry it was noticed; another queue's work is not known to be done any more.
TEST_F(FarDevice, IsLostForAllQueuesThoughItAnswersAgain) {
  tenon_buffer* x = buffer();
  const Floats ones(kCount, 1);
  uint64_t ticket = 0;
  good(copy({.dst = x, .src_host = ones.data(), .bytes = kBytes}, &ticket));
  good(table.wait(queue, ticket, UINT64_MAX));
  far_device().lost = true;
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = TENON_F32;
  tenon_buffer* out = nullptr;
  EXPECT_EQ(table.buffer_alloc(device, &desc, &out, nullptr).code, TENON_DEVICE_LOST);
  far_device().lost = false;
  EXPECT_EQ(table.buffer_alloc(device, &desc, &out, nullptr).code, TENON_DEVICE_LOST);
  EXPECT_EQ(text(table.wait(queue, ticket, 0)), "buffer_alloc: the far device fell off");
}

TEST_F(FarDevice, TakesACopyThatFailsAndTellsSoToWhoWaits) {
  tenon_buffer* x = buffer();
  const Floats ones(kCount, 1);
  uint64_t ticket = 0;
  far_device().lost = true;
  good(copy({.dst = x, .src_host = ones.data(), .bytes = kBytes}, &ticket));
  EXPECT_EQ(table.wait(queue, ticket, UINT64_MAX).code, TENON_DEVICE_LOST);
  EXPECT_EQ(failure().ticket, ticket);
  EXPECT_EQ(failure().program, nullptr);
}

// By the number that it has in the graph of the host: one in front of it was rewritten as two.
TEST_F(FarDevice, TellsWhichNodeFailedAndInWhichIteration) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {kCount}, TENON_ROLE_FEED), y = b.value(TENON_F32, {kCount}),
                 z = b.value(TENON_F32, {kCount});
  b.node("far.triple", {x}, {y}).name("triple");
  b.node("far.fail", {y}, {z}).name("fail");
  b.result(z);
  const FlatGraph graph = b.build();
  tenon_options options{};
  options.struct_size = sizeof options;
  good(table.compile(device, graph.graph(), &options, &program, nullptr));
  uint64_t ticket = 0;
  good(start({buffer()}, {buffer()}, 1, nullptr, &ticket));
  EXPECT_EQ(text(table.wait(queue, ticket, UINT64_MAX)), "the far device has no such kernel");
  EXPECT_EQ(failure().code, TENON_INTERNAL);
  EXPECT_EQ(failure().native, 7);
  EXPECT_EQ(failure().node, 1u);
  EXPECT_EQ(failure().iteration, 0u);
  EXPECT_EQ(failure().program, program);
}

// Batches may be missing in the first iteration, or later.
TEST_F(FarDevice, RefusesARunWhoseFirstBatchIsMissing) {
  compile_sum(2);
  struct None {
    static int32_t next(void*, uint64_t, tenon_buffer**, tenon_point*) { return 1; }
    static void release(void*, uint64_t) {}
  };
  const tenon_feed feed{sizeof feed, 0, nullptr, None::next, None::release};
  tenon_buffer* s = buffer();
  uint64_t ticket = 0;
  const tenon_status status = start({s, nullptr}, {s}, 2, &feed, &ticket);
  EXPECT_EQ(status.code, TENON_INVALID);
  EXPECT_EQ(failure().code, TENON_OK);
}

TEST_F(FarDevice, WritesARowAnIteration) {
  GraphBuilder b;
  const uint32_t s = b.input(TENON_F32, {kCount}, TENON_ROLE_STATE), y = b.value(TENON_F32, {kCount});
  b.node("add", {s, s}, {y}).name("double");
  b.result(y, TENON_MODE_LAST, 1);
  b.result(y, TENON_MODE_EACH);
  const FlatGraph graph = b.build();
  tenon_options options{};
  options.struct_size = sizeof options;
  options.max_iterations = 3;
  good(table.compile(device, graph.graph(), &options, &program, nullptr));
  float* state;
  tenon_buffer* state_buffer = buffer(&state);
  fill_with(state, 1);
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = TENON_F32;
  desc.rank = 1;
  desc.dims[0] = 3 * kCount;
  tenon_buffer* rows = nullptr;
  good(table.buffer_alloc(device, &desc, &rows, nullptr));
  buffers.push_back(rows);
  uint64_t ticket = 0;
  good(start({state_buffer}, {state_buffer, rows}, 3, nullptr, &ticket));
  Floats got(3 * kCount);
  good(copy({.dst_host = got.data(), .src = rows, .bytes = 3 * kBytes}, &ticket));
  good(table.wait(queue, ticket, UINT64_MAX));
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], 2 << i / kCount) << i;
}

// The first ticket's work is done, and the queue knows; the second's is not.
TEST_F(FarDevice, SaysOfEachTicketWhetherItIsDone) {
  compile_sum(1);
  tenon_buffer *s = buffer(), *x = buffer();
  uint64_t first = 0, second = 0;
  far_device().close_gate();
  good(start({s, x}, {s}, 1, nullptr, &first));
  good(start({s, x}, {s}, 1, nullptr, &second));
  far_device().let_one_pass();
  good(table.wait(queue, first, UINT64_MAX));
  EXPECT_EQ(table.wait(queue, second, 0).code, TENON_TIMEOUT);
  EXPECT_EQ(table.wait(queue, second, kMoment).code, TENON_TIMEOUT);
  far_device().open_gate();
  good(table.wait(queue, second, UINT64_MAX));
}

TEST_F(FarDevice, WaitsAsLongAsItIsToldThoughThatIsMoreThan32BitsOfNanoseconds) {
  compile_sum(1);
  tenon_buffer *s = buffer(), *x = buffer();
  uint64_t ticket = 0;
  far_device().close_gate();
  far_device().opens_for_waiters = true;
  good(start({s, x}, {s}, 1, nullptr, &ticket));
  EXPECT_EQ(table.wait(queue, ticket, 0).code, TENON_TIMEOUT);
  good(table.wait(queue, ticket, uint64_t{1} << 40));
}

TEST_F(FarDevice, MakesTheHostWaitWhereTooMuchIsUnderWay) {
  compile_sum(1);
  tenon_buffer *s = buffer(), *x = buffer();
  uint64_t ticket = 0;
  far_device().close_gate();
  far_device().opens_for_waiters = true;
  far_device().waits = 0;
  int runs = 0;
  while (runs < 1000 && far_device().waits == 0) good(start({s, x}, {s}, 1, nullptr, &ticket)), ++runs;
  EXPECT_GT(runs, 8);
  EXPECT_GT(far_device().waits, 0);
  good(table.wait(queue, ticket, UINT64_MAX));
}

// A larger program takes the memory of a smaller one's workspace, which is still at work.
TEST_F(FarDevice, KeepsAWorkspaceUntilItsLastUseIsOver) {
  good(compile_fan());
  float *batch, *result;
  tenon_buffer *x = buffer(&batch), *y = buffer(&result);
  fill_with(batch, 1);
  far_device().close_gate();
  far_device().opens_for_waiters = true;
  far_device().early = 0;
  uint64_t ticket = 0;
  good(start({x}, {y}, 1, nullptr, &ticket));
  tenon_program* small = program;
  GraphBuilder b;
  const uint32_t in = b.input(TENON_F32, {100 * kCount}, TENON_ROLE_FEED), once = b.value(TENON_F32, {100 * kCount}),
                 twice = b.value(TENON_F32, {100 * kCount});
  b.node("add", {in, in}, {once}).name("once");
  b.node("add", {in, once}, {twice}).name("twice");
  b.result(twice);
  const FlatGraph graph = b.build();
  tenon_options options{};
  options.struct_size = sizeof options;
  good(table.compile(device, graph.graph(), &options, &program, nullptr));
  EXPECT_EQ(far_device().early, 0);
  good(table.wait(queue, ticket, UINT64_MAX));
  EXPECT_EQ(Floats(result, result + kCount), Floats(kCount, 14));
  table.program_destroy(small);
}

// The parts that there were go to the pool, which ends with the device.
TEST_F(FarDevice, LosesNoMemoryWhereAWorkspaceIsNotToBeHad) {
  far_device().largest_buffer = kBytes;
  far_device().bytes_left = 2 * kBytes;
  const tenon_status status = compile_fan();
  EXPECT_EQ(status.code, TENON_OUT_OF_MEMORY);
  EXPECT_EQ(text(status), "compile: the step's workspace: out of memory for 64 bytes");
  tenon_stats stats{};
  stats.struct_size = sizeof stats;
  good(table.stats(device, &stats));
  EXPECT_EQ(stats.bytes_in_use, 2 * kBytes);
  far_device().bytes_left += 2 * kBytes;
  good(compile_fan());
  far_device().bytes_left = (1 << 20) - static_cast<int64_t>(4 * kBytes);
}

TEST_F(FarDevice, CompilesAProgramThatNeedsNoWorkspace) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {kCount}, TENON_ROLE_FEED), y = b.value(TENON_F32, {kCount});
  b.node("add", {x, x}, {y}).name("double");
  b.result(y);
  const FlatGraph graph = b.build();
  tenon_options options{};
  options.struct_size = sizeof options;
  good(table.compile(device, graph.graph(), &options, &program, nullptr));  // the device has no empty memory
}

TEST_F(FarDevice, TakesMemoryOfTheHostForHostBuffersAlone) {
  buffer();
  EXPECT_EQ(far_device().of_host, 0);
  float* host;
  buffer(&host);
  EXPECT_EQ(far_device().of_host, 1);
}

TEST_F(FarDevice, CopiesPartsToWhereTheyBelong) {
  float *in, *out;
  tenon_buffer *x = buffer(&in), *y = buffer(&out), *far = buffer();
  for (int i = 0; i < kCount; ++i) in[i] = static_cast<float>(i), out[i] = -1;
  Floats host(kCount, -1);
  uint64_t ticket = 0;
  constexpr uint64_t kFour = 4 * sizeof(float);
  good(copy({.dst = far, .dst_offset = 2 * kFour, .src = x, .src_offset = kFour, .bytes = kFour}, &ticket));
  good(copy({.dst = y, .dst_offset = kFour, .src = far, .src_offset = 2 * kFour, .bytes = kFour}, &ticket));
  good(copy({.dst = y, .dst_offset = 3 * kFour, .src = x, .src_offset = 2 * kFour, .bytes = kFour}, &ticket));
  good(copy({.dst_host = host.data(), .dst_offset = kFour, .src = far, .src_offset = 2 * kFour, .bytes = kFour},
            &ticket));
  good(table.wait(queue, ticket, UINT64_MAX));
  EXPECT_EQ(Floats(out, out + kCount), (Floats{-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11}));
  EXPECT_EQ(host, (Floats{-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1, -1, -1, -1, -1}));
  good(copy({.dst_host = host.data(), .src = far}, &ticket));  // of no bytes
  good(table.wait(queue, ticket, UINT64_MAX));
}

// What the device writes into the host's memory is there by then.
TEST_F(FarDevice, CopiesBetweenTwoPointersOfTheHostInTheirTurn) {
  compile_sum(1);
  float *state, *batch;
  tenon_buffer *s = buffer(&state), *x = buffer(&batch);
  fill_with(state, 1);
  fill_with(batch, 2);
  far_device().close_gate();
  far_device().opens_for_waiters = true;
  uint64_t ticket = 0;
  Floats to(kCount, 0);
  good(start({s, x}, {s}, 1, nullptr, &ticket));
  good(copy({.dst_host = to.data(), .src_host = state, .bytes = kBytes}, &ticket));
  good(table.wait(queue, ticket, UINT64_MAX));
  EXPECT_EQ(to, Floats(kCount, 3));
}

TEST_F(FarDevice, CopiesNothingFromAnother) {
  tenon_open open{};
  open.struct_size = sizeof open;
  tenon_device* other = nullptr;
  good(table.device_open(table.self, &open, &other));
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = TENON_F32;
  tenon_buffer *there = nullptr, *here = buffer();
  good(table.buffer_alloc(other, &desc, &there, nullptr));
  uint64_t ticket = 0;
  EXPECT_EQ(copy({.dst = here, .src = there, .bytes = 4}, &ticket).code, TENON_UNSUPPORTED);
  const tenon_status status = copy({.dst = there, .src = here, .bytes = 4}, &ticket);
  EXPECT_EQ(status.code, TENON_UNSUPPORTED);
  EXPECT_EQ(text(status), "copy: between devices, go by the host's memory");
  table.buffer_free(there);
  table.device_close(other);
}

TEST_F(FarDevice, SaysHowMuchMemoryThereIsNot) {
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = TENON_F32;
  desc.rank = 1;
  desc.dims[0] = 1 << 20;
  tenon_buffer* out = nullptr;
  const tenon_status s = table.buffer_alloc(device, &desc, &out, nullptr);
  EXPECT_EQ(s.code, TENON_OUT_OF_MEMORY);
  EXPECT_EQ(text(s), "buffer_alloc: out of memory for 4194304 bytes");
}

TEST_F(FarDevice, HasNoMoreInOnePieceThanItsLargestBuffer) {
  far_device().largest_buffer = 4096;
  tenon_stats stats{};
  stats.struct_size = sizeof stats;
  good(table.stats(device, &stats));
  EXPECT_EQ(stats.bytes_free, (1u << 20) - stats.bytes_in_use);
  EXPECT_EQ(stats.bytes_largest_free, 4096u);
}

TEST_F(FarDevice, RefusesWhatItsDriverDoesNotHave) {
  GraphBuilder b;
  const uint32_t s = b.input(TENON_F64, {kCount}, TENON_ROLE_STATE), y = b.value(TENON_F64, {kCount});
  b.node("add", {s, s}, {y}).name("sum");
  b.result(y);
  const FlatGraph graph = b.build();
  tenon_options options{};
  options.struct_size = sizeof options;
  const uint32_t node = 0;
  tenon_verdict verdict{};
  good(table.supports(device, graph.graph(), &options, &node, 1, &verdict, sizeof verdict));
  EXPECT_EQ(verdict.answer, TENON_REFUSE);
  EXPECT_STREQ(verdict.reason, "the far device has no f64");
  GraphBuilder other;
  const uint32_t x = other.input(TENON_F64, {kCount}, TENON_ROLE_FEED), z = other.value(TENON_F64, {kCount});
  other.node("exp", {x}, {z}).name("exp");
  other.result(z);
  const FlatGraph unknown = other.build();
  good(table.supports(device, unknown.graph(), &options, &node, 1, &verdict, sizeof verdict));
  EXPECT_EQ(verdict.answer, TENON_DECOMPOSE);  // what it is made of is asked for then
  const tenon_status s2 = table.compile(device, graph.graph(), &options, &program, nullptr);
  EXPECT_EQ(s2.code, TENON_UNSUPPORTED);
  EXPECT_EQ(text(s2), "add 'sum': the far device has no f64");
}

TEST_F(FarDevice, CopiesBetweenTwoBuffersOfTheHostInTheirTurn) {
  compile_sum(1);
  float *state, *batch, *kept;
  tenon_buffer *s = buffer(&state), *x = buffer(&batch), *k = buffer(&kept);
  fill_with(state, 1);
  fill_with(batch, 2);
  fill_with(kept, 0);
  far_device().close_gate();
  uint64_t ticket = 0;
  good(start({s, x}, {s}, 1, nullptr, &ticket));
  tenon_copy copy{};
  copy.struct_size = sizeof copy;
  copy.dst = k;
  copy.src = s;
  copy.bytes = kBytes;
  good(table.copy(queue, &copy, &ticket));
  EXPECT_EQ(kept[0], 0);
  far_device().open_gate();
  good(table.wait(queue, ticket, UINT64_MAX));
  EXPECT_EQ(kept[0], 3);
}

}  // namespace
}  // namespace tenon::plugin::testing

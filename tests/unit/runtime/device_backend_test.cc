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
    far_device().largest_buffer = 1 << 20;
    EXPECT_EQ(far_device().allocations, 0);
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

// Of a value's size: parts as small as can be.
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
  EXPECT_EQ(table.wait(queue, first, 0).code, TENON_DEVICE_LOST);
  EXPECT_EQ(start({s, x}, {s}, 1, nullptr, &second).code, TENON_DEVICE_LOST);
  tenon_queue* other = nullptr;
  EXPECT_EQ(table.queue_create(device, 0, &other).code, TENON_DEVICE_LOST);
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

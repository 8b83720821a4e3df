// Queues of a device in ordinary memory: what sticks to them, what they tell of it, and what goes on.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "unit/runtime/toy_backend.h"

namespace tenon::plugin::testing {
namespace {

constexpr int64_t kLength = 4;

Numbers all(int64_t v) { return Numbers(kLength, v); }

uint32_t node_of(GraphBuilder& b, const char* op, const std::vector<uint32_t>& operands, const char* name) {
  const uint32_t y = b.value(TENON_I64, {kLength});
  b.node(op, operands, {y}).name(name);
  return y;
}

// s' = s + x, where s passes the gate; it fails in the iteration in which s is k.
GraphBuilder counter(int64_t k) {
  GraphBuilder b;
  const uint32_t s = b.input(TENON_I64, {kLength}, TENON_ROLE_STATE),
                 x = b.input(TENON_I64, {kLength}, TENON_ROLE_FEED);
  const uint32_t passed = node_of(b, "toy.gate", {s}, "gate"), good = node_of(b, "toy.fail", {passed}, "fail");
  b.attr_i64("k", k);
  b.result(node_of(b, "add", {good, x}, "count"), TENON_MODE_LAST, 1);
  return b;
}

tenon_error told(const Toy& toy, tenon_queue* queue) {
  tenon_error error;
  std::memset(&error, 0xFF, sizeof error);  // all of it is told
  error.struct_size = sizeof error;
  error.flags = 0;
  EXPECT_EQ(toy.table.error_info(queue, &error).code, TENON_OK);
  return error;
}

tenon_status enqueue(const Toy& toy, tenon_program* program, tenon_buffer* state, tenon_buffer* x, uint32_t iterations,
                     uint64_t* ticket, const tenon_feed* feed = nullptr) {
  tenon_buffer *inputs[] = {state, x}, *results[] = {state};
  tenon_run r{};
  r.struct_size = sizeof r;
  r.program = program;
  r.iterations = iterations;
  r.inputs = inputs;
  r.results = results;
  r.feed = feed;
  uint32_t done = 0;
  return toy.table.run(toy.queue, &r, ticket, &done);
}

TEST(Queues, TellNothingUntilTheyFail) {
  Toy toy;
  const tenon_error error = told(toy, toy.queue);
  EXPECT_EQ(error.code, TENON_OK);
  EXPECT_EQ(error.ticket, 0u);
  EXPECT_EQ(error.program, nullptr);
  EXPECT_EQ(error.node, TENON_NONE);
  EXPECT_EQ(error.iteration, TENON_NONE);
  EXPECT_EQ(error.message, nullptr);
}

// The second was taken before the first had failed; it is not done.
TEST(WorkerQueues, TellWhereAKernelFailedAndDoNothingBehindIt) {
  Toy toy(1, true);
  tenon_program *counts = toy.compile(counter(3), 10), *goes_on = toy.compile(counter(100));
  tenon_buffer *s = toy.buffer(all(0)), *x = toy.buffer(all(1)), *other = toy.buffer(all(50));
  close_toy_gate();
  uint64_t first = 0, second = 0;
  ASSERT_EQ(enqueue(toy, counts, s, x, 10, &first).code, TENON_OK);
  ASSERT_EQ(enqueue(toy, goes_on, other, x, 1, &second).code, TENON_OK);
  EXPECT_EQ(toy.table.wait(toy.queue, first, 1).code, TENON_TIMEOUT);
  open_toy_gate();

  const tenon_status status = toy.table.wait(toy.queue, second, UINT64_MAX);
  EXPECT_EQ(status.code, TENON_INTERNAL);
  EXPECT_EQ(status.native, 42);
  EXPECT_STREQ(status.message, "toy.fail at 3");
  const tenon_error error = told(toy, toy.queue);
  EXPECT_EQ(error.code, TENON_INTERNAL);
  EXPECT_EQ(error.native, 42);
  EXPECT_EQ(error.ticket, first);
  EXPECT_EQ(error.program, counts);
  EXPECT_EQ(error.iteration, 3u);
  EXPECT_STREQ(error.message, "toy.fail at 3");
  EXPECT_STREQ(toy.table.wait(toy.queue, first, 0).message, "toy.fail at 3");
  EXPECT_STREQ(enqueue(toy, goes_on, other, x, 1, &second).message, "toy.fail at 3");

  tenon_queue* sound = nullptr;
  ASSERT_EQ(toy.table.queue_create(toy.device, 0, &sound).code, TENON_OK);
  std::swap(sound, toy.queue);
  EXPECT_EQ(toy.read(s, kLength), all(3));
  EXPECT_EQ(toy.read(other, kLength), all(50));
  std::swap(sound, toy.queue);
  toy.table.queue_destroy(sound);
}

// On the calling thread nothing has been enqueued by then.
TEST(Queues, GoOnAfterARunThatFailsInItsFirstIteration) {
  Toy toy;
  tenon_program* program = toy.compile(counter(3), 10);
  tenon_buffer *s = toy.buffer(all(7)), *x = toy.buffer(all(1));
  uint64_t ticket = 0;
  EXPECT_STREQ(enqueue(toy, program, s, x, 10, &ticket).message, "toy.fail at 7");
  EXPECT_EQ(told(toy, toy.queue).code, TENON_OK);
  toy.write(s, all(-5));
  EXPECT_EQ(enqueue(toy, program, s, x, 8, &ticket).code, TENON_OK);
  EXPECT_EQ(toy.read(s, kLength), all(3));
}

TEST(Queues, TellInWhichIterationARunFailed) {
  Toy toy;
  tenon_program* program = toy.compile(counter(3), 10);
  tenon_buffer *s = toy.buffer(all(1)), *x = toy.buffer(all(1));
  uint64_t ticket = 0;
  EXPECT_EQ(enqueue(toy, program, s, x, 10, &ticket).code, TENON_OK);
  EXPECT_STREQ(toy.table.wait(toy.queue, ticket, 0).message, "toy.fail at 3");
  EXPECT_EQ(told(toy, toy.queue).iteration, 2u);
  EXPECT_EQ(told(toy, toy.queue).ticket, ticket);
  EXPECT_EQ(told(toy, toy.queue).program, program);
}

// A thread sanitizer sees whether what the run adds to the queue is added under the queue's lock.
TEST(Queues, AnswerOtherThreadsWhileARunFails) {
  constexpr uint64_t kRun = 3;  // its ticket, behind those of the copies into s and x
  for (int round = 0; round < 20; ++round) {
    Toy toy;
    tenon_program* program = toy.compile(counter(3), 10);
    tenon_buffer *s = toy.buffer(all(1)), *x = toy.buffer(all(1));
    std::atomic<bool> asks{false}, over{false};
    std::thread other([&] {
      while (!over) {
        const tenon_status status = toy.table.wait(toy.queue, kRun, 0);
        const std::string message = status.message ? status.message : "";
        EXPECT_TRUE(message == "wait: the queue has no such ticket yet" || message == "toy.fail at 3") << message;
        asks = true;
      }
    });
    while (!asks) std::this_thread::yield();
    uint64_t ticket = 0;
    EXPECT_EQ(enqueue(toy, program, s, x, 10, &ticket).code, TENON_OK);
    EXPECT_EQ(ticket, kRun);
    over = true;
    other.join();
  }
}

// Hands out the same buffers at each iteration but one, at which it hands out none.
struct Gap {
  tenon_buffer* buffer;
  uint64_t at;
  static int32_t next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point*) {
    const auto& gap = *static_cast<Gap*>(ctx);
    if (i != gap.at) feeds[0] = gap.buffer;
    return 1;
  }
  static void release(void*, uint64_t) {}
  tenon_feed feed() { return {sizeof(tenon_feed), 0, this, next, release}; }
};

TEST(Queues, RefuseARunWhoseFirstBatchIsMissing) {
  for (const bool workers : {false, true}) {
    Toy toy(1, workers);
    tenon_program* program = toy.compile(counter(100), 10);
    tenon_buffer *s = toy.buffer(all(0)), *x = toy.buffer(all(1));
    Gap gap{x, 0};
    const tenon_feed feed = gap.feed();
    uint64_t ticket = 0;
    const tenon_status status = enqueue(toy, program, s, nullptr, 10, &ticket, &feed);
    EXPECT_EQ(status.code, TENON_INVALID);
    EXPECT_STREQ(status.message, "run: a fed buffer is missing or too small");
    EXPECT_EQ(told(toy, toy.queue).code, TENON_OK);
    EXPECT_EQ(enqueue(toy, program, s, x, 2, &ticket).code, TENON_OK);
    EXPECT_EQ(toy.read(s, kLength), all(2));
  }
}

// The batch of the iteration before is not taken in its place.
TEST(Queues, FailWhereALaterBatchIsMissing) {
  Toy toy;
  tenon_program* program = toy.compile(counter(100), 10);
  tenon_buffer *s = toy.buffer(all(0)), *x = toy.buffer(all(1));
  Gap gap{x, 2};
  const tenon_feed feed = gap.feed();
  uint64_t ticket = 0;
  EXPECT_EQ(enqueue(toy, program, s, nullptr, 10, &ticket, &feed).code, TENON_OK);
  EXPECT_EQ(told(toy, toy.queue).iteration, 2u);
  EXPECT_STREQ(told(toy, toy.queue).message, "run: a fed buffer is missing or too small");
}

// On a queue with a thread a kernel that fails may have left anything behind.
TEST(WorkerQueues, FailWhereAFedRunFailsInItsFirstIteration) {
  Toy toy(1, true);
  tenon_program* program = toy.compile(counter(0), 10);
  tenon_buffer *s = toy.buffer(all(0)), *x = toy.buffer(all(1));
  Gap gap{x, 100};
  const tenon_feed feed = gap.feed();
  uint64_t ticket = 0;
  EXPECT_EQ(enqueue(toy, program, s, nullptr, 10, &ticket, &feed).code, TENON_OK);
  EXPECT_STREQ(toy.table.wait(toy.queue, ticket, UINT64_MAX).message, "toy.fail at 0");
  EXPECT_EQ(told(toy, toy.queue).iteration, 0u);
}

// The points: one of no queue, one of the copy's own, one of a queue without work.
TEST(Queues, TakePointsThatAreReached) {
  for (const bool workers : {false, true}) {
    Toy toy(1, workers);
    tenon_buffer* x = toy.buffer(all(1));
    uint64_t ticket = 0;
    const Numbers two = all(2);
    tenon_copy c{};
    c.struct_size = sizeof c;
    c.dst = x;
    c.src_host = two.data();
    c.bytes = kLength * 8;
    ASSERT_EQ(toy.table.copy(toy.queue, &c, &ticket).code, TENON_OK);
    tenon_queue* idle = nullptr;
    ASSERT_EQ(toy.table.queue_create(toy.device, 0, &idle).code, TENON_OK);
    const tenon_point after[] = {{nullptr, 99}, {toy.queue, ticket}, {idle, 0}};
    c.after = after;
    c.n_after = 3;
    EXPECT_EQ(toy.table.copy(toy.queue, &c, &ticket).code, TENON_OK);
    EXPECT_EQ(toy.read(x, kLength), two);
    toy.table.queue_destroy(idle);
  }
}

TEST(Queues, CopyBetweenTwoPointersOfTheHost) {
  for (const bool workers : {false, true}) {
    Toy toy(1, workers);
    const Numbers from = {1, 2, 3, 4};
    Numbers to = all(0);
    uint64_t ticket = 0;
    tenon_copy c{};
    c.struct_size = sizeof c;
    c.src_host = from.data();
    c.src_offset = 8;
    c.dst_host = to.data();
    c.dst_offset = 16;
    c.bytes = 16;
    ASSERT_EQ(toy.table.copy(toy.queue, &c, &ticket).code, TENON_OK);
    EXPECT_EQ(toy.table.wait(toy.queue, ticket, UINT64_MAX).code, TENON_OK);
    EXPECT_EQ(to, (Numbers{0, 0, 2, 3}));
  }
}

// Any thread may wait for a queue, ask what has failed on it, and let work of another queue come behind it.
TEST(WorkerQueues, AnswerOtherThreadsWhileOneSubmits) {
  Toy toy(1, true);
  tenon_program *counts = toy.compile(counter(300)), *fails = toy.compile(counter(0));
  tenon_buffer *s = toy.buffer(all(0)), *x = toy.buffer(all(1)), *seen = toy.buffer(all(-1));
  tenon_queue* behind = nullptr;
  ASSERT_EQ(toy.table.queue_create(toy.device, 0, &behind).code, TENON_OK);
  std::atomic<uint64_t> given{0};
  std::atomic<bool> over{false};
  std::thread other([&] {
    for (bool failed = false; !failed && !over;) {
      const tenon_point after{toy.queue, given};
      if (after.ticket == 0) continue;
      tenon_copy c{};
      c.struct_size = sizeof c;
      c.after = &after;
      c.n_after = 1;
      c.dst = seen;
      c.src = x;
      c.bytes = kLength * 8;
      uint64_t ticket = 0;
      toy.table.copy(behind, &c, &ticket);
      failed = told(toy, toy.queue).code != TENON_OK;
      const tenon_status status = toy.table.wait(toy.queue, after.ticket, UINT64_MAX);
      EXPECT_EQ(std::string(status.message ? status.message : ""), status.message ? "toy.fail at 200" : "");
    }
  });
  for (int i = 0; i < 200; ++i) {
    uint64_t ticket = 0;
    EXPECT_EQ(enqueue(toy, counts, s, x, 1, &ticket).code, TENON_OK);
    given = ticket;
  }
  uint64_t last = 0;
  EXPECT_EQ(enqueue(toy, fails, s, x, 1, &last).code, TENON_OK);
  EXPECT_STREQ(toy.table.wait(toy.queue, last, UINT64_MAX).message, "toy.fail at 200");
  over = true;
  other.join();
  EXPECT_EQ(told(toy, toy.queue).ticket, last);
  toy.table.queue_destroy(behind);
}

}  // namespace
}  // namespace tenon::plugin::testing

// What queues and fed runs ask of their streams: what comes behind what, and how long is waited.
#include <gtest/gtest.h>

#include <functional>

#include "runtime/handles.h"
#include "runtime/host/gang_executor.h"
#include "runtime/host/host_driver.h"
#include "runtime/plan/planner.h"
#include "tenon/plugin/graph_builder.h"
#include "unit/runtime/fake_stream.h"

namespace tenon::plugin::testing {
namespace {

// Ordinary memory whose streams do nothing.
struct StillDriver : HostDriver {
  StillDriver() : HostDriver(nullptr, false) {}
  std::unique_ptr<DeviceStream> open_stream() override { return std::make_unique<Remembering>(); }
};

Remembering& as_remembering(DeviceStream& stream) { return static_cast<Remembering&>(stream); }

// What is reached in five seconds, of which none passes: who waits as long is told so at once, and anybody else that the
// time is over. 32 bits of nanoseconds are less.
struct InFiveSeconds : DeviceMark {
  bool reached(uint64_t timeout_ns) override {
    if (timeout_ns < 5'000'000'000) return false;
    if (then) then();
    is_over = true;
    return true;
  }
  std::function<void()> then;  // what is done by then
  bool is_over = false;
};

// The batches, too.
TEST(QueueStreams, AllComeBehindThePointOfAnotherQueue) {
  const Backend backend;
  Device device(backend, Execution::kStream, std::make_unique<StillDriver>());
  Queue first(device), second(device);
  const auto mark = std::make_shared<Never>();
  as_remembering(first.work()).mark = mark;
  const tenon_point after{reinterpret_cast<tenon_queue*>(&first), first.finish()};
  second.begin(&after, 1);
  EXPECT_EQ(as_remembering(second.work()).behind, std::vector<DeviceMark*>{mark.get()});
  EXPECT_EQ(as_remembering(second.transfers()).behind, std::vector<DeviceMark*>{mark.get()});
}

TEST(QueueStreams, AreDrainedHoweverLongThatTakes) {
  const Backend backend;
  Device device(backend, Execution::kStream, std::make_unique<StillDriver>());
  Queue queue(device);
  const auto work = std::make_shared<InFiveSeconds>(), transfers = std::make_shared<InFiveSeconds>();
  as_remembering(queue.work()).mark = work;
  as_remembering(queue.transfers()).mark = transfers;
  queue.drain();
  EXPECT_TRUE(work->is_over);
  EXPECT_TRUE(transfers->is_over);
}

// A worker's stream with work that is done in five seconds.
struct SlowStream : HostStream {
  SlowStream() : HostStream(true) {}
  std::shared_ptr<DeviceMark> submit() override { return mark; }
  std::shared_ptr<DeviceMark> mark;
};

struct SlowDriver : HostDriver {
  SlowDriver() : HostDriver(nullptr, true) {}
  std::unique_ptr<DeviceStream> open_stream() override { return std::make_unique<SlowStream>(); }
};

// A run of one iteration whose result is its batch, of one number, which is 7 when `mark` is reached and 0 before.
class FedRun : public ::testing::Test {
 protected:
  FedRun() {
    for (Buffer* b : {&batch_, &result_}) b->memory = memory_.allocate(b->bytes, "a test");
    mark->then = [this] { *static_cast<int64_t*>(batch_.memory) = 7; };
  }

  int64_t result_on(Device& device, tenon_point after) {
    Queue queue(device);
    if (auto* slow = dynamic_cast<SlowStream*>(&queue.work())) slow->mark = mark;
    const tenon_host host{};
    GangExecutor executor(plan(), host, device.workspaces);
    after_ = after;
    const tenon_feed feed{sizeof feed, 0, this, next, [](void*, uint64_t) {}};
    tenon_buffer *none = nullptr, *to = reinterpret_cast<tenon_buffer*>(&result_);
    tenon_run run{};
    run.struct_size = sizeof run;
    run.iterations = 1;
    run.inputs = &none;
    run.results = &to;
    run.feed = &feed;
    uint32_t done = 0;
    executor.run(run, queue, &done);
    EXPECT_EQ(done, 1u);
    return *static_cast<const int64_t*>(result_.memory);
  }

  const Backend backend_;
  const std::shared_ptr<InFiveSeconds> mark = std::make_shared<InFiveSeconds>();

 private:
  static int32_t next(void* ctx, uint64_t, tenon_buffer** feeds, tenon_point* after) {
    auto& self = *static_cast<FedRun*>(ctx);
    feeds[0] = reinterpret_cast<tenon_buffer*>(&self.batch_);
    *after = self.after_;
    return 1;
  }
  static Plan plan() {
    KernelTable table;
    const auto make = [](const NodeView&, const Env&) {
      Kernel kernel;
      kernel.run = [](const Call& call) { *call.out<int64_t>(0) = *call.in<int64_t>(0); };
      return kernel;
    };
    table.add(
        "toy.copy", [](const NodeView&) { return take(); }, make);
    GraphBuilder b;
    const uint32_t x = b.input(TENON_I64, {1}, TENON_ROLE_FEED), y = b.value(TENON_I64, {1});
    b.node("toy.copy", {x}, {y}).name("copy");
    b.result(y);
    const FlatGraph flat = b.build();
    return make_plan(GraphView(*flat.graph()), table, Env{});
  }

  HostDriver driver_{nullptr, false};
  Memory memory_{driver_};
  Buffer batch_{memory_, 8}, result_{memory_, 8};
  tenon_point after_{};
};

TEST_F(FedRun, WaitsForTheWorkThatMakesItsBatchHoweverLongThatTakes) {
  Device inline_device(backend_, Execution::kInline, std::make_unique<HostDriver>(nullptr, false)),
      maker(backend_, Execution::kWorker, std::make_unique<StillDriver>());
  Queue making(maker);
  as_remembering(making.work()).mark = mark;
  const uint64_t made = making.finish();
  EXPECT_EQ(result_on(inline_device, {reinterpret_cast<tenon_queue*>(&making), made}), 7);
}

TEST_F(FedRun, OnAWorkersQueueWaitsForAllThatIsUnderWayHoweverLongThatTakes) {
  Device device(backend_, Execution::kWorker, std::make_unique<SlowDriver>());
  EXPECT_EQ(result_on(device, {}), 7);
}

}  // namespace
}  // namespace tenon::plugin::testing

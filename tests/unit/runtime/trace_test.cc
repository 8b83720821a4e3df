// Events of a program in which the backend has put a node of its own in the place of two.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "runtime/trace.h"
#include "unit/runtime/toy_backend.h"

namespace tenon::plugin::testing {
namespace {

constexpr int64_t kElements = 8;

// "name: node, lane, flops, bytes" of each event.
using Told = std::vector<std::string>;

std::string told(const char* name, uint32_t node, uint32_t lane, uint64_t flops, uint64_t bytes) {
  return std::string(name) + ": node " + std::to_string(node) + ", lane " + std::to_string(lane) + ", " +
         std::to_string(flops) + " flops, " + std::to_string(bytes) + " bytes";
}

void keep(void* ctx, const tenon_event* events, uint32_t n, uint64_t stride) {
  EXPECT_EQ(stride, sizeof(tenon_event));
  for (const tenon_event* e = events; e != events + n; ++e) {
    EXPECT_GT(e->start_ps, 0u) << e->name;
    static_cast<Told*>(ctx)->push_back(told(e->name, e->node, e->lane, e->flops, e->bytes));
  }
}

uint32_t apply_named(GraphBuilder& b, const char* op, uint32_t x, const char* name) {
  const uint32_t y = b.value(TENON_I64, {kElements});
  b.node(op, {x}, {y}).name(name);
  if (std::string_view(op) == "reverse") b.attr_list("axes", {0});
  return y;
}

Told told_of(Toy& toy, const GraphBuilder& b) {
  tenon_options options{};
  options.struct_size = sizeof options;
  options.flags = TENON_OPTION_TRACE;
  tenon_program* program = nullptr;
  EXPECT_EQ(toy.compile(b, options, &program).code, TENON_OK);
  Told all;
  const tenon_sink sink{sizeof sink, 0, &all, keep};
  EXPECT_EQ(toy.table.trace(toy.device, &sink).code, TENON_OK);
  run(toy, program, {{toy.buffer(Numbers(kElements, 1))}, {toy.buffer(Numbers(kElements, 0))}});
  EXPECT_EQ(toy.table.trace(toy.device, nullptr).code, TENON_OK);
  toy.table.program_destroy(program);
  return all;
}

constexpr uint64_t kMoved = 2 * 8 * kElements;

// The arithmetic of both is in the event of the one; what lies beside them keeps its own.
TEST(Trace, CountsWhatABackendsOwnNodeStandsFor) {
  Toy toy;
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {kElements}, TENON_ROLE_FEED);
  const uint32_t before = apply_named(b, "neg", x, "before"), first = apply_named(b, "toy.first", before, "first");
  b.result(apply_named(b, "neg", apply_named(b, "toy.second", first, "second"), "behind"));
  EXPECT_EQ(told_of(toy, b), (Told{told("before", 0, 0, kElements, kMoved), told("second", 2, 0, 2 * kElements, kMoved),
                                   told("behind", 3, 0, kElements, kMoved)}));
}

// Each thread that has a part in a node has an event, and the first has the work of all.
TEST(Trace, CountsTheWorkOfThreadsOnce) {
  Toy toy(3);
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I64, {kElements}, TENON_ROLE_FEED);
  b.result(apply_named(b, "neg", apply_named(b, "reverse", x, "all"), "one"));
  EXPECT_EQ(told_of(toy, b), (Told{told("all", 0, 0, kElements, kMoved), told("all", 0, 1, 0, 0),
                                   told("all", 0, 2, 0, 0), told("one", 1, 0, kElements, kMoved)}));
}

// As many threads as help, if the gang has more.
TEST(Trace, HasAnEventForEachOfTwoThreads) {
  Toy toy(2);
  GraphBuilder b;
  b.result(apply_named(b, "toy.pair", b.input(TENON_I64, {kElements}, TENON_ROLE_FEED), "pair"));
  const Told events = told_of(toy, b);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_NE(events[0].find("lane 0"), std::string::npos);
  EXPECT_NE(events[1].find("lane 1"), std::string::npos);
}

struct Times {
  std::vector<uint64_t> begin, end;
  std::vector<uint32_t> units;
  static void keep(void* ctx, const tenon_event* events, uint32_t n, uint64_t) {
    auto& times = *static_cast<Times*>(ctx);
    for (const tenon_event* e = events; e != events + n; ++e) {
      times.begin.push_back(e->start_ps);
      times.end.push_back(e->start_ps + e->duration_ps);
      times.units.push_back(e->unit);
    }
  }
};

// The kernel tells when it ran.
TEST(Trace, TellsFromWhenToWhenAKernelRan) {
  Toy toy;
  GraphBuilder b;
  b.result(apply_named(b, "toy.when", b.input(TENON_I64, {kElements}, TENON_ROLE_FEED), "when"));
  tenon_options options{};
  options.struct_size = sizeof options;
  options.flags = TENON_OPTION_TRACE;
  tenon_program* program = nullptr;
  ASSERT_EQ(toy.compile(b, options, &program).code, TENON_OK);
  Times times;
  const tenon_sink sink{sizeof sink, 0, &times, Times::keep};
  EXPECT_EQ(toy.table.trace(toy.device, &sink).code, TENON_OK);
  tenon_buffer* when = toy.buffer(Numbers(kElements, 0));
  run(toy, program, {{toy.buffer(Numbers(kElements, 0))}, {when}});
  EXPECT_EQ(toy.table.trace(toy.device, nullptr).code, TENON_OK);
  toy.table.program_destroy(program);
  ASSERT_EQ(times.begin.size(), 1u);
  const auto ran = static_cast<uint64_t>(toy.read(when, 1)[0]);
  EXPECT_LT(times.begin[0], ran);
  EXPECT_GT(times.end[0], ran);
  EXPECT_EQ(times.units[0], 0u);
}

TEST(Trace, IsOfProgramsThatWereCompiledForIt) {
  Toy toy;
  GraphBuilder b;
  b.result(apply_named(b, "neg", b.input(TENON_I64, {kElements}, TENON_ROLE_FEED), "x"));
  for (const uint64_t flags : {uint64_t{0}, uint64_t{TENON_OPTION_DETERMINISTIC}, uint64_t{1} << 40}) {
    tenon_options options{};
    options.struct_size = sizeof options;
    options.flags = flags;
    tenon_program* program = nullptr;
    ASSERT_EQ(toy.compile(b, options, &program).code, TENON_OK);
    Times times;
    const tenon_sink sink{sizeof sink, 0, &times, Times::keep};
    EXPECT_EQ(toy.table.trace(toy.device, &sink).code, TENON_OK);
    run(toy, program, {{toy.buffer(Numbers(kElements, 0))}, {toy.buffer(Numbers(kElements, 0))}});
    EXPECT_EQ(toy.table.trace(toy.device, nullptr).code, TENON_OK);
    toy.table.program_destroy(program);
    EXPECT_TRUE(times.begin.empty()) << flags;
  }
}

TEST(Trace, TellsOfAResultThatIsCopied) {
  Toy toy;
  GraphBuilder b;
  b.result(b.input(TENON_I64, {kElements}, TENON_ROLE_FEED));
  const Told events = told_of(toy, b);
  EXPECT_FALSE(events.empty());
  for (const std::string& event : events) EXPECT_EQ(event, told("copy", TENON_NONE, 0, 0, 0));
}

// A sink that takes its time.
struct Slow {
  std::atomic<bool> begun{false}, over{false};
  static void emit(void* ctx, const tenon_event*, uint32_t, uint64_t) {
    auto& slow = *static_cast<Slow*>(ctx);
    slow.begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    slow.over = true;
  }
};

TEST(Trace, EndsWhenTheSinkIsLeft) {
  Tracer tracer;
  Slow slow;
  const tenon_sink sink{sizeof sink, 0, &slow, Slow::emit};
  tracer.set(&sink);
  std::thread emits([&] { tracer.emit({}); });
  while (!slow.begun) std::this_thread::yield();
  tracer.set(nullptr);
  EXPECT_TRUE(slow.over);
  emits.join();
}

}  // namespace
}  // namespace tenon::plugin::testing

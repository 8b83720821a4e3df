// What a run promises: states, rows, feeds, endings, wrong arguments, threads.
#include <algorithm>
#include <cstring>
#include <string>
#include <thread>

#include "unit/runtime/toy_backend.h"

namespace tenon::plugin::testing {
namespace {

constexpr int64_t kN = 8;
const std::vector<int64_t> kVector{kN};

Numbers filled(int64_t v) { return Numbers(kN, v); }
Numbers counting(int64_t from) {
  Numbers v(kN);
  for (int64_t i = 0; i < kN; ++i) v[static_cast<size_t>(i)] = from + i;
  return v;
}

uint32_t state(GraphBuilder& b) { return b.input(TENON_I64, kVector, TENON_ROLE_STATE); }
uint32_t feed(GraphBuilder& b) { return b.input(TENON_I64, kVector, TENON_ROLE_FEED); }
uint32_t apply(GraphBuilder& b, const char* op, const std::vector<uint32_t>& in) {
  const uint32_t y = b.value(TENON_I64, kVector);
  b.node(op, in, {y}).name(std::string(op) + std::to_string(y));
  if (std::string_view(op) == "reverse") b.attr_list("axes", {0});
  return y;
}
uint32_t reshaped(GraphBuilder& b, uint32_t x, const std::vector<int64_t>& dims) {
  const uint32_t y = b.value(TENON_I64, dims);
  b.node("reshape", {x}, {y}).name("r" + std::to_string(y)).attr_list("shape", dims);
  return y;
}

// s' = s + x
GraphBuilder accumulator() {
  GraphBuilder b;
  const uint32_t s = state(b), x = feed(b);
  b.result(apply(b, "add", {s, x}), TENON_MODE_LAST, 1);
  return b;
}

TEST(Run, CarriesAStateFromIterationToIteration) {
  Toy toy;
  tenon_program* program = toy.compile(accumulator(), 5);
  tenon_buffer *s = toy.buffer(counting(0)), *x = toy.buffer(filled(10));
  EXPECT_EQ(run(toy, program, {{s, x}, {s}, {}, 5}), 5u);
  EXPECT_EQ(toy.read(s, kN), counting(50));
}

TEST(Run, LetsAReaderAfterTheWriterSeeTheOldState) {
  Toy toy(3);
  GraphBuilder b;
  const uint32_t s = state(b), x = feed(b);
  const uint32_t next = apply(b, "add", {s, x});
  const uint32_t old = apply(b, "reverse", {s});  // after the node that makes the new one
  b.result(next, TENON_MODE_LAST, 1);
  b.result(old, TENON_MODE_EACH);
  tenon_program* program = toy.compile(b, 2);
  tenon_buffer *buffer = toy.buffer(counting(0)), *feed = toy.buffer(filled(100)), *rows = toy.buffer(Numbers(2 * kN));
  run(toy, program, {{buffer, feed}, {buffer, rows}, {}, 2});
  Numbers want = counting(0), second = counting(100);
  std::reverse(want.begin(), want.end()), std::reverse(second.begin(), second.end());
  want.insert(want.end(), second.begin(), second.end());
  EXPECT_EQ(toy.read(rows, 2 * kN), want);
  EXPECT_EQ(toy.read(buffer, kN), counting(200));
}

TEST(Run, SwapsTwoStates) {
  Toy toy;
  GraphBuilder b;
  const uint32_t s = state(b), t = state(b);
  b.result(t, TENON_MODE_LAST, 1);
  b.result(s, TENON_MODE_LAST, 2);
  tenon_program* program = toy.compile(b, 3);
  tenon_buffer *x = toy.buffer(filled(1)), *y = toy.buffer(filled(2));
  run(toy, program, {{x, y}, {x, y}, {}, 3});
  EXPECT_EQ(toy.read(x, kN), filled(2));
  EXPECT_EQ(toy.read(y, kN), filled(1));
}

TEST(Run, HandsAStateToTwoResultsAndLeavesItAlone) {
  Toy toy;
  GraphBuilder b;
  const uint32_t s = state(b);
  b.result(s);
  b.result(s);
  b.result(apply(b, "neg", {s}), TENON_MODE_LAST, 1);
  tenon_program* program = toy.compile(b);
  tenon_buffer *x = toy.buffer(counting(5)), *y = toy.buffer(filled(0)), *z = toy.buffer(filled(0));
  run(toy, program, {{x}, {y, z, x}});
  EXPECT_EQ(toy.read(y, kN), counting(5));
  EXPECT_EQ(toy.read(z, kN), counting(5));
  EXPECT_EQ(toy.read(x, kN)[1], -6);
}

TEST(Run, GivesInputsConstantsScalarsAndRepeatedValuesAsResults) {
  Toy toy;
  GraphBuilder b;
  const uint32_t x = feed(b), scalar = b.input(TENON_I64, {}, TENON_ROLE_SCALAR);
  const int64_t seven = 7;
  const uint32_t c = b.constant(TENON_I64, kVector, &seven, 8), y = apply(b, "neg", {x});
  for (uint32_t v : {x, c, y, y}) b.result(v);
  b.result(scalar, TENON_MODE_EACH);
  tenon_program* program = toy.compile(b, 3);
  std::vector<tenon_buffer*> r;
  for (int i = 0; i < 5; ++i) r.push_back(toy.buffer(filled(0)));
  run(toy, program, {{toy.buffer(filled(3))}, r, {{.i64 = 4}, {.i64 = 5}, {.i64 = 6}}, 3});
  EXPECT_EQ(toy.read(r[0], kN), filled(3));
  EXPECT_EQ(toy.read(r[1], kN), filled(7));
  EXPECT_EQ(toy.read(r[2], kN), filled(-3));
  EXPECT_EQ(toy.read(r[3], kN), filled(-3));
  EXPECT_EQ(toy.read(r[4], 3), (Numbers{4, 5, 6}));
}

TEST(Run, WritesARowAnIterationAndTheLastValue) {
  Toy toy(2);
  GraphBuilder b;
  const uint32_t s = state(b), x = feed(b), y = apply(b, "add", {s, x});
  b.result(y, TENON_MODE_LAST, 1);
  b.result(y, TENON_MODE_EACH);
  b.result(y, TENON_MODE_LAST);
  tenon_program* program = toy.compile(b, 4);
  tenon_buffer *st = toy.buffer(filled(0)), *rows = toy.buffer(Numbers(4 * kN, -1)), *last = toy.buffer(filled(0));
  run(toy, program, {{st, toy.buffer(filled(2))}, {st, rows, last}, {}, 3});
  const Numbers r = toy.read(rows, 4 * kN);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(r[i * kN], i < 3 ? 2 * static_cast<int64_t>(i + 1) : -1);
  EXPECT_EQ(toy.read(last, kN), filled(6));
}

TEST(Run, EndsAfterTheIterationThatMakesUntilTrue) {
  for (bool fed : {false, true}) {
    Toy toy(2);
    GraphBuilder b;
    const uint32_t s = state(b), x = feed(b), y = apply(b, "add", {s, x}), stop = b.value(TENON_BOOL, {});
    b.node("toy.least", {y}, {stop}).name("stop").attr_i64("k", 30);
    b.result(y, TENON_MODE_LAST, 1);
    b.result(stop, TENON_MODE_UNTIL);
    tenon_program* program = toy.compile(b, 10);
    tenon_buffer *st = toy.buffer(filled(0)), *flag = toy.buffer({0}), *batch = toy.buffer(filled(10));
    Batches batches({batch}, 100);
    const tenon_feed f = batches.feed();
    EXPECT_EQ(run(toy, program, {{st, fed ? nullptr : batch}, {st, flag}, {}, 10, fed ? &f : nullptr}), 3u);
    EXPECT_EQ(toy.read(st, kN), filled(30));
    EXPECT_EQ(batches.released, fed ? (std::vector<uint64_t>{0, 1, 2}) : std::vector<uint64_t>{});
  }
}

// Who submitted it is told how many there were, though the queue has a thread of its own.
TEST(Run, EndsByItsFirstResultOnAWorkerQueue) {
  Toy toy(1, true);
  GraphBuilder b;
  const uint32_t s = state(b), x = feed(b), y = apply(b, "add", {s, x}), stop = b.value(TENON_BOOL, {});
  b.node("toy.least", {y}, {stop}).name("stop").attr_i64("k", 3);
  b.result(stop, TENON_MODE_UNTIL);
  b.result(y, TENON_MODE_LAST, 1);
  tenon_program* program = toy.compile(b, 10);
  tenon_buffer *st = toy.buffer(filled(0)), *flag = toy.buffer({0});
  EXPECT_EQ(run(toy, program, {{st, toy.buffer(filled(1))}, {flag, st}, {}, 10}), 3u);
  EXPECT_EQ(toy.read(st, kN), filled(3));
}

TEST(Run, TakesBatchesInOrderUntilTheyEnd) {
  Toy toy;
  tenon_program* program = toy.compile(accumulator(), 10);
  tenon_buffer* s = toy.buffer(filled(0));
  Batches batches({toy.buffer(filled(1)), toy.buffer(filled(10)), toy.buffer(filled(100))}, 4);
  const tenon_feed f = batches.feed();
  EXPECT_EQ(run(toy, program, {{s, nullptr}, {s}, {}, 10, &f}), 4u);
  EXPECT_EQ(toy.read(s, kN), filled(112));
  EXPECT_EQ(batches.given, (std::vector<uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(batches.released, batches.given);
}

TEST(Run, AsksForBatchesEvenWhenNothingReadsThem) {
  Toy toy;
  GraphBuilder b;
  b.result(apply(b, "neg", {state(b)}), TENON_MODE_LAST, 1);
  tenon_program* program = toy.compile(b, 10);
  tenon_buffer* s = toy.buffer(filled(4));
  struct None {
    static int32_t next(void*, uint64_t i, tenon_buffer**, tenon_point*) { return i < 3; }
    static void release(void*, uint64_t) {}
  };
  const tenon_feed f{sizeof(tenon_feed), 0, nullptr, None::next, None::release};
  EXPECT_EQ(run(toy, program, {{s}, {s}, {}, 10, &f}), 3u);
  EXPECT_EQ(toy.read(s, kN), filled(-4));
}

TEST(Run, ABadBatchFailsTheQueueWithTheIterationsBeforeItDone) {
  Toy toy;
  tenon_program* program = toy.compile(accumulator(), 10);
  tenon_buffer* s = toy.buffer(filled(0));
  Batches batches({toy.buffer(filled(1)), toy.buffer(filled(1)), toy.buffer({1})}, 9);  // the third is too small
  const tenon_feed f = batches.feed();
  tenon_queue* other = nullptr;
  ASSERT_EQ(toy.table.queue_create(toy.device, 0, &other).code, TENON_OK);
  uint32_t done = 0;
  EXPECT_EQ(run(toy, other, program, {{s, nullptr}, {s}, {}, 10, &f}, &done).code, TENON_OK);
  EXPECT_EQ(done, 2u);
  EXPECT_EQ(batches.released, batches.given);
  EXPECT_STREQ(toy.table.wait(other, 1, UINT64_MAX).message, "run: a fed buffer is missing or too small");
  EXPECT_STREQ(run(toy, other, program, {{s, s}, {s}}).message, "run: a fed buffer is missing or too small");
  toy.table.queue_destroy(other);
  EXPECT_EQ(toy.read(s, kN), filled(2));
  EXPECT_EQ(run(toy, program, {{s, toy.buffer(filled(5))}, {s}}), 1u);  // the device goes on
}

TEST(Run, GivesEachIterationItsScalars) {
  Toy toy(2);
  GraphBuilder b;
  const uint32_t s = state(b), first = b.input(TENON_I64, {}, TENON_ROLE_SCALAR),
                 second = b.input(TENON_I64, {}, TENON_ROLE_SCALAR);
  b.result(apply(b, "toy.plus", {apply(b, "toy.plus", {s, first}), second}), TENON_MODE_LAST, 1);
  tenon_program* program = toy.compile(b, 3);
  tenon_buffer* x = toy.buffer(filled(0));
  run(toy, program, {{x}, {x}, {{.i64 = 1}, {.i64 = 10}, {.i64 = 2}, {.i64 = 20}, {.i64 = 3}, {.i64 = 30}}, 3});
  EXPECT_EQ(toy.read(x, kN), filled(66));
}

// Halfway between two numbers of 16 bits: to the even one; beyond the largest: infinity.
TEST(Run, RoundsNarrowScalars) {
  Toy toy;
  GraphBuilder b;
  b.result(b.input(TENON_BF16, {}, TENON_ROLE_SCALAR));
  b.result(b.input(TENON_F16, {}, TENON_ROLE_SCALAR));
  tenon_program* program = toy.compile(b);
  tenon_buffer *x = toy.buffer({0}), *y = toy.buffer({0});
  run(toy, program, {{}, {x, y}, {{.f64 = 1 + 0x1p-8}, {.f64 = 65520}}});
  EXPECT_EQ(toy.read(x, 1), Numbers{0x3F80});
  EXPECT_EQ(toy.read(y, 1), Numbers{0x7C00});
}

TEST(Run, ViewsOfInputsStatesAndResultsAreTheirOperands) {
  Toy toy(3);
  GraphBuilder b;
  const uint32_t s = state(b), x = feed(b);
  const uint32_t view = reshaped(b, reshaped(b, s, {2, 4}), {4, 2});  // read after s was overwritten
  const uint32_t next = apply(b, "add", {s, x});
  const uint32_t out = reshaped(b, apply(b, "neg", {reshaped(b, view, kVector)}), {2, 2, 2});
  b.result(next, TENON_MODE_LAST, 1);
  b.result(out);
  b.result(reshaped(b, x, {2, 4}));
  b.result(reshaped(b, next, {8, 1}));
  tenon_program* program = toy.compile(b);
  tenon_buffer *st = toy.buffer(counting(1)), *y = toy.buffer(filled(0)), *z = toy.buffer(filled(0)),
               *w = toy.buffer(filled(0));
  run(toy, program, {{st, toy.buffer(filled(10))}, {st, y, z, w}});
  EXPECT_EQ(toy.read(st, kN), counting(11));
  EXPECT_EQ(toy.read(w, kN), counting(11));
  EXPECT_EQ(toy.read(z, kN), filled(10));
  EXPECT_EQ(toy.read(y, kN)[2], -3);
}

TEST(Run, CallsAKernelOfOneThreadOnceAndSharesOthersBetweenAsManyAsHelp) {
  Toy toy(3);
  GraphBuilder b;
  const uint32_t x = feed(b);
  b.result(apply(b, "toy.calls", {x}), TENON_MODE_EACH);
  b.result(apply(b, "toy.pair", {x}));
  tenon_program* program = toy.compile(b, 2);
  tenon_buffer *calls = toy.buffer(Numbers(2 * kN)), *threads = toy.buffer(filled(0));
  run(toy, program, {{toy.buffer(filled(0))}, {calls, threads}, {}, 2});
  EXPECT_EQ(toy.read(calls, 2 * kN)[0], 1);
  EXPECT_EQ(toy.read(calls, 2 * kN)[kN], 2);
  EXPECT_EQ(toy.read(threads, kN), filled(2));
}

TEST(Run, LetsTheThreadsOfAKernelMeetAndGivesEachScratchOfItsOwn) {
  Toy toy(3);
  GraphBuilder b;
  b.result(apply(b, "toy.squares", {apply(b, "toy.rotate", {feed(b)})}));
  tenon_program* program = toy.compile(b);
  tenon_buffer* y = toy.buffer(filled(0));
  for (int round = 0; round < 20; ++round) {
    run(toy, program, {{toy.buffer(counting(round))}, {y}});
    EXPECT_EQ(toy.read(y, kN)[0], (round + 1) * (round + 1));
    EXPECT_EQ(toy.read(y, kN)[kN - 1], round * round);
  }
}

TEST(Run, OverwritesAnOperandOnlyWhereTheKernelMay) {
  Toy toy;
  GraphBuilder b;
  const uint32_t s = state(b), x = feed(b), y = apply(b, "neg", {x}), z = apply(b, "neg", {x});
  b.result(apply(b, "toy.backwards", {x, s}), TENON_MODE_LAST, 1);  // s is the other operand
  b.result(apply(b, "reverse", {apply(b, "toy.backwards", {y, y})}));
  b.result(apply(b, "reverse", {apply(b, "toy.backwards", {x, z})}));
  tenon_program* program = toy.compile(b);
  tenon_buffer *st = toy.buffer(counting(10)), *twice = toy.buffer(filled(0)), *other = toy.buffer(filled(0));
  run(toy, program, {{st, toy.buffer(counting(0))}, {st, twice, other}});
  EXPECT_EQ(toy.read(st, kN), (Numbers{-17, -15, -13, -11, -9, -7, -5, -3}));
  EXPECT_EQ(toy.read(twice, kN), (Numbers{-7, -5, -3, -1, 1, 3, 5, 7}));
  EXPECT_EQ(toy.read(other, kN), filled(7));
}

TEST(Run, GivesAKernelAllOfItsManyOperands) {
  Toy toy;
  GraphBuilder b;
  std::vector<uint32_t> operands;
  for (int i = 0; i < 20; ++i) operands.push_back(feed(b));
  b.result(apply(b, "toy.sum", operands));
  tenon_program* program = toy.compile(b);
  std::vector<tenon_buffer*> inputs;
  for (int i = 0; i < 20; ++i) inputs.push_back(toy.buffer(filled(int64_t{1} << i)));
  tenon_buffer* y = toy.buffer(filled(0));
  run(toy, program, {inputs, {y}});
  EXPECT_EQ(toy.read(y, kN), filled((1 << 20) - 1));
}

TEST(Run, LeavesOutAResultThatIsNotAskedFor) {
  Toy toy(2);
  GraphBuilder b;
  const uint32_t x = feed(b), y = feed(b), sum = b.value(TENON_I64, kVector), difference = b.value(TENON_I64, kVector);
  b.node("toy.both", {x, y}, {TENON_NONE, difference}).name("difference");
  b.node("toy.both", {x, y}, {sum, TENON_NONE}).name("sum");
  b.result(difference);
  b.result(sum);
  tenon_program* program = toy.compile(b);
  tenon_buffer *d = toy.buffer(filled(0)), *s = toy.buffer(filled(0));
  run(toy, program, {{toy.buffer(counting(10)), toy.buffer(filled(3))}, {d, s}});
  EXPECT_EQ(toy.read(d, kN), counting(7));
  EXPECT_EQ(toy.read(s, kN), counting(13));
}

// A pointer to none is no mistake.
TEST(Run, TakesAProgramWithoutResults) {
  Toy toy;
  GraphBuilder b;
  apply(b, "neg", {feed(b)});
  tenon_program* program = toy.compile(b, 3);
  EXPECT_EQ(run(toy, program, {{toy.buffer(filled(1))}, {}, {}, 3}), 3u);
}

// By all threads together, if there are that many bytes; and of a number of bytes that is no round one.
TEST(Run, SwapsStatesOfAnySize) {
  for (const int64_t bytes : {int64_t{65}, int64_t{64 << 10}, int64_t{163'841}, int64_t{1 << 20}}) {
    Toy toy(3);
    GraphBuilder b;
    const uint32_t s = b.input(TENON_U8, {bytes}, TENON_ROLE_STATE), t = b.input(TENON_U8, {bytes}, TENON_ROLE_STATE);
    b.result(t, TENON_MODE_LAST, 1);
    b.result(s, TENON_MODE_LAST, 2);
    tenon_program* program = toy.compile(b);
    Numbers ones(static_cast<size_t>(bytes + 7) / 8), twos = ones;
    std::memset(ones.data(), 1, static_cast<size_t>(bytes));
    std::memset(twos.data(), 2, static_cast<size_t>(bytes));
    tenon_buffer *x = toy.buffer(ones), *y = toy.buffer(twos);
    run(toy, program, {{x, y}, {x, y}});
    const Numbers first = toy.read(x, ones.size()), second = toy.read(y, ones.size());
    EXPECT_EQ(std::memcmp(first.data(), twos.data(), static_cast<size_t>(bytes)), 0);
    EXPECT_EQ(std::memcmp(second.data(), ones.data(), static_cast<size_t>(bytes)), 0);
  }
}

TEST(Run, RefusesWrongArgumentsAndChangesNothing) {
  Toy toy;
  tenon_program* program = toy.compile(accumulator(), 2);
  tenon_buffer *s = toy.buffer(filled(1)), *x = toy.buffer(filled(1)), *small = toy.buffer({1});
  const auto fails = [&](const Arguments& a, const char* message) {
    const tenon_status status = run(toy, toy.queue, program, a);
    EXPECT_EQ(status.code, TENON_INVALID);
    EXPECT_STREQ(status.message, message);
    EXPECT_EQ(toy.read(s, kN), filled(1));
  };
  fails({{s, nullptr}, {s}}, "run: an input buffer is NULL");
  Batches batches({x}, 1);
  const tenon_feed f = batches.feed();
  fails({{nullptr, nullptr}, {s}, {}, 1, &f}, "run: an input buffer is NULL");
  fails({{s, small}, {s}}, "run: an input buffer is smaller than the program's input");
  fails({{s, x}, {nullptr}}, "run: a result buffer is NULL");
  fails({{s, x}, {x}}, "run: an aliased result is not its input's buffer");
  fails({{s, x}, {s}, {}, 3}, "run: more iterations than the program was compiled for");
  fails({{s, x}, {s}, {}, 0}, "run: needs a program and one iteration or more");
  EXPECT_TRUE(batches.given.empty());
}

TEST(Run, RefusesMissingScalarsAndSmallRows) {
  Toy toy;
  GraphBuilder b;
  const uint32_t s = state(b), k = b.input(TENON_I64, {}, TENON_ROLE_SCALAR);
  b.result(apply(b, "toy.plus", {s, k}), TENON_MODE_EACH);
  tenon_program* program = toy.compile(b, 2);
  tenon_buffer *x = toy.buffer(filled(0)), *row = toy.buffer(filled(0));
  EXPECT_STREQ(run(toy, toy.queue, program, {{x}, {row}}).message, "run: the program takes scalars and there are none");
  EXPECT_STREQ(run(toy, toy.queue, program, {{x}, {row}, {{.i64 = 1}, {.i64 = 1}}, 2}).message,
               "run: a result buffer is smaller than the program's result");
}

TEST(Compile, RefusesUnknownOptions) {
  Toy toy;
  tenon_options options{};
  options.struct_size = sizeof options;
  options.flags = 1u << 7;
  tenon_program* program = nullptr;
  EXPECT_EQ(toy.compile(accumulator(), options, &program).code, TENON_UNSUPPORTED);
  options.flags = 1ull << 40;  // a hint
  EXPECT_EQ(toy.compile(accumulator(), options, &program).code, TENON_OK);
  toy.table.program_destroy(program);
}

TEST(Compile, RefusesAGraphWithUnknownFlags) {
  Toy toy;
  const FlatGraph flat = accumulator().build();
  tenon_options options{};
  options.struct_size = sizeof options;
  for (const uint64_t flags : {uint64_t{1}, uint64_t{2}}) {
    tenon_graph graph = *flat.graph();
    graph.flags = flags;
    tenon_program* program = nullptr;
    const tenon_status status = toy.table.compile(toy.device, &graph, &options, &program, nullptr);
    EXPECT_EQ(status.code, TENON_UNSUPPORTED);
    EXPECT_STREQ(status.message, "the graph: unknown flags");
  }
}

TEST(Compile, RefusesADtypeThatAnOpDoesNotTake) {
  Toy toy;
  GraphBuilder b;
  b.result(apply(b, "exp", {feed(b)}));
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_program* program = nullptr;
  const tenon_status status = toy.compile(b, options, &program);
  EXPECT_EQ(status.code, TENON_INVALID);
  EXPECT_STREQ(status.message, "compile: the graph: exp 'exp1' operand 0 'x' is i64, which the op does not take");
}

TEST(Compile, PlansWhatTheBackendPutsInThePlaceOfNodes) {
  Toy toy;
  GraphBuilder b;
  const uint32_t x = feed(b);
  b.result(apply(b, "toy.second", {apply(b, "toy.first", {x})}));
  b.result(apply(b, "toy.second", {x}));
  tenon_buffer *in = toy.buffer(counting(0)), *fused = toy.buffer(filled(0)), *alone = toy.buffer(filled(0));
  run(toy, toy.compile(b), {{in}, {fused, alone}});
  EXPECT_EQ(toy.read(fused, kN), counting(1000));
  EXPECT_EQ(toy.read(alone, kN), counting(2));
}

TEST(Compile, LetsNoHostAskForABackendsOwnNodes) {
  Toy toy;
  GraphBuilder b;
  b.result(apply(b, "toy.fused", {feed(b)}));
  tenon_options options{};
  options.struct_size = sizeof options;
  const FlatGraph graph = b.build();
  const uint32_t node = 0;
  tenon_verdict verdict{};
  EXPECT_EQ(toy.table.supports(toy.device, graph.graph(), &options, &node, 1, &verdict, sizeof verdict).code, TENON_OK);
  EXPECT_EQ(verdict.answer, TENON_DECOMPOSE);
  tenon_program* program = nullptr;
  EXPECT_EQ(toy.compile(b, options, &program).code, TENON_UNSUPPORTED);
  EXPECT_EQ(program, nullptr);
}

TEST(Compile, TellsWhatItNeedsWhenThatIsNotThere) {
  constexpr uint64_t kBytes = uint64_t{8} << 40;
  const std::vector<int64_t> dims{1 << 30, 1 << 10};
  Toy toy;
  GraphBuilder b;
  uint32_t value = b.input(TENON_I64, dims, TENON_ROLE_FEED);
  for (int i = 0; i < 3; ++i) {
    const uint32_t reversed = b.value(TENON_I64, dims);
    b.node("reverse", {value}, {reversed}).attr_list("axes", {0});
    value = reversed;
  }
  b.result(value);
  tenon_options options{};
  options.struct_size = sizeof options;
  tenon_info info{};
  info.struct_size = sizeof info;
  tenon_program* program = nullptr;
  const tenon_status status = toy.compile(b, options, &program, &info);
  EXPECT_EQ(status.code, TENON_OUT_OF_MEMORY);
  EXPECT_STREQ(status.message, "compile: the step's workspace: out of memory for 17592186044416 bytes");
  EXPECT_EQ(program, nullptr);
  EXPECT_EQ(info.argument_bytes, kBytes);
  EXPECT_EQ(info.result_bytes, kBytes);
  EXPECT_EQ(info.workspace_bytes, 2 * kBytes);
  EXPECT_EQ(info.peak_bytes, 4 * kBytes);
  EXPECT_EQ(info.allocations, nullptr);  // they went with the program
  EXPECT_EQ(info.n_allocations, 0u);
  info = {};
  info.struct_size = TENON_SIZE(tenon_info, result_bytes);  // an older caller's
  info.workspace_bytes = 99;
  EXPECT_EQ(toy.compile(b, options, &program, &info).code, TENON_OUT_OF_MEMORY);
  EXPECT_EQ(info.result_bytes, kBytes);
  EXPECT_EQ(info.workspace_bytes, 99u);
}

TEST(Programs, ShareBuffersAndWorkspaces) {
  Toy toy;
  GraphBuilder negate;
  negate.result(apply(negate, "toy.rotate", {apply(negate, "reverse", {apply(negate, "neg", {state(negate)})})}),
                TENON_MODE_LAST, 1);
  tenon_program *add = toy.compile(accumulator()), *neg = toy.compile(negate);
  const uint64_t before = toy.bytes_in_use();
  tenon_program* again = toy.compile(negate);
  EXPECT_EQ(toy.bytes_in_use(), before);
  tenon_buffer *s = toy.buffer(filled(5)), *x = toy.buffer(filled(2));
  for (tenon_program* p : {neg, again, neg}) run(toy, p, {{s}, {s}}), run(toy, add, {{s, x}, {s}});
  EXPECT_EQ(toy.read(s, kN), filled(-3));
}

TEST(Queues, KeepTicketsOfTheirOwn) {
  Toy toy;
  tenon_queue* other = nullptr;
  ASSERT_EQ(toy.table.queue_create(toy.device, 0, &other).code, TENON_OK);
  tenon_program* program = toy.compile(accumulator());
  tenon_buffer *s = toy.buffer(filled(0)), *x = toy.buffer(filled(1));
  EXPECT_EQ(run(toy, other, program, {{s, x}, {s}}).code, TENON_OK);
  EXPECT_EQ(run(toy, other, program, {{s, x}, {s}}).code, TENON_OK);
  EXPECT_EQ(toy.table.wait(other, 2, 0).code, TENON_OK);
  EXPECT_EQ(toy.table.wait(other, 3, 0).code, TENON_INVALID);
  toy.table.queue_destroy(other);
  EXPECT_EQ(toy.read(s, kN), filled(2));
}

// Submits a run without waiting for it.
uint64_t submit(const Toy& toy, tenon_queue* queue, tenon_program* program, const Arguments& a,
                std::vector<tenon_point> after = {}) {
  tenon_run r{};
  r.struct_size = sizeof r;
  r.program = program;
  r.after = after.data();
  r.n_after = static_cast<uint32_t>(after.size());
  r.iterations = a.iterations;
  r.inputs = a.inputs.data();
  r.results = a.results.data();
  uint64_t ticket = 0;
  const tenon_status status = toy.table.run(queue, &r, &ticket, nullptr);
  EXPECT_EQ(status.code, TENON_OK) << status.message;
  return ticket;
}

TEST(WorkerQueues, WaitForWhatTheyComeAfter) {
  Toy toy(1, true);
  tenon_queue* other = nullptr;
  ASSERT_EQ(toy.table.queue_create(toy.device, 0, &other).code, TENON_OK);
  tenon_program *count = toy.compile(accumulator(), 20000), *add = toy.compile(accumulator());
  tenon_buffer *s = toy.buffer(filled(0)), *one = toy.buffer(filled(1)), *sum = toy.buffer(filled(5));
  for (int round = 1; round <= 3; ++round) {
    const uint64_t produced = submit(toy, other, count, {{s, one}, {s}, {}, 20000});
    submit(toy, toy.queue, add, {{sum, s}, {sum}}, {{other, produced}});
    EXPECT_EQ(toy.read(sum, kN)[0], 5 + 20000 * round * (round + 1) / 2);
  }
  toy.table.queue_destroy(other);
}

TEST(WorkerQueues, AnswerAtOnceAndSayWhenTimeIsUp) {
  Toy toy(1, true);
  tenon_program* count = toy.compile(accumulator(), 2000000);
  tenon_buffer *s = toy.buffer(filled(0)), *one = toy.buffer(filled(1));
  const uint64_t ticket = submit(toy, toy.queue, count, {{s, one}, {s}, {}, 2000000});
  EXPECT_EQ(toy.table.wait(toy.queue, ticket, 0).code, TENON_TIMEOUT);
  EXPECT_EQ(toy.table.wait(toy.queue, ticket, 1000).code, TENON_TIMEOUT);
  EXPECT_EQ(toy.table.wait(toy.queue, ticket + 1, 0).code, TENON_INVALID);
  EXPECT_EQ(toy.table.wait(toy.queue, ticket, UINT64_MAX).code, TENON_OK);
  EXPECT_EQ(toy.read(s, kN), filled(2000000));
}

TEST(WorkerQueues, FailWithTheFirstCauseAndWhatWaitsOnThem) {
  Toy toy(1, true);
  tenon_queue *bad = nullptr, *waits = nullptr;
  ASSERT_EQ(toy.table.queue_create(toy.device, 0, &bad).code, TENON_OK);
  ASSERT_EQ(toy.table.queue_create(toy.device, 0, &waits).code, TENON_OK);
  tenon_program* program = toy.compile(accumulator(), 10);
  tenon_buffer* s = toy.buffer(filled(0));
  Batches batches({toy.buffer(filled(1)), toy.buffer({1})}, 9);  // the second is too small
  const tenon_feed f = batches.feed();
  uint32_t done = 0;
  EXPECT_EQ(run(toy, bad, program, {{s, nullptr}, {s}, {}, 10, &f}, &done).code, TENON_OK);
  EXPECT_EQ(done, 1u);
  tenon_run r{};
  r.struct_size = sizeof r;
  const tenon_point after{bad, 1};
  tenon_buffer *inputs[] = {s, s}, *results[] = {s};
  r.program = program;
  r.after = &after;
  r.n_after = 1;
  r.iterations = 1;
  r.inputs = inputs;
  r.results = results;
  uint64_t ticket = 0;
  EXPECT_STREQ(toy.table.run(waits, &r, &ticket, nullptr).message, "run: a fed buffer is missing or too small");
  toy.table.queue_destroy(bad);
  toy.table.queue_destroy(waits);
  EXPECT_EQ(toy.read(s, kN), filled(1));
}

TEST(Programs, RunFromFourThreadsAtOnce) {
  Toy toy(2);
  tenon_program* shared = toy.compile(accumulator(), 50);
  std::vector<tenon_buffer*> states;
  std::vector<tenon_program*> own;
  for (int t = 0; t < 4; ++t) states.push_back(toy.buffer(filled(0))), own.push_back(toy.compile(accumulator(), 50));
  tenon_buffer* x = toy.buffer(filled(1));
  std::vector<std::thread> team;
  for (size_t t = 0; t < 4; ++t)
    team.emplace_back([&, t] {
      tenon_queue* queue = nullptr;
      EXPECT_EQ(toy.table.queue_create(toy.device, 0, &queue).code, TENON_OK);
      for (int i = 0; i < 40; ++i)
        EXPECT_EQ(run(toy, queue, i % 2 ? own[t] : shared, {{states[t], x}, {states[t]}, {}, 50}).code, TENON_OK);
      toy.table.queue_destroy(queue);
    });
  for (std::thread& t : team) t.join();
  for (tenon_buffer* s : states) EXPECT_EQ(toy.read(s, kN), filled(2000));
}

TEST(Devices, GiveBackAllTheyTook) {
  Toy keeper;  // its backend
  uint64_t in_use = 0;
  for (int cycle = 0; cycle < 200; ++cycle) {
    tenon_open open{};
    open.struct_size = sizeof open;
    tenon_device* device = nullptr;
    ASSERT_EQ(keeper.table.device_open(keeper.table.self, &open, &device).code, TENON_OK);
    std::swap(device, keeper.device);
    const FlatGraph flat = accumulator().build();
    tenon_options options{};
    options.struct_size = sizeof options;
    tenon_desc desc{};
    desc.struct_size = sizeof desc;
    desc.dtype = TENON_I64, desc.rank = 1, desc.dims[0] = 1 << 18;
    tenon_program* program = nullptr;
    tenon_buffer* buffer = nullptr;
    EXPECT_EQ(keeper.table.compile(keeper.device, flat.graph(), &options, &program, nullptr).code, TENON_OK);
    EXPECT_EQ(keeper.table.buffer_alloc(keeper.device, &desc, &buffer, nullptr).code, TENON_OK);
    if (cycle == 0) in_use = keeper.bytes_in_use();
    EXPECT_EQ(keeper.bytes_in_use(), in_use);
    keeper.table.buffer_free(buffer);
    keeper.table.program_destroy(program);
    std::swap(device, keeper.device);
    keeper.table.device_close(device);
  }
}

TEST(Devices, ReuseTheWorkspaceOfManyPrograms) {
  Toy toy;
  const FlatGraph flat = accumulator().build();
  tenon_options options{};
  options.struct_size = sizeof options;
  uint64_t in_use = 0;
  for (int cycle = 0; cycle < 200; ++cycle) {
    tenon_program* program = nullptr;
    ASSERT_EQ(toy.table.compile(toy.device, flat.graph(), &options, &program, nullptr).code, TENON_OK);
    toy.table.program_destroy(program);
    if (cycle == 0) in_use = toy.bytes_in_use();
    EXPECT_EQ(toy.bytes_in_use(), in_use);
  }
}

TEST(Run, IsOfOneIterationWhereNoMoreWasAskedFor) {
  Toy toy;
  tenon_buffer *s = toy.buffer(filled(1)), *x = toy.buffer(filled(1));
  for (const uint32_t most : {0u, 1u}) {
    const tenon_status status = run(toy, toy.queue, toy.compile(accumulator(), most), {{s, x}, {s}, {}, 2});
    EXPECT_EQ(status.code, TENON_INVALID);
    EXPECT_EQ(toy.read(s, kN), filled(1));
  }
}

// In memory that a host has not cleared.
TEST(Supports, WritesAllOfAVerdict) {
  Toy toy;
  GraphBuilder b;
  b.result(apply(b, "toy.fused", {feed(b)}));
  const FlatGraph graph = b.build();
  tenon_options options{};
  options.struct_size = sizeof options;
  const uint32_t node = 0;
  tenon_verdict verdict;
  std::memset(&verdict, 0xFF, sizeof verdict);
  ASSERT_EQ(toy.table.supports(toy.device, graph.graph(), &options, &node, 1, &verdict, sizeof verdict).code, TENON_OK);
  const auto address = reinterpret_cast<uintptr_t>(verdict.reason);
  ASSERT_EQ(address >> 56, 0u);
  EXPECT_STREQ(verdict.reason, "no kernel for this op");
}

// Hands out two buffers, and at the second iteration only the first of them.
int32_t next_of_two(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point*) {
  auto* const* buffers = static_cast<tenon_buffer**>(ctx);
  feeds[0] = buffers[0];
  if (i == 0) feeds[1] = buffers[1];
  return 1;
}

TEST(Run, TakesNoPartOfABatchFromTheOneBefore) {
  Toy toy;
  GraphBuilder b;
  const uint32_t x = feed(b), y = feed(b);
  b.result(apply(b, "add", {x, y}), TENON_MODE_EACH);
  tenon_program* program = toy.compile(b, 2);
  tenon_buffer* buffers[] = {toy.buffer(filled(1)), toy.buffer(filled(2))};
  const tenon_feed batches{sizeof(tenon_feed), 0, buffers, next_of_two, [](void*, uint64_t) {}};
  tenon_buffer* rows = toy.buffer(Numbers(2 * kN, -1));
  uint32_t done = 0;
  EXPECT_EQ(run(toy, toy.queue, program, {{nullptr, nullptr}, {rows}, {}, 2, &batches}, &done).code, TENON_OK);
  EXPECT_EQ(done, 1u);
}

// Each of three threads copies a part.
TEST(Run, WritesNothingBehindAResultThatIsCopied) {
  Toy toy(3);
  constexpr int64_t kLong = 3 << 12;
  GraphBuilder b;
  const uint32_t in = b.input(TENON_I64, {kLong}, TENON_ROLE_FEED), reversed = b.value(TENON_I64, {kLong});
  b.node("reverse", {in}, {reversed}).name("reversed").attr_list("axes", {0});
  b.result(in);
  b.result(reversed);
  tenon_buffer *x = toy.buffer(Numbers(2 * kLong, 1)), *y = toy.buffer(Numbers(2 * kLong, 2));
  run(toy, toy.compile(b), {{x}, {y, toy.buffer(Numbers(kLong))}});
  Numbers want(kLong, 1);
  want.resize(2 * kLong, 2);
  EXPECT_EQ(toy.read(y, 2 * kLong), want);
}

}  // namespace
}  // namespace tenon::plugin::testing

// Random numbers, bit for bit: published answers of Philox, streams, steps, seeds, shapes, any number of threads.
#include <array>
#include <cmath>

#include "conformance/host/lowering.h"
#include "conformance/host/session.h"
#include "conformance/reference/reference_philox.h"
#include "conformance/sanitizer.h"
#include "conformance/suites/values/cases.h"
#include "conformance/suites/values/parts.h"
#include "tenon/plugin/host_limits.h"

namespace tenon::conformance {
namespace {

using Words = std::array<uint32_t, 4>;

// Known answers of Random123 (D. E. Shaw Research, kat_vectors, "philox4x32 10").
struct KnownAnswer {
  Words counter;
  std::array<uint32_t, 2> key;
  Words answer;
};
const KnownAnswer kKnown[] = {{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
                              {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
                               {0xffffffff, 0xffffffff},
                               {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
                              {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                               {0xa4093822, 0x299f31d0},
                               {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};

// Where random's numbers come from.
struct Draw {
  int64_t seed, step, stream;
  std::vector<int64_t> shape;
};

plugin::FlatGraph graph_of(const Draw& draw, bool per_replica, int64_t first = 0) {
  plugin::GraphBuilder b;
  const uint32_t seed = b.input(TENON_I64, {}, TENON_ROLE_SCALAR, "seed"),
                 step = b.input(TENON_I64, {}, TENON_ROLE_STATE, "step");
  const uint32_t y = b.value(TENON_F32, draw.shape);
  b.node("random", {seed, step}, {y}).name("y").attr_i64("stream", draw.stream).attr_list("shape", draw.shape);
  b.attr_bool("per_replica", per_replica);
  if (first) b.attr_i64("first", first);
  b.result(y);
  return b.build();
}

reference::Tensor integer(int64_t v) {
  reference::Tensor t = reference::zeros(TENON_I64, {});
  t.i[0] = v;
  return t;
}

std::vector<double> drawn(Subject& subject, const Draw& draw, bool per_replica = false, Place place = Place::kHost) {
  const plugin::FlatGraph graph = graph_of(draw, per_replica);
  require_taken(subject, subject.device(), *graph.graph());
  return run_graph(subject, *graph.graph(), {integer(draw.seed), integer(draw.step)}, place)[0].f;
}

// The definition: word e & 3 of Philox(counter {e >> 2, stream, step}, key seed), its upper 24 bits.
double element(const Draw& draw, uint64_t e) {
  const auto low = [](int64_t v) { return static_cast<uint32_t>(v); };
  const auto high = [](int64_t v) { return static_cast<uint32_t>(static_cast<uint64_t>(v) >> 32); };
  const Words w =
      reference::philox4x32_10({static_cast<uint32_t>(e >> 2), low(draw.stream), low(draw.step), high(draw.step)},
                               {low(draw.seed), high(draw.seed)});
  return (w[e & 3] >> 8) * 0x1p-24;
}

void expect_bits(const std::vector<double>& found, const std::vector<double>& expected, const std::string& what) {
  expect(found.size() == expected.size(),
         what + ": " + std::to_string(found.size()) + " numbers, expected " + std::to_string(expected.size()));
  for (size_t e = 0; e < found.size(); ++e)
    if (found[e] != expected[e])
      fail(what + ": element " + std::to_string(e) + " is " + std::to_string(found[e] * 0x1p24) + " 2^-24, expected " +
           std::to_string(expected[e] * 0x1p24) + " 2^-24");
}

void check(Subject& subject, const Draw& draw, bool per_replica = false) {
  uint64_t n = 1;
  for (int64_t d : draw.shape) n *= static_cast<uint64_t>(d);
  std::vector<double> expected;
  for (uint64_t e = 0; e < n; ++e) expected.push_back(element(draw, e));
  const std::string what = "seed " + std::to_string(draw.seed) + " step " + std::to_string(draw.step) + " stream " +
                           std::to_string(draw.stream);
  for (Place place : {Place::kHost, Place::kDevice})
    expect_bits(drawn(subject, draw, per_replica, place), expected, what);
}

// Only the first answer has a counter that a small shape reaches; the others show that what all else is compared with
// is Philox.
void published_answers(Subject& subject) {
  for (const KnownAnswer& k : kKnown)
    expect(reference::philox4x32_10(k.counter, k.key) == k.answer, "the suite's own Philox is wrong");
  std::vector<double> expected;
  for (uint32_t w : kKnown[0].answer) expected.push_back((w >> 8) * 0x1p-24);
  expect_bits(drawn(subject, {0, 0, 0, {4}}), expected, "seed 0 step 0 stream 0");
}

void seeds(Subject& subject) {
  for (int64_t seed : {int64_t{1}, int64_t{-1}, int64_t{0x299f31d0a4093822}, INT64_MAX, INT64_MIN, int64_t{1} << 32})
    check(subject, {seed, 3, 5, {9}});
}

void steps(Subject& subject) {
  for (int64_t step : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{0x0370734413198a2e}, INT64_MAX, int64_t{1} << 32})
    check(subject, {7, step, 5, {9}});
}

void streams(Subject& subject) {
  for (int64_t stream : {int64_t{0}, int64_t{1}, int64_t{0x7fffffff}, int64_t{0x85a308d3}, int64_t{0xffffffff}})
    check(subject, {7, 3, stream, {9}});
}

// Replica `first` draws what a whole array of all replicas' rows has there: rows 3 n to 4 n of first = 3.
void follows_other_replicas(Subject& subject) {
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{9}, {64}, {5, 7}, {33, 4}, {}}) {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    const std::vector<double> whole = drawn(subject, {7, 3, 5, {6, n}});
    for (const int64_t first : {1, 3, 5}) {
      const plugin::FlatGraph graph = graph_of({7, 3, 5, shape}, true, first);
      require_taken(subject, subject.device(), *graph.graph());
      for (Place place : {Place::kHost, Place::kDevice})
        expect_bits(run_graph(subject, *graph.graph(), {integer(7), integer(3)}, place)[0].f,
                    {whole.begin() + first * n, whole.begin() + (first + 1) * n},
                    "replica " + std::to_string(first) + " of " + std::to_string(n) + " numbers each");
    }
  }
  const plugin::FlatGraph same = graph_of({7, 3, 5, {9}}, false, 3);
  expect_bits(run_graph(subject, *same.graph(), {integer(7), integer(3)}, Place::kDevice)[0].f,
              drawn(subject, {7, 3, 5, {9}}), "what all replicas draw alike, with first = 3");
}

// The number of numbers that replicas before draw is counted modulo 2^34.
void follows_very_many(Subject& subject) {
  const int64_t first = (int64_t{1} << 30) - 1;
  const Draw draw{7, 3, 5, {71}};
  const plugin::FlatGraph graph = graph_of(draw, true, first);
  require_taken(subject, subject.device(), *graph.graph());
  std::vector<double> expected;
  for (int64_t e = 0; e < 71; ++e) expected.push_back(element(draw, static_cast<uint64_t>(first * 71 + e)));
  expect_bits(run_graph(subject, *graph.graph(), {integer(7), integer(3)}, Place::kDevice)[0].f, expected,
              "replica 2^30 - 1 of 71 numbers each");
}

// Row-major whatever the shape, and no numbers are skipped where rows do not fill a counter's four.
void shapes(Subject& subject) {
  const Draw flat{11, 12, 13, {210}};
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{210}, {210, 1}, {2, 3, 5, 7}, {70, 3}, {1, 1, 210}}) {
    Draw draw = flat;
    draw.shape = shape;
    check(subject, draw);
  }
  check(subject, {11, 12, 13, {}});
  check(subject, {11, 12, 13, {4099}});
  check(subject, {11, 12, 13, {257, 129}});
}

void threads(Subject& subject) {
  const Draw draw{21, 22, 23, {331, 401}};
  std::vector<double> first = drawn(subject, draw);
  for (uint32_t limit : {1u, 2u}) {
    subject.limit_gang(limit);
    const std::vector<double> again = drawn(subject, draw);
    subject.limit_gang(0);
    expect_bits(again, first, "with gangs of at most " + std::to_string(limit));
  }
  Subject four(subject.path(), subject.seed(), 4);
  expect_bits(drawn(four, draw), first, "with 4 threads");
}

// The step is a state that the graph counts on: iteration i of one run draws what a run at step + i does.
void counted_steps(Subject& subject) {
  plugin::GraphBuilder b;
  const int64_t one = 1;
  const uint32_t seed = b.input(TENON_I64, {}, TENON_ROLE_SCALAR), step = b.input(TENON_I64, {}, TENON_ROLE_STATE);
  const uint32_t y = b.value(TENON_F32, {9}), next = b.value(TENON_I64, {});
  b.node("random", {seed, step}, {y})
      .name("y")
      .attr_i64("stream", 5)
      .attr_list("shape", {9})
      .attr_bool("per_replica", false);
  b.node("add", {step, b.constant(TENON_I64, {}, &one, sizeof one)}, {next}).name("next");
  b.result(y);
  b.result(next, TENON_MODE_LAST, 2);
  const plugin::FlatGraph graph = b.build();
  require_taken(subject, subject.device(), *graph.graph());
  Session session(subject, *graph.graph(), Place::kDevice);
  session.write({integer(7), integer((int64_t{1} << 32) - 2)});
  for (int64_t k = 0; k < 4; ++k) {
    const Draw draw{7, (int64_t{1} << 32) - 2 + k, 5, {9}};
    std::vector<double> expected;
    for (uint64_t e = 0; e < 9; ++e) expected.push_back(element(draw, e));
    expect_bits(session.run({integer(7), integer(0)})[0].f, expected,
                "step " + std::to_string(draw.step) + ", counted by the graph");
  }
}

// Elements have numbers of more than 32 bits. The last of them are looked at.
void beyond_32_bits(Subject& subject) {
  constexpr int64_t kLast = 1000, kElements = (int64_t{1} << 32) + kLast;
  const Draw draw{31, 32, 33, {kElements}};
  const plugin::FlatGraph graph = graph_of(draw, false);
  require_taken(subject, subject.device(), *graph.graph());
  constexpr uint64_t kBytes = kElements * 4;
  if (subject.units()[0].max_buffer_bytes < kBytes) throw Unavailable{"needs a buffer of 16 GiB"};
  if (plugin::host_memory().left < kBytesPerByte * kBytes + (uint64_t{1} << 30))
    throw Unavailable{"needs 16 GiB that are free"};
  Program program(subject, subject.device(), *graph.graph());
  if (program.info().workspace_bytes > (1u << 30)) throw Unavailable{"needs a workspace of its result's size"};
  Queue queue(subject, subject.device());
  const Buffer step(subject, subject.device(), TENON_I64, {}),
      result(subject, subject.device(), TENON_F32, {kElements});
  queue.write(step, integer(draw.step));
  tenon_buffer *input = step.handle(), *output = result.handle();
  tenon_scalar seed{};
  seed.i64 = draw.seed;
  tenon_run run{};
  run.program = program.handle();
  run.inputs = &input;
  run.results = &output;
  run.scalars = &seed;
  queue.wait(queue.submit(run));
  std::vector<float> last(kLast);
  queue.read(result, last.data(), kLast * 4, kBytes - kLast * 4);
  std::vector<double> expected;
  for (int64_t e = 0; e < kLast; ++e) expected.push_back(element(draw, static_cast<uint64_t>(kElements - kLast + e)));
  expect_bits({last.begin(), last.end()}, expected, "behind element 2^32");
}

void add(Tests& tests, const std::string& name, double size, void (*run)(Subject&)) {
  Test test;
  test.suite = "random";
  test.name = name;
  test.level = 2;
  test.size = size;
  test.run = run;
  tests.push_back(std::move(test));
}

}  // namespace

void add_random_tests(Tests& tests) {
  add(tests, "published answers", 4, published_answers);
  add(tests, "seeds", 9, seeds);
  add(tests, "steps", 9, steps);
  add(tests, "streams", 9, streams);
  add(tests, "counted steps", 9, counted_steps);
  add(tests, "shapes", 210, shapes);
  add(tests, "per replica", 9, [](Subject& subject) { check(subject, {7, 3, 5, {9}}, true); });
  add(tests, "after other replicas", 6 * 132, follows_other_replicas);
  add(tests, "after very many replicas", 67, follows_very_many);
  add(tests, "threads", 331 * 401, threads);
}

void add_long_random_test(Tests& tests) {
  add(tests, "beyond 2^32 elements", 0x1p32, beyond_32_bits);
  tests.back().required = false;
  tests.back().time_limit_s = 600;
}

}  // namespace tenon::conformance

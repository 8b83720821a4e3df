// Batches that run pulls: order, depth, when they may be read, where they end.
#include <algorithm>

#include "conformance/suites/feed/fed.h"
#include "conformance/suites/run/gate.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

void run_fed(Subject& s, uint32_t iterations, uint64_t batches, BufferOptions options = {}) {
  Fed fed(s);
  Pipeline pipeline(s, batches, 1, options);
  fed.run(pipeline, iterations, batches);
}

// A run with a feed is in order with what was submitted before it, as any other.
void comes_after_work_on_its_queue(Subject& s) {
  Gate gate(filled(kFeedN, 5));
  Fed fed(s);
  submit_copy(s, fed.queue, copy_to(fed.state, gate.memory(), gate.bytes()));
  gate.open_when_all_wait();
  fed.total = 5;
  Pipeline pipeline(s, 6);
  fed.run(pipeline, 6, 6);
}

void waits_for_copies(Subject& s) {
  Fed fed(s);
  Pipeline pipeline(s, 10);
  pipeline.come_after_copies();
  fed.run(pipeline, 10, 10);
}

void feeds_two_inputs(Subject& s) {
  Fed fed(s, 2);
  Pipeline pipeline(s, 10, 2);
  fed.run(pipeline, 10, 10, 2);
}

// The runs of an epoch, the last one short.
void goes_on_from_run_to_run(Subject& s) {
  Fed fed(s);
  for (uint64_t batches : {20u, 20u, 3u}) {
    write(fed.queue, fed.rows, filled(20 * kFeedN, -1));
    Pipeline pipeline(s, batches);
    fed.run(pipeline, 20, batches);
  }
}

// Batches in memory that the host sees.
void run_fed_by_host(Subject& s) {
  need_host_memory(f32_buffer(s, {1}, {.host = true}));
  run_fed(s, 20, 20, {.host = true});
}

void leaves_memory_of_the_ring(Subject& s) {
  for (int i = 0; i < 10; ++i) run_fed(s, 7, 7, {.host = i % 2 == 0});
}

// What was submitted before on the same queue, and what the run is to come after on another, is done first.
void comes_after_earlier_work(Subject& s) {
  Gate gates[] = {Gate(filled(kFeedN, 100)), Gate(filled(kFeedN, 2000))};
  Fed fed(s);
  Queue other(s, s.device());
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {kFeedN});
  sketch.builder.result(sketch.add(state, sketch.fill({kFeedN}, 1), {kFeedN}), TENON_MODE_LAST, 1);
  constexpr uint32_t kMany = 16;
  const Program counts = compile(s, sketch.builder.build(), kMany);
  for (Queue* queue : {&fed.queue, &other}) {
    write(*queue, fed.rows, filled(20 * kFeedN, -1));
    Gate& gate = gates[queue == &other];
    submit_copy(s, *queue, copy_to(fed.state, gate.memory(), gate.bytes()));
    gate.open_when_all_wait();
    Arguments earlier{{&fed.state}, {&fed.state}, {}, {}, kMany};
    const uint64_t ticket = queue->submit(earlier.run(counts));
    fed.total = (queue == &other ? 2000.0f : 100.0f) + kMany;
    Pipeline pipeline(s, 3);
    fed.run(pipeline, 20, 3, 1, {{queue->handle(), ticket}});
  }
}

// Buffers for as many batches as may be unreleased, and one more.
std::vector<Buffer> batches_of(Subject& s) {
  std::vector<Buffer> ring;
  for (uint32_t i = 0; i <= s.units()[0].feed_depth; ++i) ring.push_back(f32_buffer(s, {kFeedN}));
  return ring;
}

// A batch that is missing or too small ends the run, with what came before it: as an error that left nothing behind, or as a
// failure of the queue, with the iterations that were done.
void ends_with_a_bad_batch(Subject& s, bool missing, uint64_t bad) {
  struct Source {
    std::vector<Buffer> good;  // one more than may be unreleased
    tenon_buffer* other;
    uint64_t bad;
  };
  Fed fed(s);
  const Buffer small = f32_buffer(s, {kFeedN - 1});
  write(fed.queue, small, filled(kFeedN - 1, 1));
  Source source{batches_of(s), missing ? nullptr : small.handle(), bad};
  for (const Buffer& good : source.good) write(fed.queue, good, filled(kFeedN, 1));
  tenon_feed feed{};
  feed.struct_size = sizeof feed;
  feed.ctx = &source;
  feed.next = [](void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after) -> int32_t {
    const Source& self = *static_cast<Source*>(ctx);
    feeds[0] = i == self.bad ? self.other : self.good[i % self.good.size()].handle();
    *after = {nullptr, 0};
    return 1;
  };
  feed.release = [](void*, uint64_t) {};
  Arguments arguments{
      {nullptr, &fed.state}, {&fed.state, &fed.rows}, std::vector<tenon_scalar>(6, Arguments::f64(1)), {}, 6};
  arguments.feed = &feed;
  const tenon_run run = arguments.run(fed.program);
  const std::string what =
      std::string("a run whose batch ") + std::to_string(bad) + (missing ? " is NULL" : " is too small");
  uint64_t ticket = 0;
  uint32_t done = 77;
  {
    Queue queue(s, s.device());
    const tenon_status status = s.backend().run(queue.handle(), &run, &ticket, &done);
    const bool refused = status.code != TENON_OK;
    expect_code(refused ? status : s.backend().wait(queue.handle(), ticket, UINT64_MAX), TENON_INVALID, what);
    expect(done == (refused ? 0 : bad), what + " says that " + std::to_string(done) + " iterations are done" +
                                            (refused ? ", though it is refused" : ""));
    const float expected = static_cast<float>(refused ? 0 : bad);
    expect_equal(read(fed.queue, fed.state), filled(kFeedN, expected), "the state of " + what);
  }
  fed.total = static_cast<float>(done);
  write(fed.queue, fed.rows, filled(fed.max * kFeedN, -1));
  Pipeline pipeline(s, 3);
  fed.run(pipeline, 5, 3);
}

// r = f + f, q = g + w: two batches of two sizes, and a state that is read alone.
struct TwoSizes {
  static constexpr int64_t kSmall = 8, kLarge = 600;
  explicit TwoSizes(Subject& subject)
      : s(subject),
        queue(s, s.device()),
        program(compile(s, graph())),
        w(f32_buffer(s, {kLarge})),
        r(f32_buffer(s, {kSmall})),
        q(f32_buffer(s, {kLarge})),
        small(f32_buffer(s, {kSmall})),
        large(f32_buffer(s, {kLarge})) {
    write(queue, w, filled(kLarge, 1));
    write(queue, small, filled(kSmall, 2));
    write(queue, large, filled(kLarge, 3));
  }
  static plugin::FlatGraph graph() {
    Sketch sketch;
    const uint32_t f = sketch.feed(TENON_F32, {kSmall}), state = sketch.state(TENON_F32, {kLarge}),
                   g = sketch.feed(TENON_F32, {kLarge});
    sketch.builder.result(sketch.add(f, f, {kSmall}));
    sketch.builder.result(sketch.add(g, state, {kLarge}));
    return sketch.builder.build();
  }
  // The code of a run with these batches, or of the wait for it; OK: both results are checked.
  int32_t run(const Buffer* state, tenon_buffer* first, tenon_buffer* second) {
    struct Batches {
      tenon_buffer *first, *second;
    } batches{first, second};
    tenon_feed feed{};
    feed.struct_size = sizeof feed;
    feed.ctx = &batches;
    feed.next = [](void* ctx, uint64_t, tenon_buffer** feeds, tenon_point* after) -> int32_t {
      feeds[0] = static_cast<Batches*>(ctx)->first, feeds[1] = static_cast<Batches*>(ctx)->second;
      *after = {nullptr, 0};
      return 1;
    };
    feed.release = [](void*, uint64_t) {};
    Arguments arguments{{nullptr, state, nullptr}, {&r, &q}};
    arguments.feed = &feed;
    Queue own(s, s.device());
    const tenon_run run = arguments.run(program);
    uint64_t ticket = 0;
    uint32_t done = 77;
    tenon_status status = s.backend().run(own.handle(), &run, &ticket, &done);
    if (status.code == TENON_OK) status = s.backend().wait(own.handle(), ticket, UINT64_MAX);
    if (status.code != TENON_OK) return status.code;
    expect_equal(read(own, r), filled(kSmall, 4), "the result of the first batch");
    expect_equal(read(own, q), filled(kLarge, 4), "the result of the second batch");
    return TENON_OK;
  }

  Subject& s;
  Queue queue;
  Program program;
  Buffer w, r, q, small, large;
};

// A feed gives batches alone: states are to be there. And each batch is as large as its own input.
void misses_what_it_needs(Subject& s) {
  TwoSizes two(s);
  const auto expect_answer = [&](int32_t found, int32_t expected, const char* what) {
    expect(found == expected,
           std::string("a run with ") + what + ": found " + code_name(found) + ", expected " + code_name(expected));
  };
  tenon_buffer *const small = two.small.handle(), *const large = two.large.handle();
  expect_answer(two.run(&two.w, small, large), TENON_OK, "two batches");
  expect_answer(two.run(nullptr, small, large), TENON_INVALID, "two batches and no state");
  expect_answer(two.run(&two.w, large, small), TENON_INVALID, "two batches that are exchanged");
  expect_answer(two.run(&two.w, small, small), TENON_INVALID, "a second batch that is too small");
  expect_answer(two.run(&two.w, small, nullptr), TENON_INVALID, "a second batch that is missing");
  expect_answer(two.run(&two.w, nullptr, large), TENON_INVALID, "a first batch that is missing");
  expect_answer(two.run(&two.w, small, large), TENON_OK, "two batches again");
}

// What the run comes after is done, whichever of the points it is, and no more points are looked at than there are.
void comes_after_each_point(Subject& s, size_t held) {
  Gate gate(filled(kFeedN, 100));
  Fed fed(s);
  Queue first(s, s.device()), second(s, s.device());
  const Buffer other = f32_buffer(s, {kFeedN});
  const Floats values = filled(kFeedN, 100);
  Queue& holds = held == 0 ? first : second;
  Queue& free = held == 0 ? second : first;
  const uint64_t slow = submit_copy(s, holds, copy_to(fed.state, gate.memory(), gate.bytes()));
  const uint64_t quick = submit_copy(s, free, copy_to(other, values.data(), other.bytes()));
  gate.open_when_all_wait();
  std::vector<tenon_point> after{{holds.handle(), slow}, {free.handle(), quick}, {nullptr, 0}};
  if (held == 1) std::swap(after[0], after[1]);
  fed.total = 100;
  Pipeline pipeline(s, 3);
  fed.run(pipeline, 5, 3, 1, std::move(after), 2);
}

// Without a feed, inputs serve every iteration.
void inputs_serve_every_iteration(Subject& s) {
  Fed fed(s);
  const Buffer batch = f32_buffer(s, {kFeedN});
  write(fed.queue, batch, filled(kFeedN, 4));
  Arguments arguments{
      {&batch, &fed.state}, {&fed.state, &fed.rows}, std::vector<tenon_scalar>(20, Arguments::f64(3)), {}, 20};
  run_now(fed.queue, fed.program, arguments);
  expect_equal(read(fed.queue, fed.rows), filled(20 * kFeedN, 12), "rows of one batch that serves every iteration");
  expect_equal(read(fed.queue, fed.state), filled(kFeedN, 80), "the sum of one batch that serves every iteration");
  expect_equal(read(fed.queue, batch), filled(kFeedN, 4), "the batch");
}

// A run whose first call of next says stop does nothing.
void stops_at_once(Subject& s) {
  Fed fed(s);
  Pipeline pipeline(s, 0);
  fed.run(pipeline, 5, 0);
  Pipeline more(s, 2);
  fed.run(more, 5, 2);
}

// next may use other queues of its own, also to run programs.
void next_runs_programs(Subject& s) {
  struct Source {
    Subject& s;
    Queue queue;
    Program sum;
    Buffer a, b;
    std::vector<Buffer> batches;
    std::string error;
  };
  Source source{s,
                Queue(s, s.device()),
                compile(s, sum_graph(kFeedN)),
                f32_buffer(s, {kFeedN}),
                f32_buffer(s, {kFeedN}),
                batches_of(s),
                {}};
  Fed fed(s);
  tenon_feed feed{};
  feed.struct_size = sizeof feed;
  feed.ctx = &source;
  feed.next = [](void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after) -> int32_t {
    Source& self = *static_cast<Source*>(ctx);
    try {
      write(self.queue, self.a, filled(kFeedN, static_cast<float>(i)));
      write(self.queue, self.b, filled(kFeedN, 1));
      const Buffer& batch = self.batches[i % self.batches.size()];
      run_now(self.queue, self.sum, {{&self.a, &self.b}, {&batch}});
      feeds[0] = batch.handle();
      *after = {nullptr, 0};
      return 1;
    } catch (const Failure& failure) {
      self.error = failure.text;
    } catch (...) {
      self.error = "refused";
    }
    return 0;
  };
  feed.release = [](void*, uint64_t) {};
  Arguments arguments{{nullptr, &fed.state}, {&fed.state, &fed.rows}, {}, {}, 6};
  for (uint32_t i = 0; i < 6; ++i) arguments.scalars.push_back(Arguments::f64(i + 2));
  arguments.feed = &feed;
  run_now(fed.queue, fed.program, arguments);
  expect(source.error.empty(), "inside next: " + source.error);
  fed.check(6, 1);
}

}  // namespace

void add_feed_tests(Tests& tests) {
  const auto add = [&](const char* group, const std::string& name, std::function<void(Subject&)> run) {
    add_test(tests, "feed", group, name, std::move(run), 4);
  };
  add("batches", "one", [](Subject& s) { run_fed(s, 1, 1); });
  add("batches", "as many as iterations", [](Subject& s) { run_fed(s, 20, 20); });
  add("batches", "more than iterations", [](Subject& s) { run_fed(s, 5, 20); });
  add("batches", "fewer than iterations", [](Subject& s) { run_fed(s, 20, 3); });
  add("batches", "none", stops_at_once);
  add("batches", "in memory of the host", run_fed_by_host);
  add("batches", "of two inputs", feeds_two_inputs);
  add("batches", "after copies of another queue", waits_for_copies);
  add("batches", "behind work on the same queue", comes_after_work_on_its_queue);
  add("batches", "made by programs inside next", next_runs_programs);
  add("runs", "one after the other", goes_on_from_run_to_run);
  add("runs", "with rings of their own", leaves_memory_of_the_ring);
  add("runs", "after earlier work", comes_after_earlier_work);
  for (const size_t held : {0u, 1u})
    add("runs", held ? "after the second of two points" : "after the first of two points",
        [held](Subject& s) { comes_after_each_point(s, held); });
  add("runs", "without a feed", inputs_serve_every_iteration);
  add("bad batches", "of two inputs", misses_what_it_needs);
  for (const bool missing : {true, false})
    for (const uint64_t bad : {0u, 1u, 3u})
      add("bad batches", (missing ? "NULL, the " : "too small, the ") + std::to_string(bad + 1) + ". of 6",
          [=](Subject& s) { ends_with_a_bad_batch(s, missing, bad); });
  add_fed_until_tests(tests);
}

}  // namespace tenon::conformance

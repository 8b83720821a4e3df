// Part of the device suite: what a host is told that traces.
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "conformance/suites/queue/endless.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

// Copies of what a backend emits, on whatever thread.
class Collector {
 public:
  const tenon_sink* sink() const { return &sink_; }
  std::vector<tenon_event> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  bool overlapped() const { return overlapped_; }

 private:
  static void emit(void* ctx, const tenon_event* events, uint32_t n, uint64_t stride) {
    auto& self = *static_cast<Collector*>(ctx);
    if (self.calls_++ > 0) self.overlapped_ = true;
    self.take(events, n, stride);
    --self.calls_;
  }
  void take(const tenon_event* events, uint32_t n, uint64_t stride) {
    const std::lock_guard lock(mutex_);
    for (uint32_t i = 0; i < n; ++i) {
      tenon_event event{};
      std::memcpy(&event, reinterpret_cast<const uint8_t*>(events) + i * stride,
                  std::min<uint64_t>(stride, sizeof event));
      events_.push_back(event);
    }
  }

  mutable std::mutex mutex_;
  std::vector<tenon_event> events_;
  std::atomic<int> calls_{0};  // under way
  std::atomic<bool> overlapped_{false};
  tenon_sink sink_{sizeof(tenon_sink), 0, this, emit};
};

// The trace that is on while this lives.
class Trace {
 public:
  explicit Trace(Subject& s) : s_(s) {
    if (!s.backend().trace) throw Unavailable{"the backend does not trace"};
    expect_ok(s.backend().trace(s.device(), collector_.sink()), "trace");
  }
  ~Trace() {
    if (!ended_) (void)s_.backend().trace(s_.device(), nullptr);
  }
  std::vector<tenon_event> end() {
    ended_ = true;
    expect_ok(s_.backend().trace(s_.device(), nullptr), "trace without a sink");
    expect(!collector_.overlapped(), "emit was called while another call of it was under way");
    return collector_.events();
  }
  std::vector<tenon_event> events() const { return collector_.events(); }

 private:
  Subject& s_;
  Collector collector_;
  bool ended_ = false;
};

constexpr uint32_t kIterations = 3;

Program compile_traced(Subject& s, const plugin::FlatGraph& graph) {
  compile(s, graph);  // throws Unsupported where the backend does not take it
  tenon_options options{};
  options.struct_size = sizeof options;
  options.max_iterations = kIterations;
  options.flags = TENON_OPTION_TRACE;
  return Program(s, s.device(), *graph.graph(), options);
}

void run_counter(Subject& s, const Program& program) {
  Queue queue(s, s.device());
  const Buffer state = f32_buffer(s, {1000});
  write(queue, state, ramp(1000));
  Arguments arguments{{&state}, {&state}, std::vector<tenon_scalar>(kIterations, Arguments::f64(1)), {}, kIterations};
  run_now(queue, program, arguments);
  expect_equal(read(queue, state), ramp(1000, kIterations), "the state of a program that is traced");
}

void emits_events(Subject& s) {
  const plugin::FlatGraph graph = counter_graph(1000);
  const Program program = compile_traced(s, graph);
  Trace trace(s);
  run_counter(s, program);
  const std::vector<tenon_event> events = trace.end();
  expect(events.size() >= kIterations, "a traced run of 3 iterations gave " + std::to_string(events.size()) +
                                           " events, expected one of each iteration or more");
  for (const tenon_event& event : events) {
    expect(event.program == program.handle(), "an event names another program than the one that ran");
    expect(event.name && *event.name, "an event has no name");
    expect(event.node == TENON_NONE || event.node < graph.graph()->nodes.count,
           "an event is of node " + std::to_string(event.node) + " of " + std::to_string(graph.graph()->nodes.count));
    expect(event.unit < s.units().size(), "an event is of unit " + std::to_string(event.unit));
    expect(event.start_ps + event.duration_ps >= event.start_ps, "an event ends before it starts");
  }
}

// Three nodes, of which a kernel rarely does two: r = the sum of the sorted rows of x + x.
plugin::FlatGraph chain() {
  Sketch sketch;
  const uint32_t x = sketch.state(TENON_F32, {8, 32}), y = sketch.add(x, x, {8, 32});
  const uint32_t sorted = sketch.builder.value(TENON_F32, {8, 32}), order = sketch.builder.value(TENON_I32, {8, 32});
  sketch.builder.node("sort", {y}, {sorted, order}).name("sorted").attr_i64("k", 32).attr_bool("descending", false);
  const uint32_t sums = sketch.node("reduce", {sorted}, TENON_F32, {8});
  sketch.builder.attr_list("axes", {1}).attr_enum("kind", TENON_REDUCE_SUM);
  sketch.builder.result(sums);
  return sketch.builder.build();
}

// An event is of the node that it is named after; and where each iteration has as many as there are nodes, none is left out.
void tells_nodes_apart(Subject& s) {
  const plugin::FlatGraph graph = chain();
  const plugin::GraphView view(*graph.graph());
  const Program program = compile_traced(s, graph);
  Queue queue(s, s.device());
  const Buffer x = f32_buffer(s, {8, 32}), sums = f32_buffer(s, {8});
  write(queue, x, ramp(8 * 32));
  Trace trace(s);
  run_now(queue, program, {{&x}, {&sums}, {}, {}, kIterations});
  const std::vector<tenon_event> events = trace.end();
  std::vector<size_t> of_node(view.n_nodes());
  size_t all = 0;
  for (const tenon_event& event : events) {
    if (event.lane != 0 || event.node == TENON_NONE) continue;
    expect(event.node < view.n_nodes(), "an event is of node " + std::to_string(event.node) + " of 3");
    for (uint32_t i = 0; i < view.n_nodes(); ++i)
      expect(event.name != view.node(i).name() || event.node == i,
             "an event has the name of node " + std::to_string(i) + " and is of node " + std::to_string(event.node));
    ++of_node[event.node], ++all;
  }
  if (all < size_t{kIterations} * view.n_nodes()) throw Unavailable{"the backend joins the three nodes of the graph"};
  for (uint32_t i = 0; i < view.n_nodes(); ++i)
    expect(of_node[i] >= kIterations, "node " + std::to_string(i) + " has " + std::to_string(of_node[i]) +
                                          " events of " + std::to_string(all) + ", expected one of each iteration");
}

// A state is carried on: what an iteration writes the next one reads, so that they cannot be at work at once. And all
// of it lies between the call that submits it and the wait that comes back.
void tells_when(Subject& s) {
  const Program program = compile_traced(s, counter_graph(1000));
  Trace trace(s);
  const double start = seconds_now();
  run_counter(s, program);
  const double seconds = seconds_now() - start;
  const std::vector<tenon_event> events = trace.end();
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint64_t> ends;  // of node, unit, lane
  uint64_t first = UINT64_MAX, last = 0;
  for (const tenon_event& event : events) {
    uint64_t& end = ends[{event.node, event.unit, event.lane}];
    expect(event.start_ps >= end, "an event of node " + std::to_string(event.node) + " starts at " +
                                      std::to_string(event.start_ps) + " ps, that of the iteration before ends at " +
                                      std::to_string(end));
    end = event.start_ps + event.duration_ps;
    first = std::min(first, event.start_ps), last = std::max(last, end);
  }
  const double took = events.empty() ? 0 : static_cast<double>(last - first) * 1e-12;
  expect(took <= 2 * seconds + 1,
         "the events of a run of " + std::to_string(seconds) + " s lie within " + std::to_string(took) + " s");
}

// A product's own arithmetic, and the bytes of what it reads and writes, in every iteration.
void tells_work_of_events(Subject& s) {
  const int64_t m = 24, k = 40, n = 56;
  Sketch sketch;
  const uint32_t a = sketch.state(TENON_F32, {m, k}), b = sketch.state(TENON_F32, {k, n});
  sketch.builder.result(sketch.node("dot", {a, b}, TENON_F32, {m, n}));
  const Program program = compile_traced(s, sketch.builder.build());
  Queue queue(s, s.device());
  const Buffer x = f32_buffer(s, {m, k}), y = f32_buffer(s, {k, n}), r = f32_buffer(s, {m, n});
  write(queue, x, filled(m * k, 1));
  write(queue, y, filled(k * n, 1));
  Trace trace(s);
  run_now(queue, program, {{&x, &y}, {&r}, {}, {}, kIterations});
  uint64_t flops = 0, bytes = 0;
  for (const tenon_event& event : trace.end()) flops += event.flops, bytes += event.bytes;
  if (flops == 0 || bytes == 0) throw Unavailable{"the backend does not say what an event's work is"};
  const uint64_t all = kIterations * 2 * m * k * n, least = kIterations * 4 * (m * k + k * n + m * n);
  const std::string what = "the events of 3 iterations of f32[24,40] . f32[40,56] have ";
  expect(flops >= all && flops < 2 * all,
         what + std::to_string(flops) + " flops, expected about " + std::to_string(all));
  expect(bytes >= least, what + std::to_string(bytes) + " bytes, expected " + std::to_string(least) + " or more");
}

// A trace that is ended while a run goes on, by the thread that gives it batches.
void ends_within_a_run(Subject& s) {
  struct Ending {
    Subject& s;
    Trace& trace;
    tenon_buffer* batch;
    size_t events = 0;
    uint64_t at = 2;
    bool failed = false;
  };
  Sketch sketch;
  const uint32_t state = sketch.state(TENON_F32, {1000}), batch = sketch.feed(TENON_F32, {1000});
  sketch.builder.result(sketch.add(state, batch, {1000}), TENON_MODE_LAST, 1);
  const Program program = compile_traced(s, sketch.builder.build());
  if (s.units()[0].feed_depth > 1) throw Unavailable{"iterations are still at work when the next batch is asked for"};
  Queue queue(s, s.device());
  const Buffer to = f32_buffer(s, {1000}), one = f32_buffer(s, {1000});
  write(queue, to, filled(1000, 0));
  write(queue, one, filled(1000, 1));
  Trace trace(s);
  Ending ending{s, trace, one.handle()};
  tenon_feed feed{};
  feed.struct_size = sizeof feed;
  feed.ctx = &ending;
  feed.next = [](void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after) -> int32_t {
    Ending& self = *static_cast<Ending*>(ctx);
    if (i == self.at) {
      self.failed = self.s.backend().trace(self.s.device(), nullptr).code != TENON_OK;
      self.events = self.trace.events().size();
    }
    feeds[0] = self.batch;
    *after = {nullptr, 0};
    return 1;
  };
  feed.release = [](void*, uint64_t) {};
  Arguments arguments{{&to, nullptr}, {&to}, {}, {}, kIterations};
  arguments.feed = &feed;
  run_now(queue, program, arguments);
  expect(!ending.failed, "trace without a sink, within a run: found an error");
  expect_equal(read(queue, to), filled(1000, kIterations), "the state of a run whose trace was ended");
  expect(trace.events().size() == ending.events, "events came after the trace was ended within a run");
}

void ends(Subject& s) {
  const Program program = compile_traced(s, counter_graph(1000));
  Trace trace(s);
  run_counter(s, program);
  const size_t before = trace.end().size();
  run_counter(s, program);
  expect(trace.events().size() == before, "events come after the trace was ended");
  expect_ok(s.backend().trace(s.device(), nullptr), "a second trace without a sink");
}

void has_one_sink(Subject& s) {
  const Program program = compile_traced(s, counter_graph(1000));
  Trace trace(s);
  Collector other;
  expect_code(s.backend().trace(s.device(), other.sink()), TENON_INVALID, "trace with a sink while there is one");
  run_counter(s, program);
  expect(!trace.end().empty() && other.events().empty(), "a second sink, which was refused, took the events");
}

void begins_again(Subject& s) {
  const Program program = compile_traced(s, counter_graph(1000));
  for (int i = 0; i < 3; ++i) {
    Trace trace(s);
    run_counter(s, program);
    expect(!trace.end().empty(), "trace " + std::to_string(i + 1) + " of 3 has no events");
  }
}

}  // namespace

void add_tracing_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&)) {
    add_test(tests, "device", "trace", name, run).required = false;
  };
  add("events of a run", emits_events);
  add("events of each node", tells_nodes_apart);
  add("times", tells_when);
  add("work", tells_work_of_events);
  add("nothing after its end", ends);
  add("ended within a run", ends_within_a_run);
  add("one sink", has_one_sink);
  add("three traces", begins_again);
}

}  // namespace tenon::conformance

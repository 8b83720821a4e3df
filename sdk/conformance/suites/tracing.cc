// Part of the device suite: what a host is told that traces.
#include <mutex>

#include "conformance/suites/parts.h"
#include "conformance/suites/support.h"

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

 private:
  static void emit(void* ctx, const tenon_event* events, uint32_t n, uint64_t stride) {
    auto& self = *static_cast<Collector*>(ctx);
    const std::lock_guard lock(self.mutex_);
    for (uint32_t i = 0; i < n; ++i) {
      tenon_event event{};
      std::memcpy(&event, reinterpret_cast<const uint8_t*>(events) + i * stride,
                  std::min<uint64_t>(stride, sizeof event));
      self.events_.push_back(event);
    }
  }

  mutable std::mutex mutex_;
  std::vector<tenon_event> events_;
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
  sketch.builder.attr_list("axes", {1}).attr_enum("kind", TENON_SUM);
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

void ends(Subject& s) {
  const Program program = compile_traced(s, counter_graph(1000));
  Trace trace(s);
  run_counter(s, program);
  const size_t before = trace.end().size();
  run_counter(s, program);
  expect(trace.events().size() == before, "events come after the trace was ended");
  expect_ok(s.backend().trace(s.device(), nullptr), "a second trace without a sink");
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
  add("nothing after its end", ends);
  add("three traces", begins_again);
}

}  // namespace tenon::conformance

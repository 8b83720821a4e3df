// Flags that no version defines, structs of older and newer hosts: what lets the contract grow.
#include <cstring>

#include "conformance/suites/parts.h"
#include "conformance/suites/support.h"

namespace tenon::conformance {
namespace {

constexpr uint64_t kHints = 1ull << 32 | 1ull << 47 | 1ull << 63;
// A call with these flags; what it made is released again.
using Call = std::function<tenon_status(uint64_t flags)>;

// Each of the low bits but those that are `known`.
void check_flags(const std::string& entry, const Call& call, uint64_t known = 0) {
  for (int bit = 0; bit < 32; ++bit)
    if (!(known >> bit & 1))
      expect_code(call(1ull << bit), TENON_UNSUPPORTED, entry + " with bit " + std::to_string(bit) + " in its flags");
  expect_ok(call(0), entry);
  const tenon_status hinted = call(kHints);
  expect(hinted.code == TENON_OK,
         entry + " refuses unknown high bits in its flags, which are hints: " + one_line(hinted.message));
}

tenon_options plain_options() {
  tenon_options options{};
  options.struct_size = sizeof options;
  return options;
}

tenon_status try_open(Subject& s, const tenon_open& open) {
  tenon_device* device = nullptr;
  const tenon_status status = s.backend().device_open(s.backend().self, &open, &device);
  if (status.code == TENON_OK) s.backend().device_close(device);
  return status;
}

tenon_open plain_open(Subject& s) {
  static const uint32_t unit = 0;
  tenon_open open{};
  open.struct_size = sizeof open;
  open.spec = s.spec();
  open.units = &unit;
  open.n_units = 1;
  open.processes = 1;
  return open;
}

void open_flags(Subject& s) {
  check_flags("device_open", [&](uint64_t flags) {
    tenon_open open = plain_open(s);
    open.flags = flags;
    return try_open(s, open);
  });
}

tenon_status try_supports(Subject& s, const tenon_graph& graph, const tenon_options& options) {
  const uint32_t node = 0;
  tenon_verdict verdict{};
  return s.backend().supports(s.device(), &graph, &options, &node, 1, &verdict, sizeof verdict);
}

tenon_status try_compile(Subject& s, const tenon_graph& graph, const tenon_options& options) {
  tenon_program* program = nullptr;
  tenon_info info{};
  info.struct_size = sizeof info;
  const tenon_status status = s.backend().compile(s.device(), &graph, &options, &program, &info);
  if (status.code == TENON_OK) s.backend().program_destroy(program);
  return status;
}

constexpr uint64_t kOptionFlags = TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE;

void supports_flags(Subject& s) {
  const plugin::FlatGraph graph = sum_graph(5);
  const auto with_flags = [&](uint64_t flags) {
    tenon_options options = plain_options();
    options.flags = flags;
    return try_supports(s, *graph.graph(), options);
  };
  check_flags("supports", with_flags, kOptionFlags);
  check_flags("supports of a graph", [&](uint64_t flags) {
    tenon_graph flagged = *graph.graph();
    flagged.flags = flags;
    return try_supports(s, flagged, plain_options());
  });
}

void compile_flags(Subject& s) {
  const plugin::FlatGraph graph = sum_graph(5);
  compile(s, graph);  // whether it can be compiled at all
  const auto with_flags = [&](uint64_t flags) {
    tenon_options options = plain_options();
    options.flags = flags;
    return try_compile(s, *graph.graph(), options);
  };
  check_flags("compile", with_flags, kOptionFlags);
  check_flags("compile of a graph", [&](uint64_t flags) {
    tenon_graph flagged = *graph.graph();
    flagged.flags = flags;
    return try_compile(s, flagged, plain_options());
  });
}

// DETERMINISTIC and TRACE are of this version.
void known_option_flags(Subject& s) {
  const plugin::FlatGraph graph = sum_graph(5);
  compile(s, graph);
  for (uint64_t flags :
       {TENON_OPTION_DETERMINISTIC, TENON_OPTION_TRACE, TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE}) {
    tenon_options options = plain_options();
    options.flags = flags;
    expect_ok(try_supports(s, *graph.graph(), options), "supports with option flags " + std::to_string(flags));
    expect_ok(try_compile(s, *graph.graph(), options), "compile with option flags " + std::to_string(flags));
  }
}

tenon_desc plain_desc() {
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = TENON_F32;
  desc.rank = 2;
  desc.dims[0] = 3;
  desc.dims[1] = 5;
  return desc;
}

tenon_status try_alloc(Subject& s, const tenon_desc& desc, void** host = nullptr) {
  tenon_buffer* buffer = nullptr;
  void* memory = nullptr;
  const tenon_status status = s.backend().buffer_alloc(s.device(), &desc, &buffer, &memory);
  if (status.code == TENON_OK) s.backend().buffer_free(buffer);
  if (host) *host = memory;
  return status;
}

void alloc_flags(Subject& s) {
  const auto with_flags = [&](uint64_t flags) {
    tenon_desc desc = plain_desc();
    desc.flags = flags;
    return try_alloc(s, desc);
  };
  check_flags("buffer_alloc", with_flags, TENON_DESC_HOST);
}

void queue_flags(Subject& s) {
  check_flags("queue_create", [&](uint64_t flags) {
    tenon_queue* queue = nullptr;
    const tenon_status status = s.backend().queue_create(s.device(), flags, &queue);
    if (status.code == TENON_OK) s.backend().queue_destroy(queue);
    return status;
  });
}

void copy_flags(Subject& s) {
  Queue queue(s, s.device());
  Buffer buffer = f32_buffer(s, {15});
  const Floats values = ramp(15);
  check_flags("copy", [&](uint64_t flags) {
    tenon_copy copy = copy_to(buffer, values.data(), 60);
    copy.flags = flags;
    uint64_t ticket = 0;
    const tenon_status status = s.backend().copy(queue.handle(), &copy, &ticket);
    if (status.code == TENON_OK) queue.wait(ticket);
    return status;
  });
  expect_equal(read(queue, buffer), values, "what was copied");
}

// A run of sum_graph with all that it needs.
struct Sum {
  explicit Sum(Subject& s)
      : subject(s),
        queue(s, s.device()),
        program(compile(s, sum_graph(8))),
        a(f32_buffer(s, {8})),
        b(f32_buffer(s, {8})),
        r(f32_buffer(s, {8})) {
    write(queue, a, ramp(8));
    write(queue, b, filled(8, 100));
    arguments.inputs = {&a, &b};
    arguments.results = {&r};
  }
  tenon_status run(const tenon_run& run) {
    uint64_t ticket = 0;
    uint32_t done = 0;
    const tenon_status status = subject.backend().run(queue.handle(), &run, &ticket, &done);
    if (status.code == TENON_OK) queue.wait(ticket);
    return status;
  }
  void check() {
    expect_equal(read(queue, r), ramp(8, 100), "the sum");
    queue.write_rubbish(r);
  }
  Subject& subject;
  Queue queue;
  Program program;
  Buffer a, b, r;
  Arguments arguments;
};

void run_flags(Subject& s) {
  Sum sum(s);
  check_flags("run", [&](uint64_t flags) {
    tenon_run run = sum.arguments.run(sum.program);
    run.flags = flags;
    return sum.run(run);
  });
  sum.check();
}

void feed_flags(Subject& s) {
  Sum sum(s);
  check_flags("run with a feed", [&](uint64_t flags) {
    tenon_feed feed{};
    feed.struct_size = sizeof feed;
    feed.flags = flags;
    feed.next = [](void*, uint64_t, tenon_buffer**, tenon_point*) { return 1; };
    feed.release = [](void*, uint64_t) {};
    sum.arguments.feed = &feed;
    return sum.run(sum.arguments.run(sum.program));
  });
  sum.check();
}

void sink_flags(Subject& s) {
  if (s.backend().struct_size < TENON_SIZE(tenon_backend, trace) || !s.backend().trace)
    throw Unavailable{"the backend does not trace"};
  check_flags("trace", [&](uint64_t flags) {
    const tenon_sink sink{sizeof sink, flags, nullptr, [](void*, const tenon_event*, uint32_t, uint64_t) {}};
    const tenon_status status = s.backend().trace(s.device(), &sink);
    if (status.code == TENON_OK) expect_ok(s.backend().trace(s.device(), nullptr), "trace without a sink");
    return status;
  });
}

// ---- sizes ----

// `known` bytes of a struct at the end of readable memory would be best; marked bytes behind them show it too.
template <class T>
T older(T whole, uint64_t known) {
  std::memset(reinterpret_cast<char*>(&whole) + known, kMark, sizeof whole - known);
  whole.struct_size = known;
  return whole;
}

template <class T>
struct Newer {
  T whole;
  uint64_t more[8];
};
template <class T>
Newer<T> newer(const T& whole) {
  Newer<T> out{whole, {}};
  out.whole.struct_size = sizeof out;
  std::memset(out.more, kMark, sizeof out.more);
  return out;
}

void reads_older_structs(Subject& s) {
  expect_ok(try_open(s, older(plain_open(s), TENON_SIZE(tenon_open, n_units))),
            "device_open with a struct that ends behind n_units");
  void* host = nullptr;
  expect_ok(try_alloc(s, older(plain_desc(), TENON_SIZE(tenon_desc, dims)), &host),
            "buffer_alloc with a struct that ends behind dims");
  expect(host == nullptr, "buffer_alloc with a struct that ends behind dims: expected no host memory");
}

void reads_older_options_and_runs(Subject& s) {
  const plugin::FlatGraph graph = sum_graph(5);
  compile(s, graph);
  for (uint64_t known : {TENON_SIZE(tenon_options, flags), TENON_SIZE(tenon_options, max_iterations),
                         TENON_SIZE(tenon_options, precision)}) {
    const tenon_options options = older(plain_options(), known);
    expect_ok(try_supports(s, *graph.graph(), options), "supports with options of " + std::to_string(known) + " bytes");
    expect_ok(try_compile(s, *graph.graph(), options), "compile with options of " + std::to_string(known) + " bytes");
  }
  Sum sum(s);
  expect_ok(sum.run(older(sum.arguments.run(sum.program), TENON_SIZE(tenon_run, scalars))),
            "run with a struct that ends behind scalars");
  sum.check();
  expect_ok(sum.run(older(sum.arguments.run(sum.program), TENON_SIZE(tenon_run, results))),
            "run with a struct that ends behind results");
  sum.check();
}

void reads_newer_structs(Subject& s) {
  expect_ok(try_open(s, newer(plain_open(s)).whole), "device_open with a larger struct");
  expect_ok(try_alloc(s, newer(plain_desc()).whole), "buffer_alloc with a larger struct");
  Queue queue(s, s.device());
  Buffer buffer = f32_buffer(s, {6});
  const Floats values = ramp(6);
  const auto copy = newer(copy_to(buffer, values.data(), 24));
  queue.wait(submit_copy(s, queue, copy.whole));
  expect_equal(read(queue, buffer), values, "what a larger struct copied");
}

void reads_newer_graphs_and_runs(Subject& s) {
  const plugin::FlatGraph graph = sum_graph(5);
  compile(s, graph);
  const auto options = newer(plain_options());
  const auto larger = newer(*graph.graph());
  expect_ok(try_supports(s, larger.whole, options.whole), "supports with larger structs");
  expect_ok(try_compile(s, larger.whole, options.whole), "compile with larger structs");
  Sum sum(s);
  const auto run = newer(sum.arguments.run(sum.program));
  expect_ok(sum.run(run.whole), "run with a larger struct");
  sum.check();
}

// An out struct in marked memory: `known` zeroed bytes, then marks.
template <class T>
struct Marked {
  explicit Marked(uint64_t size) : known(size) {
    std::memset(bytes, kMark, sizeof bytes);
    std::memset(bytes, 0, known);
    std::memcpy(bytes, &known, sizeof known);
  }
  T* get() { return reinterpret_cast<T*>(bytes); }
  void check(const std::string& entry) const {
    for (uint64_t i = known; i < sizeof bytes; ++i)
      expect(bytes[i] == kMark, entry + " into " + std::to_string(known) + " bytes wrote byte " + std::to_string(i));
  }
  uint64_t known;
  alignas(16) uint8_t bytes[sizeof(T) + 128];
};

void fills_out_structs_within_size(Subject& s) {
  const plugin::FlatGraph graph = sum_graph(5);
  compile(s, graph);
  const tenon_options options = plain_options();
  for (uint64_t size = 16; size <= sizeof(tenon_info) + 64; size += 8) {
    Marked<tenon_info> info(size);
    tenon_program* program = nullptr;
    expect_ok(s.backend().compile(s.device(), graph.graph(), &options, &program, info.get()),
              "compile with an info of " + std::to_string(size) + " bytes");
    s.backend().program_destroy(program);
    info.check("compile's info");
  }
}

void fills_stats_within_size(Subject& s) {
  if (s.backend().struct_size < TENON_SIZE(tenon_backend, stats) || !s.backend().stats)
    throw Unavailable{"the backend has no stats"};
  for (uint64_t size = 16; size <= sizeof(tenon_stats) + 64; size += 8) {
    Marked<tenon_stats> stats(size);
    expect_ok(s.backend().stats(s.device(), stats.get()), "stats of " + std::to_string(size) + " bytes");
    stats.check("stats");
  }
}

// Older verdicts are smaller: answers of several nodes, a stride apart.
void fills_verdicts_by_stride(Subject& s) {
  Sketch sketch;
  const uint32_t a = sketch.state(TENON_F32, {4}), b = sketch.state(TENON_F32, {4});
  const uint32_t c = sketch.add(a, b, {4}), d = sketch.node("no_such_op", {c}, TENON_F32, {4});
  sketch.builder.result(sketch.add(c, d, {4}));
  const plugin::FlatGraph graph = sketch.builder.build();
  const std::vector<Answer> expected = answers(s, s.device(), *graph.graph());
  const tenon_options options = plain_options();
  const uint32_t nodes[] = {2, 1, 0};
  for (uint64_t stride : {uint64_t{4}, uint64_t{8}, uint64_t{16}, uint64_t{sizeof(tenon_verdict)},
                          uint64_t{sizeof(tenon_verdict) + 24}}) {
    std::vector<uint8_t> out(4 * stride + sizeof(tenon_verdict), kMark);
    expect_ok(s.backend().supports(s.device(), graph.graph(), &options, nodes, 3,
                                   reinterpret_cast<tenon_verdict*>(out.data()), stride),
              "supports");
    for (uint32_t i = 0; i < 3; ++i) {
      int32_t answer;
      std::memcpy(&answer, &out[i * stride], sizeof answer);
      expect(answer == expected[nodes[i]].answer, "supports with a stride of " + std::to_string(stride) + ": answer " +
                                                      std::to_string(i) + " is not of its node");
    }
    for (size_t i = 3 * stride; i < out.size(); ++i)
      expect(out[i] == kMark, "supports with a stride of " + std::to_string(stride) + " wrote behind the last verdict");
  }
}

}  // namespace

void add_flag_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, void (*run)(Subject&), int level = 0) {
    add_test(tests, "device", group, name, run, level);
  };
  add("flags", "device_open", open_flags);
  add("flags", "supports", supports_flags);
  add("flags", "compile", compile_flags, 1);
  add("flags", "of options that are known", known_option_flags, 1);
  add("flags", "buffer_alloc", alloc_flags);
  add("flags", "queue_create", queue_flags);
  add("flags", "copy", copy_flags);
  add("flags", "run", run_flags, 1);
  add("flags", "feed", feed_flags, 1);
  add("flags", "trace", sink_flags);
  add("structs", "older, of devices and buffers", reads_older_structs);
  add("structs", "older, of programs", reads_older_options_and_runs, 1);
  add("structs", "newer, of devices and buffers", reads_newer_structs);
  add("structs", "newer, of programs", reads_newer_graphs_and_runs, 1);
  add("structs", "info is filled within its size", fills_out_structs_within_size, 1);
  add("structs", "stats are filled within their size", fills_stats_within_size);
  add("structs", "verdicts step by the stride", fills_verdicts_by_stride);
}

}  // namespace tenon::conformance

// Flags that no version defines: what lets the contract grow.
#include <functional>

#include "conformance/suites/run/calls.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"
#include "tenon/abi/forecast.h"

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

void open_flags(Subject& s) {
  check_flags("device_open", [&](uint64_t flags) {
    tenon_open open = plain_open(s);
    open.flags = flags;
    return try_open(s, open);
  });
}

// Which a backend may refuse as it refuses what it does not know.
constexpr uint64_t kChoice = TENON_OPTION_FORECAST;
constexpr uint64_t kOptionFlags = TENON_OPTION_DETERMINISTIC | TENON_OPTION_TRACE | kChoice;

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

// Who takes FORECAST offers the extension, and runs nothing.
void forecast_flag(Subject& s) {
  const plugin::FlatGraph graph = sum_graph(8);
  tenon_options options = plain_options();
  options.flags = TENON_OPTION_FORECAST;
  const bool offers = s.backend().struct_size >= TENON_SIZE(tenon_backend, extension) && s.backend().extension &&
                      s.backend().extension(s.backend().self, TENON_FORECAST, 1);
  if (!offers) {
    expect_code(try_supports(s, *graph.graph(), options), TENON_UNSUPPORTED, "supports with FORECAST");
    return expect_code(try_compile(s, *graph.graph(), options), TENON_UNSUPPORTED, "compile with FORECAST");
  }
  Sum sum(s);
  const Program looked_at(s, s.device(), *graph.graph(), options);
  tenon_run run = sum.arguments.run(looked_at);
  uint64_t ticket = 0;
  uint32_t done = 0;
  const tenon_status status = s.backend().run(sum.queue.handle(), &run, &ticket, &done);
  expect(status.code != TENON_OK, "run takes a program that was compiled with FORECAST");
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

// What comes out is asked for by flags too, and says by its own how it is to be read.
template <class T>
void check_out_flags(const std::string& entry, const std::function<tenon_status(T*)>& fill) {
  check_flags(entry, [&](uint64_t flags) {
    T out{};
    out.struct_size = sizeof out;
    out.flags = flags;
    const tenon_status status = fill(&out);
    if (status.code == TENON_OK)
      expect((out.flags & 0xFFFFFFFFull) == 0,
             entry + " gives flags " + std::to_string(out.flags) + " with low bits that no version defines");
    return status;
  });
}

bool has(Subject& s, uint64_t end) { return s.backend().struct_size >= end; }

void stats_flags(Subject& s) {
  if (!has(s, TENON_SIZE(tenon_backend, stats)) || !s.backend().stats) throw Unavailable{"the backend has no stats"};
  check_out_flags<tenon_stats>("stats", [&](tenon_stats* out) { return s.backend().stats(s.device(), out); });
}

void facts_flags(Subject& s) {
  if (!has(s, TENON_SIZE(tenon_backend, facts)) || !s.backend().facts)
    throw Declined{"the backend does not tell what its devices are"};
  check_out_flags<tenon_facts>("facts", [&](tenon_facts* out) { return s.backend().facts(s.device(), out); });
}

void error_flags(Subject& s) {
  if (!has(s, TENON_SIZE(tenon_backend, error_info)) || !s.backend().error_info)
    throw Declined{"the backend does not tell where a queue failed"};
  const Queue queue(s, s.device());
  check_out_flags<tenon_error>("error_info",
                               [&](tenon_error* out) { return s.backend().error_info(queue.handle(), out); });
}

void info_flags(Subject& s) {
  const plugin::FlatGraph graph = sum_graph(5);
  const tenon_options options = plain_options();
  compile(s, graph);
  check_out_flags<tenon_info>("compile's info", [&](tenon_info* out) {
    tenon_program* program = nullptr;
    const tenon_status status = s.backend().compile(s.device(), graph.graph(), &options, &program, out);
    if (status.code == TENON_OK) s.backend().program_destroy(program);
    return status;
  });
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
  add("flags", "FORECAST", forecast_flag, 1);
  add("flags", "buffer_alloc", alloc_flags);
  add("flags", "queue_create", queue_flags);
  add("flags", "copy", copy_flags);
  add("flags", "run", run_flags, 1);
  add("flags", "feed", feed_flags, 1);
  add("flags", "trace", sink_flags);
  add("flags", "stats", stats_flags);
  add("flags", "facts", facts_flags);
  add("flags", "error_info", error_flags);
  add("flags", "info", info_flags, 1);
}

}  // namespace tenon::conformance

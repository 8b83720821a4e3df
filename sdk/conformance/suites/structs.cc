// Structs of older and newer hosts, read and filled within their sizes: what lets the contract grow.
#include <algorithm>
#include <cstring>
#include <functional>

#include "conformance/suites/run/calls.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

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
  for (uint64_t known : {TENON_SIZE(tenon_options, flags), TENON_SIZE(tenon_options, max_iterations)}) {
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

// `size` bytes, and how many were said to be filled.
template <class T>
void fill_within(uint64_t size, const std::string& entry, const std::function<tenon_status(T*)>& fill) {
  Marked<T> out(size);
  expect_ok(fill(out.get()), entry + " into " + std::to_string(size) + " bytes");
  out.check(entry);
  const uint64_t filled = out.get()->struct_size;
  expect(filled <= size,
         entry + " into " + std::to_string(size) + " bytes says that " + std::to_string(filled) + " are filled");
}

void fills_error_within_size(Subject& s) {
  if (s.backend().struct_size < TENON_SIZE(tenon_backend, error_info) || !s.backend().error_info)
    throw Declined{"the backend does not tell where a queue failed"};
  const Queue queue(s, s.device());
  for (uint64_t size = 16; size <= sizeof(tenon_error) + 64; size += 8)
    fill_within<tenon_error>(size, "error_info",
                             [&](tenon_error* e) { return s.backend().error_info(queue.handle(), e); });
}

void fills_facts_within_size(Subject& s) {
  if (s.backend().struct_size < TENON_SIZE(tenon_backend, facts) || !s.backend().facts)
    throw Declined{"the backend does not tell what its devices are"};
  for (uint64_t size = 16; size <= sizeof(tenon_facts) + 64; size += 8)
    fill_within<tenon_facts>(size, "facts", [&](tenon_facts* f) { return s.backend().facts(s.device(), f); });
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
  for (uint64_t stride :
       {uint64_t{4}, uint64_t{8}, uint64_t{sizeof(tenon_verdict)}, uint64_t{sizeof(tenon_verdict) + 24}}) {
    std::vector<uint8_t> out(4 * stride + sizeof(tenon_verdict), kMark);
    std::fill_n(out.begin(), 3 * stride, uint8_t{0});
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

void add_struct_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, void (*run)(Subject&), int level = 0) {
    add_test(tests, "device", group, name, run, level);
  };
  add("structs", "older, of devices and buffers", reads_older_structs);
  add("structs", "older, of programs", reads_older_options_and_runs, 1);
  add("structs", "newer, of devices and buffers", reads_newer_structs);
  add("structs", "newer, of programs", reads_newer_graphs_and_runs, 1);
  add("structs", "info is filled within its size", fills_out_structs_within_size, 1);
  add("structs", "stats are filled within their size", fills_stats_within_size);
  add("structs", "error is filled within its size", fills_error_within_size);
  add("structs", "facts are filled within their size", fills_facts_within_size);
  add("structs", "verdicts step by the stride", fills_verdicts_by_stride);
}

}  // namespace tenon::conformance

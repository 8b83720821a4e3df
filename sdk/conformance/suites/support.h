// What the suites of the protocol share: small graphs, arguments of runs, values that are whole numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "conformance/host/harness.h"
#include "conformance/host/subject.h"

namespace tenon::conformance {

// Fills what the backend is not to write.
constexpr uint8_t kMark = 0xA5;

using Dims = std::vector<int64_t>;
using Floats = std::vector<float>;

// Adds a test; the reference is for what is seldom set and valid until the next test is added.
Test& add_test(Tests& tests, const char* suite, const std::string& group, const std::string& name,
               std::function<void(Subject&)> run, int level = 0);

// A graph in the making; nodes get names of their own.
class Sketch {
 public:
  plugin::GraphBuilder builder;

  uint32_t state(int32_t dtype, const Dims& dims) { return builder.input(dtype, dims, TENON_ROLE_STATE); }
  uint32_t feed(int32_t dtype, const Dims& dims) { return builder.input(dtype, dims, TENON_ROLE_FEED); }
  uint32_t scalar(int32_t dtype) { return builder.input(dtype, {}, TENON_ROLE_SCALAR); }
  // f32, one element that fills the shape.
  uint32_t fill(const Dims& dims, float x) { return builder.constant(TENON_F32, dims, &x, sizeof x); }
  // A node with one result of this dtype and shape; attributes may follow by builder.
  uint32_t node(std::string_view op, const std::vector<uint32_t>& operands, int32_t dtype, const Dims& dims);
  uint32_t add(uint32_t a, uint32_t b, const Dims& dims) { return node("add", {a, b}, TENON_F32, dims); }
  uint32_t mul(uint32_t a, uint32_t b, const Dims& dims) { return node("mul", {a, b}, TENON_F32, dims); }

 private:
  uint32_t nodes_ = 0;
};

// r = a + b of f32[n].
plugin::FlatGraph sum_graph(int64_t n);
// s' = s + k of f32[n], k a scalar of each iteration; s is aliased.
plugin::FlatGraph counter_graph(int64_t n);

// Compiles the graph on `device` (null: subject.device()) once the backend has taken every node; else throws Unsupported.
Program compile(Subject& subject, const plugin::FlatGraph& graph, uint32_t max_iterations = 1,
                tenon_device* device = nullptr);

// What `compile` answers; the program, where there is one, is destroyed at once. info: what is said of it, unless NULL;
// options: plain ones where NULL.
tenon_status compile_status(Subject& subject, const tenon_graph& graph, tenon_info* info = nullptr,
                            const tenon_options* options = nullptr);

// Throws Declined unless the host sees the buffer's memory: for tests that are about nothing else.
void need_host_memory(const Buffer& buffer);

// A buffer of f32[dims] of subject.device().
Buffer f32_buffer(Subject& subject, const Dims& dims, BufferOptions options = {});
void write(Queue& queue, const Buffer& to, const Floats& values);
Floats read(Queue& queue, const Buffer& from);
// 0, 1, 2, .. times `step`, from `first`.
Floats ramp(int64_t n, float first = 0, float step = 1);
Floats filled(int64_t n, float x);
// Throws a failure at the first element that differs.
void expect_equal(const Floats& found, const Floats& expected, const std::string& what);

// The arguments of a run, kept while it is submitted.
struct Arguments {
  std::vector<const Buffer*> inputs, results;
  std::vector<tenon_scalar> scalars;
  std::vector<tenon_point> after;
  uint32_t iterations = 1;
  const tenon_feed* feed = nullptr;

  std::vector<tenon_buffer*> input_handles, result_handles;  // filled by run()

  // Valid until this changes.
  tenon_run run(const Program& program);
  static tenon_scalar f64(double x);
  static tenon_scalar i64(int64_t x);
};

// Submits and waits.
void run_now(Queue& queue, const Program& program, Arguments arguments, uint32_t* done = nullptr);

tenon_copy copy_to(const Buffer& to, const void* from, uint64_t bytes, uint64_t offset = 0);
tenon_copy copy_from(const Buffer& from, void* to, uint64_t bytes, uint64_t offset = 0);
tenon_copy copy_between(const Buffer& to, const Buffer& from);
// Throws unless it is accepted with a ticket; the ticket.
uint64_t submit_copy(Subject& subject, Queue& queue, const tenon_copy& copy);

bool is_inline(Subject& subject);

// Runs body(thread) on n threads at once; what the first of them throws is thrown here.
void on_threads(int n, const std::function<void(int)>& body);

// One after the other every mandatory entry of a backend, on a device of unit 0: add of f32[64] where it is taken,
// checked. `after` is called behind each call with the entry's name.
void walk_entries(const tenon_backend& backend, const char* spec, const std::function<void(const char*)>& after);

}  // namespace tenon::conformance

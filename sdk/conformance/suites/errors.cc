// What is refused is refused in words, at once and without a trace.
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "conformance/sanitizer.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

// What a mistake gives back.
using Mistake = std::function<tenon_status()>;

struct Named {
  std::string what;
  Mistake make;
};

// Mistakes of every entry that answers with a status.
std::vector<Named> mistakes(Subject& s, Queue& queue, const Buffer& buffer) {
  const tenon_backend& b = s.backend();
  return {
      {"enumerate of an unknown spec",
       [&] {
         uint32_t count = 0;
         return b.enumerate(b.self, "no such unit", nullptr, sizeof(tenon_unit), &count);
       }},
      {"device_open of a unit that is not there",
       [&] {
         static const uint32_t unit = 1u << 30;
         tenon_open open{};
         open.struct_size = sizeof open;
         open.units = &unit;
         open.n_units = 1;
         tenon_device* device = nullptr;
         return b.device_open(b.self, &open, &device);
       }},
      {"buffer_alloc of no dtype",
       [&] {
         tenon_desc desc{};
         desc.struct_size = sizeof desc;
         tenon_buffer* out = nullptr;
         void* host = nullptr;
         return b.buffer_alloc(s.device(), &desc, &out, &host);
       }},
      {"queue_create with unknown flags",
       [&] {
         tenon_queue* out = nullptr;
         return b.queue_create(s.device(), 1ull << 30, &out);
       }},
      {"copy over the end of a buffer",
       [&] {
         static const Floats values = ramp(64);
         const tenon_copy copy = copy_to(buffer, values.data(), buffer.bytes() + 4);
         uint64_t ticket = 0;
         return b.copy(queue.handle(), &copy, &ticket);
       }},
      {"run without a program",
       [&] {
         tenon_run run{};
         run.struct_size = sizeof run;
         run.iterations = 1;
         uint64_t ticket = 0;
         uint32_t done = 0;
         return b.run(queue.handle(), &run, &ticket, &done);
       }},
      {"wait for a ticket that was not given", [&] { return b.wait(queue.handle(), 1ull << 40, 0); }},
      {"compile of an unknown op",
       [&] {
         Sketch sketch;
         sketch.builder.result(sketch.node("no_such_op", {sketch.state(TENON_F32, {4})}, TENON_F32, {4}));
         const plugin::FlatGraph graph = sketch.builder.build();
         tenon_options options{};
         options.struct_size = sizeof options;
         tenon_info info{};
         info.struct_size = sizeof info;
         tenon_program* out = nullptr;
         return b.compile(s.device(), graph.graph(), &options, &out, &info);
       }},
  };
}

void speaks_of_every_mistake(Subject& s) {
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {16});
  write(queue, buffer, ramp(16));
  for (int round = 0; round < 3; ++round)
    for (const Named& mistake : mistakes(s, queue, buffer)) {
      doing(mistake.what);
      const tenon_status status = mistake.make();
      expect(status.code > TENON_OK && status.code <= TENON_INTERNAL,
             mistake.what + ": found " + code_name(status.code));
      expect(status.code != TENON_INTERNAL && status.code != TENON_DEVICE_LOST && status.code != TENON_ABI,
             mistake.what + ": found " + code_name(status.code) +
                 ", but it is the caller's mistake or a thing that is not there");
      expect_code(status, status.code, mistake.what);
      expect(std::strlen(status.message) < 1000,
             mistake.what + ": the message has " + std::to_string(std::strlen(status.message)) + " bytes");
      expect(one_line(status.message).size() == std::strlen(status.message),
             mistake.what + ": the message cannot be printed");
    }
  expect_equal(read(queue, buffer), ramp(16), "a buffer after many mistakes");
}

// A message stays as it is until the thread calls again, also when what it was about is gone.
void keeps_the_message(Subject& s) {
  const tenon_status status = [&] {
    Queue queue(s, s.device());
    const Buffer buffer = f32_buffer(s, {16});
    return mistakes(s, queue, buffer)[5].make();
  }();
  expect(status.code != TENON_OK, "run without a program: found OK");
  std::vector<std::unique_ptr<std::string>> noise;
  for (int i = 0; i < 1000; ++i) noise.push_back(std::make_unique<std::string>(static_cast<size_t>(i), 'x'));
  // Destroying the queue was a call too: only a message of a fresh mistake counts.
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {16});
  const tenon_status fresh = mistakes(s, queue, buffer)[5].make();
  const std::string text = fresh.message ? fresh.message : "";
  for (int i = 0; i < 1000; ++i) noise.push_back(std::make_unique<std::string>(static_cast<size_t>(i), 'y'));
  expect(fresh.message && text == fresh.message, "the message changed without a call");
}

void names_unknown_ops(Subject& s) {
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {16});
  expect_code(mistakes(s, queue, buffer)[7].make(), TENON_UNSUPPORTED, "compile of an unknown op");
}

// A submission that is refused is none: tickets, order and what follows are as if it had not been made.
void refused_submissions_are_none(Subject& s) {
  Queue queue(s, s.device());
  const Program program = compile(s, counter_graph(16));
  const Buffer state = f32_buffer(s, {16});
  write(queue, state, ramp(16));
  const std::vector<Named> all = mistakes(s, queue, state);
  uint64_t last = 0;
  for (int i = 1; i <= 20; ++i) {
    for (size_t k : {4u, 5u}) expect(all[k].make().code != TENON_OK, all[k].what + ": found OK");
    const uint64_t ticket = queue.submit(Arguments{{&state}, {&state}, {Arguments::f64(1)}}.run(program));
    expect(ticket > last, "tickets do not grow after refused submissions");
    last = ticket;
  }
  queue.wait(last);
  expect_equal(read(queue, state), ramp(16, 20), "the state");
}

// ---- memory ----

uint64_t bytes_in_use(Subject& s) {
  if (s.backend().struct_size < TENON_SIZE(tenon_backend, stats) || !s.backend().stats) return 0;
  tenon_stats stats{};
  stats.struct_size = sizeof stats;
  expect_ok(s.backend().stats(s.device(), &stats), "stats");
  return stats.bytes_in_use;
}

// A step whose intermediate, of 16 TB, no memory has: compile says so, with what it would need, and what was there goes on.
void refuses_a_workspace_that_is_not_there(Subject& s) {
  const int64_t n = int64_t{1} << 21;
  Sketch sketch;
  const uint32_t x = sketch.state(TENON_F32, {n, 1}), y = sketch.state(TENON_F32, {1, n});
  const uint32_t product = sketch.node("dot", {x, y}, TENON_F32, {n, n});
  sketch.builder.attr_bool("ta", false).attr_bool("tb", false);
  const uint32_t sorted = sketch.builder.value(TENON_F32, {n, 1}), order = sketch.builder.value(TENON_I32, {n, 1});
  sketch.builder.node("sort", {product}, {sorted, order}).name("sorted").attr_i64("k", 1).attr_bool("descending", true);
  sketch.builder.result(sorted);
  sketch.builder.result(order);
  const plugin::FlatGraph graph = sketch.builder.build();
  for (const Answer& answer : answers(s, s.device(), *graph.graph()))
    if (answer.answer != TENON_TAKE) throw Unsupported{"a product that is sorted: " + answer.reason};
  const uint64_t before = bytes_in_use(s);
  tenon_info info{};
  info.struct_size = sizeof info;
  const tenon_status status = compile_status(s, *graph.graph(), &info);
  if (status.code == TENON_OK && info.workspace_bytes < 1ull << 40)
    throw Unavailable{"the backend needs less than 1 TB for it"};
  expect(status.code == TENON_OUT_OF_MEMORY && !one_line(status.message).empty(),  // a report may follow the line
         "compile of a step with 16 TB between two of its nodes: expected OUT_OF_MEMORY with a message, found " +
             code_name(status.code));
  expect(info.workspace_bytes >= 1ull << 44 || info.peak_bytes >= 1ull << 44,
         "compile of a step with 16 TB between two of its nodes fills no info: workspace " +
             std::to_string(info.workspace_bytes) + ", peak " + std::to_string(info.peak_bytes));
  expect(bytes_in_use(s) == before, "compile that found no memory left some in use");
  walk_entries(s.backend(), s.spec(), [](const char*) {});
}

// This process may take `bytes` more from here on. Never raised again: the test has a process of its own.
void limit_address_space(uint64_t bytes) {
  if (kSanitized) throw Unavailable{"the sanitizer needs the memory"};
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  if (pages == 0 || getrlimit(RLIMIT_AS, &limit) != 0) throw Unavailable{"the size of this process is not known"};
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + bytes);
  if (setrlimit(RLIMIT_AS, &limit) != 0) throw Unavailable{"the size of this process cannot be limited"};
}

// More than there is, in many buffers: the error is OUT_OF_MEMORY, and what was there goes on. A device with memory of
// its own, and much of it, is left alone.
void survives_no_memory(Subject& s) {
  constexpr uint64_t kRoom = 512u << 20, kPart = 96u << 20;
  const uint64_t max = s.units()[0].max_buffer_bytes;
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = TENON_U8;
  desc.rank = 1;
  desc.dims[0] = static_cast<int64_t>(std::min(max, kPart));
  Queue queue(s, s.device());
  const Buffer small = f32_buffer(s, {16});
  write(queue, small, ramp(16));
  limit_address_space(kRoom);
  std::vector<tenon_buffer*> buffers;
  tenon_status status{};
  for (int i = 0; i < 64 && status.code == TENON_OK; ++i) {
    tenon_buffer* buffer = nullptr;
    void* host = nullptr;
    status = s.backend().buffer_alloc(s.device(), &desc, &buffer, &host);
    if (status.code == TENON_OK) buffers.push_back(buffer);
  }
  const int32_t code = status.code;
  const bool told = status.message && *status.message;
  for (tenon_buffer* buffer : buffers) s.backend().buffer_free(buffer);
  if (code == TENON_OK) throw Unavailable{"the device has more than 6 GB that are not this process's"};
  expect(code == TENON_OUT_OF_MEMORY && told,
         "buffers of more than all memory: expected OUT_OF_MEMORY with a message, found " + code_name(code));
  expect_equal(read(queue, small), ramp(16), "a buffer that was there before memory ran out");
}

void goes_on_after_mistakes(Subject& s) {
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {16});
  for (const Named& mistake : mistakes(s, queue, buffer)) {
    mistake.make();
    walk_entries(s.backend(), s.spec(), [](const char*) {});
    write(queue, buffer, ramp(16));
    expect_equal(read(queue, buffer), ramp(16), "the device after " + mistake.what);
  }
}

}  // namespace

void add_error_tests(Tests& tests) {
  const auto add = [&](const char* group, const char* name, void (*run)(Subject&), int level) -> Test& {
    return add_test(tests, "errors", group, name, run, level);
  };
  add("mistakes", "are told in one line", speaks_of_every_mistake, 0);
  add("mistakes", "leave their message alone", keeps_the_message, 0);
  add("mistakes", "unknown ops are UNSUPPORTED", names_unknown_ops, 0);
  add("mistakes", "refused submissions are none", refused_submissions_are_none, 1);
  add("mistakes", "leave the device as it was", goes_on_after_mistakes, 0);
  add_text_tests(tests);
  add("memory", "a workspace that is not there", refuses_a_workspace_that_is_not_there, 2);  // it sorts
  add("memory", "more than there is", survives_no_memory, 0).own_process = true;
}

}  // namespace tenon::conformance

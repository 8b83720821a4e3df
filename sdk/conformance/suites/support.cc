#include "conformance/suites/support.h"

#include <algorithm>
#include <exception>
#include <future>
#include <mutex>
#include <system_error>

#include "conformance/host/lowering.h"

namespace tenon::conformance {

Test& add_test(Tests& tests, const char* suite, const std::string& group, const std::string& name,
               std::function<void(Subject&)> run, int level) {
  Test test;
  test.suite = suite;
  test.group = group;
  test.name = name;
  test.level = level;
  test.run = std::move(run);
  tests.push_back(std::move(test));
  return tests.back();
}

uint32_t Sketch::node(std::string_view op, const std::vector<uint32_t>& operands, int32_t dtype, const Dims& dims) {
  const uint32_t out = builder.value(dtype, dims);
  builder.node(op, operands, {out}).name(std::string(op) + "_" + std::to_string(nodes_++));
  return out;
}

plugin::FlatGraph sum_graph(int64_t n) {
  Sketch s;
  const uint32_t a = s.state(TENON_F32, {n}), b = s.state(TENON_F32, {n});
  s.builder.result(s.add(a, b, {n}));
  return s.builder.build();
}

plugin::FlatGraph counter_graph(int64_t n) {
  Sketch s;
  const uint32_t state = s.state(TENON_F32, {n}), k = s.scalar(TENON_F32);
  s.builder.result(s.add(state, k, {n}), TENON_MODE_LAST, 1);
  return s.builder.build();
}

Program compile(Subject& subject, const plugin::FlatGraph& graph, uint32_t max_iterations, tenon_device* device) {
  if (!device) device = subject.device();
  require_taken(subject, device, *graph.graph());
  tenon_options options{};
  options.max_iterations = max_iterations;
  return Program(subject, device, *graph.graph(), options);
}

tenon_status compile_status(Subject& subject, const tenon_graph& graph, tenon_info* info,
                            const tenon_options* options) {
  tenon_options plain{};
  plain.struct_size = sizeof plain;
  tenon_info own{};
  own.struct_size = sizeof own;
  tenon_program* program = nullptr;
  const tenon_status status =
      subject.backend().compile(subject.device(), &graph, options ? options : &plain, &program, info ? info : &own);
  if (status.code == TENON_OK) subject.backend().program_destroy(program);
  return status;
}

void need_host_memory(const Buffer& buffer) {
  if (!buffer.host()) throw Declined{"the backend refuses HOST buffers: what the host sees is copied"};
}

Buffer f32_buffer(Subject& subject, const Dims& dims, BufferOptions options) {
  return Buffer(subject, subject.device(), TENON_F32, dims, options);
}

void write(Queue& queue, const Buffer& to, const Floats& values) {
  expect(values.size() * 4 == to.bytes(),
         "a test writes " + std::to_string(values.size()) + " floats into " + std::to_string(to.bytes()) + " bytes");
  queue.write(to, values.data(), to.bytes());
}

Floats read(Queue& queue, const Buffer& from) {
  Floats values(from.bytes() / 4);
  queue.read(from, values.data(), from.bytes());
  return values;
}

Floats ramp(int64_t n, float first, float step) {
  Floats values;
  for (int64_t i = 0; i < n; ++i) values.push_back(first + step * static_cast<float>(i));
  return values;
}

Floats filled(int64_t n, float x) { return Floats(static_cast<size_t>(n), x); }

void expect_equal(const Floats& found, const Floats& expected, const std::string& what) {
  expect(found.size() == expected.size(),
         what + ": " + std::to_string(found.size()) + " elements, expected " + std::to_string(expected.size()));
  for (size_t i = 0; i < found.size(); ++i)
    if (!(found[i] == expected[i]))
      fail(what + ": element " + std::to_string(i) + " is " + std::to_string(found[i]) + ", expected " +
           std::to_string(expected[i]));
}

tenon_run Arguments::run(const Program& program) {
  input_handles.clear();
  result_handles.clear();
  for (const Buffer* b : inputs) input_handles.push_back(b ? b->handle() : nullptr);
  for (const Buffer* b : results) result_handles.push_back(b ? b->handle() : nullptr);
  tenon_run run{};
  run.struct_size = sizeof run;
  run.program = program.handle();
  run.after = after.data();
  run.n_after = static_cast<uint32_t>(after.size());
  run.iterations = iterations;
  run.inputs = input_handles.data();
  run.results = result_handles.data();
  run.scalars = scalars.data();
  run.feed = feed;
  return run;
}

tenon_scalar Arguments::f64(double x) {
  tenon_scalar s{};
  s.f64 = x;
  return s;
}

tenon_scalar Arguments::i64(int64_t x) {
  tenon_scalar s{};
  s.i64 = x;
  return s;
}

void run_now(Queue& queue, const Program& program, Arguments arguments, uint32_t* done) {
  queue.wait(queue.submit(arguments.run(program), done));
}

namespace {

tenon_copy copy_of(uint64_t bytes) {
  tenon_copy copy{};
  copy.struct_size = sizeof copy;
  copy.bytes = bytes;
  return copy;
}

}  // namespace

tenon_copy copy_to(const Buffer& to, const void* from, uint64_t bytes, uint64_t offset) {
  tenon_copy copy = copy_of(bytes);
  copy.dst = to.handle();
  copy.dst_offset = offset;
  copy.src_host = from;
  return copy;
}

tenon_copy copy_from(const Buffer& from, void* to, uint64_t bytes, uint64_t offset) {
  tenon_copy copy = copy_of(bytes);
  copy.src = from.handle();
  copy.src_offset = offset;
  copy.dst_host = to;
  return copy;
}

tenon_copy copy_between(const Buffer& to, const Buffer& from) {
  tenon_copy copy = copy_of(to.bytes());
  copy.dst = to.handle();
  copy.src = from.handle();
  return copy;
}

uint64_t submit_copy(Subject& subject, Queue& queue, const tenon_copy& copy) {
  uint64_t ticket = 0;
  expect_ok(subject.backend().copy(queue.handle(), &copy, &ticket), "copy");
  expect(ticket != 0, "copy: the ticket is 0");
  return ticket;
}

bool is_inline(Subject& subject) { return (subject.units()[0].flags & TENON_UNIT_INLINE) != 0; }

void on_threads(int n, const std::function<void(int)>& body) {
  std::mutex mutex;
  std::exception_ptr first;
  std::promise<bool> all_are_there;  // bodies may wait for each other
  const std::shared_future<bool> begin = all_are_there.get_future().share();
  std::vector<std::thread> threads;
  bool all = true;
  try {
    for (int t = 0; t < n; ++t)
      threads.emplace_back([&, t] {
        try {
          if (begin.get()) body(t);
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!first) first = std::current_exception();
        }
      });
  } catch (const std::system_error&) {
    all = false;
  }
  all_are_there.set_value(all);
  for (std::thread& thread : threads) thread.join();
  if (!all) throw Unavailable{"the system gives no " + std::to_string(n) + " threads"};
  if (first) std::rethrow_exception(first);
}

// ---- walk_entries ----

namespace {

using After = std::function<void(const char*)>;

constexpr int64_t kWalk = 1 << 17;  // enough for a gang

// Frees what a walk made, in order, also when it ends early.
struct Walk {
  const tenon_backend& b;
  const After& after;
  tenon_device* device = nullptr;
  tenon_queue* queue = nullptr;
  tenon_program* program = nullptr;
  tenon_buffer* buffers[3] = {};
  float* host = nullptr;  // of buffers[2]; nullptr: the backend refuses HOST buffers

  Walk(const tenon_backend& backend, const After& behind) : b(backend), after(behind) {}
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
  ~Walk() {
    if (!device) return;
    b.program_destroy(program);
    b.queue_destroy(queue);
    for (tenon_buffer* buffer : buffers) b.buffer_free(buffer);
    b.device_close(device);
  }

  void check(const tenon_status& status, const char* entry) {
    expect_ok(status, entry);
    after(entry);
  }

  void open(const char* spec) {
    uint32_t count = 0;
    check(b.enumerate(b.self, spec, nullptr, sizeof(tenon_unit), &count), "enumerate");
    if (count == 0) throw Unavailable{"there are no units"};
    const uint32_t unit = 0;
    tenon_open open{};
    open.struct_size = sizeof open;
    open.spec = spec;
    open.units = &unit;
    open.n_units = 1;
    check(b.device_open(b.self, &open, &device), "device_open");
    check(b.queue_create(device, 0, &queue), "queue_create");
  }

  void alloc() {
    for (int i = 0; i < 3; ++i) {
      tenon_desc desc{};
      desc.struct_size = sizeof desc;
      desc.dtype = TENON_F32;
      desc.rank = 1;
      desc.dims[0] = kWalk;
      if (i == 2 && alloc_host(desc)) return;
      void* memory = nullptr;
      check(b.buffer_alloc(device, &desc, &buffers[i], &memory), "buffer_alloc");
    }
  }

  // Whether there is memory that the host sees.
  bool alloc_host(tenon_desc desc) {
    desc.flags = TENON_DESC_HOST;
    void* memory = nullptr;
    const tenon_status status = b.buffer_alloc(device, &desc, &buffers[2], &memory);
    if (status.code == TENON_UNSUPPORTED) return after("buffer_alloc"), false;
    check(status, "buffer_alloc");
    host = static_cast<float*>(memory);
    expect(host != nullptr, "buffer_alloc: OK for a HOST buffer without its memory");
    return true;
  }

  void wait(uint64_t ticket) { check(b.wait(queue, ticket, UINT64_MAX), "wait"); }

  void write(tenon_buffer* to, const Floats& values) {
    tenon_copy copy = copy_of(kWalk * 4);
    copy.dst = to;
    copy.src_host = values.data();
    uint64_t ticket = 0;
    check(b.copy(queue, &copy, &ticket), "copy");
    wait(ticket);
  }

  Floats read(tenon_buffer* from) {
    Floats values(kWalk);
    tenon_copy copy = copy_of(kWalk * 4);
    copy.src = from;
    copy.dst_host = values.data();
    uint64_t ticket = 0;
    check(b.copy(queue, &copy, &ticket), "copy");
    wait(ticket);
    return values;
  }

  bool compile() {
    const plugin::FlatGraph graph = sum_graph(kWalk);
    tenon_options options{};
    options.struct_size = sizeof options;
    const uint32_t node = 0;
    tenon_verdict verdict{};
    check(b.supports(device, graph.graph(), &options, &node, 1, &verdict, sizeof verdict), "supports");
    if (verdict.answer != TENON_TAKE) return false;
    tenon_info info{};
    info.struct_size = sizeof info;
    check(b.compile(device, graph.graph(), &options, &program, &info), "compile");
    return true;
  }

  void run() {
    tenon_run run{};
    run.struct_size = sizeof run;
    run.program = program;
    run.iterations = 1;
    run.inputs = buffers;
    run.results = buffers + 2;
    uint64_t ticket = 0;
    uint32_t done = 0;
    check(b.run(queue, &run, &ticket, &done), "run");
    wait(ticket);
  }

  void all(const char* spec) {
    open(spec);
    alloc();
    write(buffers[0], ramp(kWalk));
    write(buffers[1], ramp(kWalk, 100, 10));
    Floats expected = ramp(kWalk);
    if (compile()) {
      run();
      expected = ramp(kWalk, 100, 11);
    } else {
      write(buffers[2], expected);
    }
    expect_equal(host ? Floats(host, host + kWalk) : read(buffers[2]), expected, "what came back");
  }

  void release() {
    b.program_destroy(program), after("program_destroy");
    b.queue_destroy(queue), after("queue_destroy");
    for (tenon_buffer* buffer : buffers) b.buffer_free(buffer), after("buffer_free");
    b.device_close(device), after("device_close");
    device = nullptr;
  }
};

}  // namespace

void walk_entries(const tenon_backend& backend, const char* spec, const After& after) {
  Walk walk(backend, after);
  walk.all(spec);
  walk.release();
}

}  // namespace tenon::conformance

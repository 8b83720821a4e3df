// What a call borrows is the caller's again behind it, or behind the ticket: here it is gone by then, so that whoever
// still looks ends its process.
#include <sys/mman.h>

#include <cstring>
#include <memory>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

// Pages that are unmapped in the end.
class Lent {
 public:
  explicit Lent(uint64_t bytes) : bytes_(bytes) {
    at_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at_ == MAP_FAILED) throw Unavailable{"there is no memory to lend"};
  }
  ~Lent() { munmap(at_, bytes_); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  // A copy of it in the pages, at `offset`.
  template <class T>
  T* put(const T* from, uint64_t n, uint64_t offset = 0) const {
    uint8_t* to = static_cast<uint8_t*>(at_) + offset;
    std::memcpy(to, from, n * sizeof(T));
    return reinterpret_cast<T*>(to);
  }
  float* floats() const { return static_cast<float*>(at_); }

 private:
  void* at_;
  uint64_t bytes_;
};

constexpr int64_t kBorrowed = 5000;

void lends_sources(Subject& s) {
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {kBorrowed});
  for (int round = 0; round < 5; ++round) {
    const Floats values = ramp(kBorrowed, static_cast<float>(round));
    {
      const Lent lent(kBorrowed * 4);
      queue.wait(submit_copy(s, queue, copy_to(buffer, lent.put(values.data(), kBorrowed), buffer.bytes())));
    }
    expect_equal(read(queue, buffer), values, "what was copied from memory that is gone");
  }
}

void lends_destinations(Subject& s) {
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {kBorrowed});
  write(queue, buffer, ramp(kBorrowed));
  for (int round = 0; round < 5; ++round) {
    const Lent lent(kBorrowed * 4);
    queue.wait(submit_copy(s, queue, copy_from(buffer, lent.floats(), buffer.bytes())));
    expect_equal(Floats(lent.floats(), lent.floats() + kBorrowed), ramp(kBorrowed), "what was copied to lent memory");
  }
  write(queue, buffer, ramp(kBorrowed, 7));
  expect_equal(read(queue, buffer), ramp(kBorrowed, 7), "the buffer once the memory is gone");
}

// The struct of a copy and its points, as soon as copy returns.
void lends_points(Subject& s) {
  Queue first(s, s.device()), second(s, s.device());
  const Buffer a = f32_buffer(s, {kBorrowed}), b = f32_buffer(s, {kBorrowed});
  for (int round = 0; round < 20; ++round) {
    const Floats values = ramp(kBorrowed, static_cast<float>(round));
    uint64_t ticket = 0;
    {
      const Lent lent(4096);
      const tenon_point after{first.handle(), submit_copy(s, first, copy_to(a, values.data(), a.bytes()))};
      tenon_copy copy = copy_between(b, a);
      copy.after = lent.put(&after, 1, 1024);
      copy.n_after = 1;
      ticket = submit_copy(s, second, *lent.put(&copy, 1));
    }
    second.wait(ticket);
    expect_equal(read(second, b), values, "what was copied behind a point that is gone");
  }
}

// The struct of a run, its handles, scalars and points, as soon as run returns.
void lends_runs(Subject& s) {
  Queue queue(s, s.device());
  const Program program = compile(s, counter_graph(kBorrowed), 4);
  const Buffer state = f32_buffer(s, {kBorrowed});
  write(queue, state, filled(kBorrowed, 0));
  for (int round = 0; round < 20; ++round) {
    const Lent lent(4096);
    Arguments arguments{{&state}, {&state}, std::vector<tenon_scalar>(4, Arguments::f64(1)), {}, 4};
    tenon_run run = arguments.run(program);
    run.inputs = lent.put(run.inputs, 1, 1024);
    run.results = lent.put(run.results, 1, 1536);
    run.scalars = lent.put(run.scalars, 4, 2048);
    uint64_t ticket = 0;
    uint32_t done = 0;
    expect_ok(s.backend().run(queue.handle(), lent.put(&run, 1), &ticket, &done), "run");
  }
  expect_equal(read(queue, state), filled(kBorrowed, 80), "the state behind runs whose arguments are gone");
}

void lends_descriptions(Subject& s) {
  tenon_device* device = nullptr;
  {
    const Lent lent(4096);
    const uint32_t unit = 0;
    tenon_open open{};
    open.struct_size = sizeof open;
    if (s.spec()) open.spec = lent.put(s.spec(), std::strlen(s.spec()) + 1, 2048);
    open.units = lent.put(&unit, 1, 1024);
    open.n_units = 1;
    expect_ok(s.backend().device_open(s.backend().self, lent.put(&open, 1), &device), "device_open");
  }
  const std::unique_ptr<tenon_device, void (*)(tenon_device*)> owner(device, s.backend().device_close);
  const plugin::FlatGraph graph = sum_graph(kBorrowed);
  std::unique_ptr<Program> program;
  {
    tenon_options options{};
    options.max_iterations = 2;
    program = std::make_unique<Program>(s, device, *graph.graph(), options);
  }
  Queue queue(s, device);
  const Buffer a(s, device, TENON_F32, {kBorrowed}), b(s, device, TENON_F32, {kBorrowed}),
      r(s, device, TENON_F32, {kBorrowed});
  write(queue, a, ramp(kBorrowed));
  write(queue, b, ramp(kBorrowed, 3));
  run_now(queue, *program, {{&a, &b}, {&r}, {}, {}, 2});
  expect_equal(read(queue, r), ramp(kBorrowed, 3, 2), "a sum on a device whose description is gone");
}

}  // namespace

void add_borrowed_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&), int level) {
    add_test(tests, "memory", "borrowed", name, run, level);
  };
  add("sources of copies", lends_sources, 0);
  add("destinations of copies", lends_destinations, 0);
  add("points of copies", lends_points, 0);
  add("arguments of runs", lends_runs, 1);
  add("what opens a device and compiles", lends_descriptions, 1);
}

}  // namespace tenon::conformance

// Any thread may call anything: programs, compilations and buffers from four threads at once.
#include "conformance/suites/support.h"

namespace tenon::conformance {
namespace {

constexpr int kThreads = 4, kRounds = 25;
constexpr int64_t kElements = 4099;
constexpr uint32_t kIterations = 5;

// s' = s + k, from 0, on a queue and buffers of this thread's own.
void count(Subject& s, const Program& program, float k) {
  Queue queue(s, s.device());
  const Buffer state = f32_buffer(s, {kElements});
  write(queue, state, filled(kElements, 0));
  for (int round = 0; round < kRounds; ++round) {
    Arguments arguments;
    arguments.inputs = arguments.results = {&state};
    arguments.iterations = kIterations;
    for (uint32_t i = 0; i < kIterations; ++i) arguments.scalars.push_back(Arguments::f64(k));
    run_now(queue, program, arguments);
  }
  expect_equal(read(queue, state), filled(kElements, k * kRounds * kIterations), "the count of a thread that adds " + std::to_string(k));
}

void one_program(Subject& s) {
  const Program program = compile(s, counter_graph(kElements), kIterations);
  on_threads(kThreads, [&](int t) { count(s, program, static_cast<float>(t + 1)); });
}

void a_program_each(Subject& s) {
  std::vector<Program> programs;
  for (int t = 0; t < kThreads; ++t) programs.push_back(compile(s, counter_graph(kElements), kIterations));
  on_threads(kThreads, [&](int t) { count(s, programs[static_cast<size_t>(t)], static_cast<float>(t + 1)); });
}

void compiling_while_running(Subject& s) {
  s.device();
  on_threads(kThreads, [&](int t) {
    for (int round = 0; round < 3; ++round) count(s, compile(s, counter_graph(kElements), kIterations), static_cast<float>(t + 1));
  });
}

void buffers(Subject& s) {
  s.device();
  on_threads(kThreads, [&](int t) {
    Queue queue(s, s.device());
    for (int round = 0; round < 100; ++round) {
      const int64_t n = 64 + 97 * t + 31 * round;
      const Buffer buffer = f32_buffer(s, {n}, {.host = round % 2 == 0});
      write(queue, buffer, ramp(n, static_cast<float>(t)));
      expect_equal(read(queue, buffer), ramp(n, static_cast<float>(t)), "a buffer of thread " + std::to_string(t));
    }
  });
}

// Each thread's message is its own, and lives until that thread's next call.
void messages(Subject& s) {
  s.device();
  on_threads(kThreads, [&](int) {
    for (int round = 0; round < 50; ++round) {
      tenon_desc desc{};
      desc.struct_size = sizeof desc;
      desc.dtype = 99;
      tenon_buffer* buffer = nullptr;
      const tenon_status status = s.backend().buffer_alloc(s.device(), &desc, &buffer, nullptr);
      expect(status.code == TENON_INVALID || status.code == TENON_UNSUPPORTED, "buffer_alloc of dtype 99 answers " + std::to_string(status.code));
      const std::string first = one_line(status.message);
      std::this_thread::yield();
      expect(!first.empty() && one_line(status.message) == first, "a message changed while its thread made no call");
    }
  });
}

// wait is always allowed, also while another thread is inside run on the same queue.
void waiting_during_run(Subject& s) {
  constexpr uint32_t kMany = 2000;
  const Program program = compile(s, counter_graph(kElements), kMany);
  Queue queue(s, s.device());
  const Buffer state = f32_buffer(s, {kElements});
  const Floats zeros = filled(kElements, 0);
  const uint64_t first = submit_copy(s, queue, copy_to(state, zeros.data(), state.bytes()));
  on_threads(2, [&](int t) {
    if (t == 1) {
      for (int i = 0; i < 200; ++i) expect_ok(s.backend().wait(queue.handle(), first, UINT64_MAX), "wait of a ticket that is done, during a run");
      return;
    }
    Arguments arguments;
    arguments.inputs = arguments.results = {&state};
    arguments.iterations = kMany;
    for (uint32_t i = 0; i < kMany; ++i) arguments.scalars.push_back(Arguments::f64(1));
    run_now(queue, program, arguments);
  });
  expect_equal(read(queue, state), filled(kElements, kMany), "the count");
}

}  // namespace

void add_thread_tests(Tests& tests) {
  add_test(tests, "threads", "", "one_program", one_program, 2);
  add_test(tests, "threads", "", "a_program_each", a_program_each, 2);
  add_test(tests, "threads", "", "compiling_while_running", compiling_while_running, 2);
  add_test(tests, "threads", "", "buffers", buffers, 0);
  add_test(tests, "threads", "", "messages", messages, 0);
  add_test(tests, "threads", "", "waiting_during_run", waiting_during_run, 2);
}

}  // namespace tenon::conformance

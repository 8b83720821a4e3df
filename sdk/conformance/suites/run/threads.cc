// Any thread may call anything, but a queue has one submitter at a time.
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "conformance/suites/queue/endless.h"
#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr int kThreads = 4;

// Updates a state of its own by `program`, checked in the middle and at the end.
void update_own_state(Subject& s, const Program& program, int thread, int64_t n) {
  Queue queue(s, s.device());
  const Buffer state = f32_buffer(s, {n});
  write(queue, state, ramp(n, static_cast<float>(thread)));
  for (int i = 1; i <= 100; ++i) {
    Arguments arguments{{&state}, {&state}, std::vector<tenon_scalar>(3, Arguments::f64(thread + 1)), {}, 3};
    const uint64_t ticket = queue.submit(arguments.run(program));
    if (i % 10) continue;
    queue.wait(ticket);
    expect_equal(read(queue, state), ramp(n, static_cast<float>(thread + 3 * i * (thread + 1))),
                 "the state of thread " + std::to_string(thread));
  }
}

void runs_own_programs(Subject& s) {
  s.device();
  on_threads(kThreads, [&](int thread) {
    const int64_t n = 100 + 30000 * thread;  // some of one thread, some for a gang
    const Program program = compile(s, counter_graph(n), 3);
    update_own_state(s, program, thread, n);
  });
}

// Runs of one program on two queues may be serialised; what they compute is their own. A second queue may find no memory.
void runs_one_program(Subject& s) {
  const Program program = compile(s, counter_graph(20011), 3);
  on_threads(kThreads, [&](int thread) { update_own_state(s, program, thread, 20011); });
}

void asks_and_compiles(Subject& s) {
  tenon_device* device = s.device();
  on_threads(kThreads, [&](int thread) {
    for (int i = 0; i < 25; ++i) {
      Sketch sketch;
      const int64_t n = 3 + thread;
      uint32_t value = sketch.state(TENON_F32, {n});
      for (int k = 0; k < 10; ++k)
        value = k % 3 ? sketch.add(value, value, {n}) : sketch.node("no_such_op", {value}, TENON_F32, {n});
      sketch.builder.result(value);
      const plugin::FlatGraph strange = sketch.builder.build();
      const std::vector<Answer> found = answers(s, device, *strange.graph());
      for (size_t k = 0; k < found.size(); ++k)
        expect((found[k].answer == TENON_TAKE) <= (k % 3 != 0),
               "supports takes no_such_op when it is asked on several threads");
      compile(s, counter_graph(1 + i + 100 * thread), 2);
    }
  });
}

void allocates_and_frees(Subject& s) {
  s.device();
  on_threads(kThreads, [&](int thread) {
    Queue queue(s, s.device());
    std::vector<std::unique_ptr<Buffer>> kept(16);
    std::vector<Floats> values(16);
    for (int i = 0; i < 400; ++i) {
      const size_t slot = static_cast<size_t>(i * 7 + thread) % kept.size();
      if (kept[slot])
        expect_equal(read(queue, *kept[slot]), values[slot], "a buffer of thread " + std::to_string(thread));
      const int64_t n = 1 + (i * 37 + thread) % 5000;
      kept[slot] = std::make_unique<Buffer>(f32_buffer(s, {n}, {.host = i % 2 == 1}));
      values[slot] = filled(n, static_cast<float>(i + 1000 * thread));
      write(queue, *kept[slot], values[slot]);
    }
  });
}

void makes_queues(Subject& s) {
  s.device();
  on_threads(kThreads, [&](int) {
    const Buffer buffer = f32_buffer(s, {64});
    for (int i = 0; i < 60; ++i) {
      Queue queue(s, s.device());
      write(queue, buffer, ramp(64, static_cast<float>(i)));
      expect_equal(read(queue, buffer), ramp(64, static_cast<float>(i)), "what a thread's queue copied");
    }
  });
}

void opens_devices(Subject& s) {
  s.device();
  on_threads(kThreads, [&](int) {
    for (int i = 0; i < 5; ++i) walk_entries(s.backend(), s.spec(), [](const char*) {});
  });
}

// One thread submits, others wait for what it submitted: wait is always free.
void waits_during_runs(Subject& s) {
  Queue queue(s, s.device());
  Counter counter(s);
  constexpr uint32_t iterations = 200;
  counter.reset(queue);
  std::atomic<uint64_t> last{0};
  std::atomic<bool> stop{false};
  constexpr int kRuns = 50;
  on_threads(kThreads, [&](int thread) {
    if (thread == 0) {
      try {
        for (int i = 0; i < kRuns; ++i) last = counter.submit(queue, iterations);
        queue.wait(last);
      } catch (...) {
        stop = true;
        throw;
      }
      stop = true;
      return;
    }
    while (!stop) {
      if (const uint64_t ticket = last) {
        const tenon_status status = s.backend().wait(queue.handle(), ticket, thread == 1 ? 0 : 1000000);
        if (status.code != TENON_TIMEOUT) expect_ok(status, "wait on another thread than the submitter's");
      }
      std::this_thread::yield();
    }
  });
  expect_equal(read(queue, counter.state()),
               counter.expected(static_cast<float>(kRuns) * static_cast<float>(iterations)), "the state");
}

// A queue is handed from thread to thread.
void hands_a_queue_on(Subject& s) {
  Queue queue(s, s.device());
  Counter counter(s);
  counter.reset(queue);
  for (int i = 0; i < 12; ++i) on_threads(1, [&](int) { counter.submit(queue, 10); });
  expect_equal(read(queue, counter.state()), counter.expected(120),
               "a state that twelve threads updated, one after the other");
}

// A message lives until its own thread's next call.
void keeps_messages_apart(Subject& s) {
  s.device();
  std::mutex mutex;
  std::condition_variable changed;
  int turn = 0;
  const auto wait_for_turn = [&](int mine) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return turn >= mine; });
  };
  const auto pass = [&] {
    const std::lock_guard lock(mutex);
    ++turn;
    changed.notify_all();
  };
  const auto fail_to_copy = [&](Queue& queue) {
    tenon_copy copy{};
    copy.struct_size = sizeof copy;
    uint64_t ticket = 0;
    return s.backend().copy(queue.handle(), &copy, &ticket);
  };
  on_threads(2, [&](int thread) {
    struct Pass {  // also when this ends early
      const decltype(pass)& f;
      ~Pass() { f(), f(), f(); }
    } at_end{pass};
    Queue queue(s, s.device());
    if (thread == 1) {
      wait_for_turn(1);
      uint32_t count = 0;
      s.backend().enumerate(s.backend().self, "no such unit", nullptr, sizeof(tenon_unit), &count);
      return;  // the last text is another than the first thread's
    }
    const tenon_status status = fail_to_copy(queue);
    expect_code(status, TENON_INVALID, "copy without a source and a destination");
    const std::string text = status.message;
    pass();
    wait_for_turn(3);
    expect(text == status.message,
           "another thread's call changed this thread's message to '" + one_line(status.message) + "'");
  });
}

}  // namespace

void add_thread_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&), int level) {
    add_test(tests, "threads", "", name, run, level);
  };
  add("run programs of their own", runs_own_programs, 1);
  add("run one program", runs_one_program, 1);
  add("ask and compile", asks_and_compiles, 1);
  add("allocate and free", allocates_and_frees, 0);
  add("make queues", makes_queues, 0);
  add("open devices", opens_devices, 0);
  add("wait during runs", waits_during_runs, 1);
  add("hand a queue on", hands_a_queue_on, 1);
  add("have messages of their own", keeps_messages_apart, 0);
  add_scratch_tests(tests);
}

}  // namespace tenon::conformance

// What is made and released again leaves nothing behind: memory, file descriptors, threads.
#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <thread>

#include "conformance/sanitizer.h"
#include "conformance/suites/queue/endless.h"
#include "conformance/suites/support.h"

namespace tenon::conformance {
namespace {

constexpr int kCycles = 200, kWarmUp = 40;

size_t entries_of(const char* folder) {
  size_t n = 0;
  DIR* open = opendir(folder);
  expect(open != nullptr, std::string(folder) + " cannot be read");
  while (readdir(open)) ++n;
  closedir(open);
  return n;
}

struct Usage {
  size_t descriptors = 0, threads = 0;
  uint64_t heap = 0, resident = 0, mapped = 0;

  static Usage now() {
    const struct mallinfo2 heap = mallinfo2();
    unsigned long size = 0, resident = 0;
    FILE* file = std::fopen("/proc/self/statm", "r");
    expect(file && std::fscanf(file, "%lu %lu", &size, &resident) == 2, "/proc/self/statm cannot be read");
    std::fclose(file);
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return {entries_of("/proc/self/fd"), entries_of("/proc/self/task"), heap.uordblks + heap.hblkhd, resident * page,
            size * page};
  }
};

// A thread that ended may be listed a moment longer, on a busy machine many moments.
size_t settled_threads(size_t expected) {
  for (double end = seconds_now() + 20; entries_of("/proc/self/task") != expected && seconds_now() < end;)
    std::this_thread::yield();
  return entries_of("/proc/self/task");
}

std::string growth(const char* what, uint64_t before, uint64_t after) {
  return std::to_string(kCycles) + " cycles: " + what + " grew from " + std::to_string(before) + " to " +
         std::to_string(after);
}

// Throws unless 200 cycles leave what was there before. A leak of one object a cycle is more than the slack.
void measure(const std::function<void(int)>& cycle) {
  constexpr uint64_t kHeapSlack = 4096, kResidentSlack = (8u << 20) + kFreedBytes,
                     kMappedSlack = (160u << 20) + kFreedBytes;  // two heaps of threads
  const Usage before = Usage::now();
  for (int i = 0; i < kCycles; ++i) cycle(i);
  const size_t threads = settled_threads(before.threads);
  const Usage after = Usage::now();
  expect(after.descriptors == before.descriptors,
         growth("open file descriptors", before.descriptors, after.descriptors));
  expect(threads <= before.threads, growth("threads", before.threads, threads));
  expect(after.heap <= before.heap + kHeapSlack, growth("bytes of the heap", before.heap, after.heap));
  expect(after.resident <= before.resident + kResidentSlack, growth("resident bytes", before.resident, after.resident));
  expect(kMapsForEver || after.mapped <= before.mapped + kMappedSlack,
         growth("mapped bytes", before.mapped, after.mapped));
}

// The heap may keep what is free for a while, but not more and more: of three measurements one must be clean.
void leaves_nothing(const std::function<void(int)>& cycle) {
  for (int i = 0; i < kWarmUp; ++i) cycle(i);
  for (int attempt = 1;; ++attempt) {
    try {
      return measure(cycle);
    } catch (const Failure&) {
      if (attempt == 3) throw;
    }
  }
}

void devices(Subject& s) {
  leaves_nothing([&](int) { walk_entries(s.backend(), s.spec(), [](const char*) {}); });
}

// Threads of a device end with it.
void threads_of_devices(Subject& s) {
  s.units();
  walk_entries(s.backend(), s.spec(), [](const char*) {});
  const size_t before = entries_of("/proc/self/task");
  for (int i = 0; i < 5; ++i) {
    walk_entries(s.backend(), s.spec(), [](const char*) {});
    const size_t after = settled_threads(before);
    expect(after <= before, std::to_string(after - before) + " threads more once the device is closed");
  }
}

void enumerations(Subject& s) {
  leaves_nothing([&](int) {
    uint32_t count = 0;
    expect_ok(s.backend().enumerate(s.backend().self, s.spec(), nullptr, sizeof(tenon_unit), &count), "enumerate");
    std::vector<tenon_unit> units(count);
    expect_ok(s.backend().enumerate(s.backend().self, s.spec(), units.data(), sizeof(tenon_unit), &count), "enumerate");
  });
}

void buffers(Subject& s) {
  s.device();
  leaves_nothing([&](int i) {
    for (int k = 0; k < 10; ++k) f32_buffer(s, {1 + (i * 10 + k) % 200}, {.host = k % 2 == 0});
  });
}

// Those that an allocator maps one by one: of 2 MB and a little more or less.
void large_buffers(Subject& s) {
  s.device();
  leaves_nothing([&](int i) {
    constexpr int64_t kBeside[] = {0, 64, 0, -64};
    const int64_t bytes = (int64_t{2} << 20) * (1 + i % 2) + kBeside[i / 2 % 4];
    const Buffer buffer(s, s.device(), TENON_U8, {bytes});
  });
}

void queues(Subject& s) {
  const Buffer buffer = f32_buffer(s, {64});
  const Floats values = ramp(64);
  leaves_nothing([&](int) {
    Queue queue(s, s.device());
    write(queue, buffer, values);
  });
}

void programs(Subject& s) {
  const plugin::FlatGraph graph = counter_graph(300);
  Queue queue(s, s.device());
  const Buffer state = f32_buffer(s, {300});
  write(queue, state, filled(300, 0));
  leaves_nothing([&](int) {
    const Program program = compile(s, graph);
    run_now(queue, program, {{&state}, {&state}, {Arguments::f64(1)}});
  });
}

void runs_and_copies(Subject& s) {
  Queue queue(s, s.device());
  Counter counter(s);
  counter.reset(queue);
  Floats out(Counter::kElements);
  leaves_nothing([&](int) {
    for (int k = 0; k < 10; ++k) counter.submit(queue, 2);
    queue.read(counter.state(), out.data(), counter.state().bytes());
  });
}

void points(Subject& s) {
  Queue a(s, s.device()), b(s, s.device());
  Counter counter(s);
  counter.reset(a);
  leaves_nothing([&](int) {
    const uint64_t ticket = counter.submit(a, 1);
    const uint64_t next = counter.submit(b, 1, {{a.handle(), ticket}});
    a.wait(counter.submit(a, 1, {{b.handle(), next}}));
  });
}

void answers_and_refusals(Subject& s) {
  Sketch sketch;
  const uint32_t x = sketch.state(TENON_F32, {4});
  sketch.builder.result(sketch.add(sketch.node("no_such_op", {x}, TENON_F32, {4}), x, {4}));
  const plugin::FlatGraph strange = sketch.builder.build(), good = sum_graph(4);
  Queue queue(s, s.device());
  const Buffer buffer = f32_buffer(s, {4});
  const Floats values = ramp(8);
  leaves_nothing([&](int) {
    answers(s, s.device(), *strange.graph());
    answers(s, s.device(), *good.graph());
    tenon_options options{};
    options.struct_size = sizeof options;
    tenon_info info{};
    info.struct_size = sizeof info;
    tenon_program* program = nullptr;
    expect(s.backend().compile(s.device(), strange.graph(), &options, &program, &info).code != TENON_OK,
           "compile of an unknown op: found OK");
    tenon_desc desc{};
    desc.struct_size = sizeof desc;
    desc.dtype = TENON_F32;
    desc.rank = 1;
    tenon_buffer* none = nullptr;
    void* host = nullptr;
    expect(s.backend().buffer_alloc(s.device(), &desc, &none, &host).code != TENON_OK,
           "buffer_alloc of a dimension of 0: found OK");
    const tenon_copy copy = copy_to(buffer, values.data(), 32);
    uint64_t ticket = 0;
    expect(s.backend().copy(queue.handle(), &copy, &ticket).code != TENON_OK,
           "copy over the end of a buffer: found OK");
  });
}

}  // namespace

void add_leak_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&), int level) {
    Test& test = add_test(tests, "leaks", "", name, run, level);
    test.own_process = true;
    test.time_limit_s = 120;
  };
  add("devices", devices, 0);
  add("threads of devices", threads_of_devices, 0);
  add("enumerations", enumerations, 0);
  add("buffers", buffers, 0);
  add("large buffers", large_buffers, 0);
  add("queues", queues, 0);
  add("programs", programs, 1);
  add("runs and copies", runs_and_copies, 1);
  add("waits between queues", points, 1);
  add("answers and refusals", answers_and_refusals, 0);
}

}  // namespace tenon::conformance

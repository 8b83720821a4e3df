// What 200 cycles of opening and closing leave behind: file descriptors, threads, memory.
#include <dirent.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "conformance/suites/support.h"

namespace tenon::conformance {
namespace {

constexpr int kWarmUp = 20, kCycles = 200;
constexpr int64_t kElements = 65536;
constexpr int64_t kHeapBytes = 64 << 10;      // in all; a driver may keep a little
constexpr int64_t kResidentBytes = 16 << 20;  // pages come and go with the allocator's mood

int64_t entries_of(const char* folder) {
  DIR* dir = opendir(folder);
  expect(dir != nullptr, std::string("cannot list ") + folder);
  int64_t n = 0;
  while (readdir(dir)) ++n;
  closedir(dir);
  return n;
}

int64_t resident_bytes() {
  long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  expect(file != nullptr, "cannot read /proc/self/statm");
  const int read = std::fscanf(file, "%*d %ld", &pages);
  std::fclose(file);
  expect(read == 1, "cannot read /proc/self/statm");
  return int64_t{pages} * sysconf(_SC_PAGESIZE);
}

struct Census {
  int64_t descriptors = entries_of("/proc/self/fd");
  int64_t threads = entries_of("/proc/self/task");
  int64_t heap = static_cast<int64_t>(mallinfo2().uordblks + mallinfo2().hblkhd);
  int64_t resident = resident_bytes();
};

void expect_not_grown(const Census& before, const std::string& what) {
  const Census after;
  const auto grew = [&](const char* of, int64_t now, int64_t then, int64_t allowed) {
    expect(now - then <= allowed, std::to_string(kCycles) + " cycles of " + what + " left " + std::to_string(now - then) + " more " + of +
                                      ", expected " + (allowed ? "at most " + std::to_string(allowed) : "none"));
  };
  grew("file descriptors", after.descriptors, before.descriptors, 0);
  grew("threads", after.threads, before.threads, 0);
  grew("bytes of malloc's heap", after.heap, before.heap, kHeapBytes);
  grew("bytes of resident memory", after.resident, before.resident, kResidentBytes);
}

void repeat(const std::string& what, const std::function<void()>& cycle) {
  for (int i = 0; i < kWarmUp; ++i) cycle();
  const Census before;
  for (int i = 0; i < kCycles; ++i) cycle();
  expect_not_grown(before, what);
}

// y = ((x + x) + x) + c, c dense: a program with constants and a workspace.
plugin::FlatGraph chain() {
  Sketch s;
  const Dims dims{kElements};
  const Floats ones = filled(kElements, 1);
  const uint32_t x = s.state(TENON_F32, dims), c = s.builder.constant(TENON_F32, dims, ones.data(), ones.size() * sizeof(float));
  s.builder.result(s.add(s.add(s.add(x, x, dims), x, dims), c, dims));
  return s.builder.build();
}

void compile_and_run(Subject& s, tenon_device* device) {
  const plugin::FlatGraph graph = chain();
  const Program program = compile(s, graph, 1, device);
  Queue queue(s, device);
  const Buffer x(s, device, TENON_F32, {kElements}), y(s, device, TENON_F32, {kElements});
  const Floats values = filled(kElements, 2);
  queue.write(x, values.data(), values.size() * sizeof(float));
  Arguments arguments;
  arguments.inputs = {&x};
  arguments.results = {&y};
  run_now(queue, program, arguments);
}

void devices(Subject& s) {
  repeat("opening a device, running a program and closing it", [&] {
    tenon_device* device = s.open_device();
    try {
      compile_and_run(s, device);
    } catch (...) {
      s.backend().device_close(device);
      throw;
    }
    s.backend().device_close(device);
  });
}

void programs(Subject& s) {
  repeat("compiling, running and destroying a program", [&] { compile_and_run(s, s.device()); });
}

void buffers(Subject& s) {
  repeat("allocating and freeing buffers", [&] {
    for (bool host : {false, true}) const Buffer buffer(s, s.device(), TENON_F32, {kElements}, {.host = host});
    const Buffer guarded(s, s.device(), TENON_F32, {kElements}, {.guarded = true});
  });
}

void queues(Subject& s) {
  repeat("creating and destroying queues", [&] {
    const Queue one(s, s.device()), two(s, s.device()), three(s, s.device());
  });
}

void failures(Subject& s) {
  repeat("failing", [&] {
    tenon_desc desc{};
    desc.struct_size = sizeof desc;
    desc.dtype = 99;
    tenon_buffer* buffer = nullptr;
    expect(s.backend().buffer_alloc(s.device(), &desc, &buffer, nullptr).code != TENON_OK, "buffer_alloc takes dtype 99");
    Sketch sketch;
    sketch.builder.result(sketch.node("no_such_op", {sketch.state(TENON_F32, {4})}, TENON_F32, {4}));
    const plugin::FlatGraph graph = sketch.builder.build();
    tenon_options options{};
    options.struct_size = sizeof options;
    tenon_program* program = nullptr;
    tenon_info info{};
    info.struct_size = sizeof info;
    expect(s.backend().compile(s.device(), graph.graph(), &options, &program, &info).code != TENON_OK, "compile takes no_such_op");
  });
}

// Where the backend says how much is in use, all of it comes back.
void bytes_come_back(Subject& s) {
  if (!s.backend().stats) throw Unsupported{"no entry stats"};
  const auto in_use = [&] {
    tenon_stats stats{};
    stats.struct_size = sizeof stats;
    expect_ok(s.backend().stats(s.device(), &stats), "stats");
    return stats.bytes_in_use;
  };
  compile_and_run(s, s.device());
  const uint64_t before = in_use();
  for (int i = 0; i < 10; ++i) {
    const Buffer buffer(s, s.device(), TENON_F32, {kElements});
    expect(in_use() >= before + kElements * sizeof(float), "stats: bytes_in_use does not count a buffer");
  }
  expect(in_use() == before, "stats: bytes_in_use is " + std::to_string(in_use()) + " after buffers were freed, expected " + std::to_string(before));
}

}  // namespace

void add_leak_tests(Tests& tests) {
  const auto add = [&](const char* name, void (*run)(Subject&), int level) {
    Test& test = add_test(tests, "leaks", "", name, run, level);
    test.own_process = true;
    test.time_limit_s = 120;
  };
  add("devices", devices, 1);
  add("programs", programs, 1);
  add("buffers", buffers, 0);
  add("queues", queues, 0);
  add("failures", failures, 0);
  add("bytes_come_back", bytes_come_back, 1);
}

}  // namespace tenon::conformance

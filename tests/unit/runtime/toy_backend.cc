#include "unit/runtime/toy_backend.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/process/thread_pool.h"
#include "runtime/trace.h"

namespace tenon::plugin::testing {
namespace {

int64_t wrap(uint64_t v) { return static_cast<int64_t>(v); }

template <class F>
void elementwise(KernelTable& table, const char* op, F f) {
  table.add(
      op, [](const NodeView&) { return take(); },
      [f](const NodeView& node, const Env&) {
        const int64_t n = node.out(0).elements();
        Kernel k;
        k.threads = kAllThreads;
        k.in_place = {{0, 0}, {1, 0}};
        k.run = [f, n](const Call& c) {
          const auto *a = c.in<uint64_t>(0), *b = c.in<uint64_t>(1);
          auto* y = c.out<int64_t>(0);
          const Slice s = c.share(n);
          for (int64_t i = s.begin; i < s.end; ++i) y[i] = wrap(f(a[i], b[i]));
        };
        return k;
      });
}

// One operand of n elements, one result.
void unary(KernelTable& table, const char* op, std::function<void(const Call&, int64_t n)> run, Kernel shape) {
  table.add(
      op, [](const NodeView&) { return take(); },
      [=](const NodeView& node, const Env&) {
        const int64_t n = node.in(0).elements();
        Kernel k = shape;
        k.scratch_bytes *= static_cast<uint64_t>(n);
        k.thread_scratch_bytes *= static_cast<uint64_t>(n);
        k.run = [run, n](const Call& c) { run(c, n); };
        return k;
      });
}

Kernel shape(uint32_t threads, bool in_place, uint64_t scratch = 0, uint64_t own = 0) {
  Kernel k;
  k.threads = threads;
  if (in_place) k.in_place = {{0, 0}};
  k.scratch_bytes = scratch, k.thread_scratch_bytes = own;
  return k;
}

void negate(const Call& c, int64_t n) {
  for (int64_t i = 0; i < n; ++i) c.out<int64_t>(0)[i] = wrap(0 - c.in<uint64_t>(0)[i]);
}

void reverse(const Call& c, int64_t n) {
  const Slice s = c.share(n);
  for (int64_t i = s.begin; i < s.end; ++i) c.out<int64_t>(0)[i] = c.in<int64_t>(0)[n - 1 - i];
}

void total(const Call& c, int64_t n) {
  uint64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += c.in<uint64_t>(0)[i];
  std::fill_n(c.out<int64_t>(0), n, wrap(sum));
}

void rotate(const Call& c, int64_t n) {
  auto* room = static_cast<int64_t*>(c.scratch);
  const Slice s = c.share(n);
  for (int64_t i = s.begin; i < s.end; ++i) room[i] = c.in<int64_t>(0)[i];
  c.barrier();
  for (int64_t i = s.begin; i < s.end; ++i) c.out<int64_t>(0)[i] = room[(i + 1) % n];
}

void squares(const Call& c, int64_t n) {
  auto* own = static_cast<int64_t*>(c.thread_scratch);
  const Slice s = c.share(n);
  for (int64_t i = 0; i < n; ++i) own[i] = wrap(c.in<uint64_t>(0)[i] * c.in<uint64_t>(0)[i]);
  c.barrier();  // each has written its own
  for (int64_t i = s.begin; i < s.end; ++i) c.out<int64_t>(0)[i] = own[i];
}

Kernel make_both(const NodeView& node, const Env&) {
  const int64_t n = node.in(0).elements();
  Kernel k;
  k.threads = kAllThreads;
  k.in_place = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  k.run = [n](const Call& c) {
    const Slice s = c.share(n);
    for (int64_t i = s.begin; i < s.end; ++i) {
      const uint64_t a = c.in<uint64_t>(0)[i], b = c.in<uint64_t>(1)[i];
      // whoever shares their memory sees it
      if (auto* y = c.out<int64_t>(1)) y[i] = wrap(a - b);
      if (auto* y = c.out<int64_t>(0)) y[i] = wrap(a + b);
    }
  };
  return k;
}

Kernel make_plus(const NodeView& node, const Env&) {
  const int64_t n = node.in(0).elements();
  Kernel k = shape(kAllThreads, true);
  k.run = [n](const Call& c) {
    const Slice s = c.share(n);
    for (int64_t i = s.begin; i < s.end; ++i) c.out<int64_t>(0)[i] = wrap(c.in<uint64_t>(0)[i] + *c.in<uint64_t>(1));
  };
  return k;
}

Kernel make_least(const NodeView& node, const Env&) {
  const int64_t least = node.i64("k");
  Kernel k;
  k.run = [least](const Call& c) { *c.out<uint8_t>(0) = *c.in<int64_t>(0) >= least; };
  return k;
}

Kernel make_sum(const NodeView& node, const Env&) {
  Kernel k;
  k.run = [n = node.out(0).elements(), operands = node.operands()](const Call& c) {
    std::fill_n(c.out<int64_t>(0), n, 0);
    for (int o = 0; o < operands; ++o)
      for (int64_t i = 0; i < n; ++i) c.out<int64_t>(0)[i] += c.in<int64_t>(o)[i];
  };
  return k;
}

Kernel make_backwards(const NodeView& node, const Env&) {
  Kernel k = shape(1, true);
  k.run = [n = node.out(0).elements()](const Call& c) {
    for (int64_t i = 0; i < n; ++i) c.out<int64_t>(0)[i] = c.in<int64_t>(0)[i] - c.in<int64_t>(1)[n - 1 - i];
  };
  return k;
}

Kernel make_fail(const NodeView& node, const Env&) {
  Kernel k;
  k.run = [n = node.out(0).elements(), least = node.i64("k")](const Call& c) {
    if (*c.in<int64_t>(0) >= least) throw Error(TENON_INTERNAL, "toy.fail at " + std::to_string(*c.in<int64_t>(0)), 42);
    std::copy_n(c.in<int64_t>(0), n, c.out<int64_t>(0));
  };
  return k;
}

std::atomic<bool> toy_gate_is_open{true};

void gate(const Call& c, int64_t n) {
  toy_gate_is_open.wait(false);
  std::copy_n(c.in<int64_t>(0), n, c.out<int64_t>(0));
}

Kernel make_calls(const NodeView& node, const Env&) {
  Kernel k;
  k.run = [n = node.out(0).elements(), calls = std::make_shared<std::atomic<int64_t>>(0)](const Call& c) {
    std::fill_n(c.out<int64_t>(0), n, ++*calls);
  };
  return k;
}

void pair(const Call& c, int64_t n) {
  const Slice s = c.share(n);
  std::fill(c.out<int64_t>(0) + s.begin, c.out<int64_t>(0) + s.end, c.count);
}

// Not in the moment in which it began.
void when(const Call& c, int64_t n) {
  const uint64_t begin = now_ps();
  uint64_t now = begin;
  while (now == begin) now = now_ps();
  std::fill_n(c.out<int64_t>(0), n, static_cast<int64_t>(now));
  while (now_ps() == now) {
  }
}

void add_number(const Call& c, int64_t n, int64_t number) {
  for (int64_t i = 0; i < n; ++i) c.out<int64_t>(0)[i] = c.in<int64_t>(0)[i] + number;
}

// slice and concat of one-dimensional values.
Kernel make_slice(const NodeView& node, const Env&) {
  Kernel k;
  k.run = [n = node.out(0).elements(), first = node.list("start")[0]](const Call& c) {
    std::copy_n(c.in<int64_t>(0) + first, n, c.out<int64_t>(0));
  };
  return k;
}

Kernel make_concat(const NodeView& node, const Env&) {
  Kernel k;
  k.run = [n = node.in(0).elements(), m = node.in(1).elements()](const Call& c) {
    std::copy_n(c.in<int64_t>(0), n, c.out<int64_t>(0));
    std::copy_n(c.in<int64_t>(1), m, c.out<int64_t>(0) + n);
  };
  return k;
}

// toy.second of toy.first becomes toy.fused.
Rewritten fuse(const GraphView& graph, const Env&) {
  Rewrite rewrite(graph);
  bool any = false;
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const NodeView node = graph.node(i);
    const NodeView before = i > 0 ? graph.node(i - 1) : node;
    const bool fuses = node.op() == "toy.second" && before.op() == "toy.first";
    if (fuses)
      rewrite.add("toy.fused", {rewrite.value(before.operand_id(0))}, {rewrite.value(node.result_id(0))}, node);
    else if (node.op() != "toy.first")
      rewrite.copy(node);
    any = any || fuses;
  }
  return any ? rewrite.finish() : Rewritten{};
}

void fill(KernelTable& table) {
  const Accept any = [](const NodeView&) { return take(); };
  elementwise(table, "add", [](uint64_t a, uint64_t b) { return a + b; });
  elementwise(table, "sub", [](uint64_t a, uint64_t b) { return a - b; });
  elementwise(table, "mul", [](uint64_t a, uint64_t b) { return a * b; });
  unary(table, "neg", negate, shape(1, true));
  unary(table, "reverse", reverse, shape(kAllThreads, false));
  unary(table, "toy.total", total, shape(1, false));
  unary(table, "toy.rotate", rotate, shape(kAllThreads, true, 8));
  unary(table, "toy.squares", squares, shape(kAllThreads, false, 0, 8));
  unary(
      table, "toy.first", [](const Call& c, int64_t n) { add_number(c, n, 1); }, shape(1, true));
  unary(
      table, "toy.second", [](const Call& c, int64_t n) { add_number(c, n, 2); }, shape(1, true));
  table.add_own("toy.fused", [](const NodeView& node, const Env&) {
    Kernel k;
    k.run = [n = node.in(0).elements()](const Call& c) { add_number(c, n, 1000); };
    return k;
  });
  table.add("slice", any, make_slice);
  table.add("concat", any, make_concat);
  table.add("toy.both", any, make_both);
  table.add("toy.plus", any, make_plus);
  table.add("toy.least", any, make_least);
  table.add("toy.sum", any, make_sum);
  table.add("toy.backwards", any, make_backwards);
  table.add("toy.fail", any, make_fail);
  table.add("toy.calls", any, make_calls);
  unary(table, "toy.gate", gate, shape(1, false));
  unary(table, "toy.pair", pair, shape(2, false));
  unary(table, "toy.when", when, shape(1, false));
}

uint32_t gang(void* ctx, uint32_t want, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
  return static_cast<ThreadPool*>(ctx)->gang(want, fn, arg);
}

}  // namespace

void close_toy_gate() { toy_gate_is_open = false; }
void open_toy_gate() {
  toy_gate_is_open = true;
  toy_gate_is_open.notify_all();
}

struct Toy::Pool {
  explicit Pool(int n) : threads(n) {}
  ThreadPool threads;
  tenon_host host{};
};

Toy::Toy(int threads, bool worker_queues) : pool_(new Pool(threads)) {
  static const HostBackend here{"toy", "1.0", "Toy", TENON_CPU, fill, false, 1, fuse},
      workers{"toy", "1.0", "Toy", TENON_CPU, fill, true};
  const HostBackend& config = worker_queues ? workers : here;
  pool_->host.struct_size = sizeof(tenon_host);
  pool_->host.threads = static_cast<uint32_t>(threads);
  pool_->host.ctx = &pool_->threads;
  pool_->host.gang = gang;
  table.struct_size = sizeof table;
  EXPECT_EQ(init_host_backend(config, &pool_->host, &table).code, TENON_OK);
  tenon_open open{};
  open.struct_size = sizeof open;
  EXPECT_EQ(table.device_open(table.self, &open, &device).code, TENON_OK);
  EXPECT_EQ(table.queue_create(device, 0, &queue).code, TENON_OK);
}

Toy::~Toy() {
  for (tenon_program* p : programs_) table.program_destroy(p);
  for (tenon_buffer* b : buffers_) table.buffer_free(b);
  table.queue_destroy(queue);
  table.device_close(device);
}

tenon_status Toy::compile(const GraphBuilder& graph, const tenon_options& options, tenon_program** out,
                          tenon_info* info) {
  const FlatGraph flat = graph.build();
  return table.compile(device, flat.graph(), &options, out, info);
}

tenon_program* Toy::compile(const GraphBuilder& graph, uint32_t max_iterations) {
  tenon_options options{};
  options.struct_size = sizeof options;
  options.max_iterations = max_iterations;
  tenon_program* program = nullptr;
  const tenon_status status = compile(graph, options, &program);
  EXPECT_EQ(status.code, TENON_OK) << status.message;
  programs_.push_back(program);
  return program;
}

tenon_buffer* Toy::buffer(const Numbers& values) {
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = TENON_I64;
  desc.rank = 1;
  desc.dims[0] = static_cast<int64_t>(values.size());
  tenon_buffer* out = nullptr;
  EXPECT_EQ(table.buffer_alloc(device, &desc, &out, nullptr).code, TENON_OK);
  buffers_.push_back(out);
  write(out, values);
  return out;
}

Numbers Toy::read(tenon_buffer* buffer, size_t n) const {
  Numbers values(n);
  tenon_copy c{};
  c.struct_size = sizeof c;
  c.src = buffer, c.dst_host = values.data(), c.bytes = n * 8;
  uint64_t ticket = 0;
  EXPECT_EQ(table.copy(queue, &c, &ticket).code, TENON_OK);
  EXPECT_EQ(table.wait(queue, ticket, UINT64_MAX).code, TENON_OK);
  return values;
}

void Toy::write(tenon_buffer* buffer, const Numbers& values) const {
  tenon_copy c{};
  c.struct_size = sizeof c;
  c.dst = buffer, c.src_host = values.data(), c.bytes = values.size() * 8;
  uint64_t ticket = 0;
  EXPECT_EQ(table.copy(queue, &c, &ticket).code, TENON_OK);
  EXPECT_EQ(table.wait(queue, ticket, UINT64_MAX).code, TENON_OK);
}

uint64_t Toy::bytes_in_use() const {
  tenon_stats stats{};
  stats.struct_size = sizeof stats;
  table.stats(device, &stats);
  return stats.bytes_in_use;
}

tenon_status run(const Toy& toy, tenon_queue* queue, tenon_program* program, const Arguments& a, uint32_t* done) {
  tenon_run r{};
  r.struct_size = sizeof r;
  r.program = program;
  r.iterations = a.iterations;
  r.inputs = a.inputs.data(), r.results = a.results.data();
  r.scalars = a.scalars.empty() ? nullptr : a.scalars.data();
  r.feed = a.feed;
  uint64_t ticket = 0;
  uint32_t ignored = 0;
  return toy.table.run(queue, &r, &ticket, done ? done : &ignored);
}

uint32_t run(const Toy& toy, tenon_program* program, const Arguments& a) {
  uint32_t done = 0;
  const tenon_status status = run(toy, toy.queue, program, a, &done);
  EXPECT_EQ(status.code, TENON_OK) << status.message;
  return done;
}

int32_t Batches::next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point*) {
  auto& self = *static_cast<Batches*>(ctx);
  if (i >= self.stop_) return 0;
  self.given.push_back(i);
  feeds[0] = self.buffers_[i % self.buffers_.size()];
  return 1;
}

}  // namespace tenon::plugin::testing

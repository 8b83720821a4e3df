#include "unit/validation/fake_backend.h"

#include <fenv.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tenon/plugin/graph.h"

struct tenon_device {
  bool lost = false;
};
struct tenon_buffer {
  char* memory;
  bool owned;
};
struct tenon_program {
  uint32_t feeds;
};
struct tenon_queue {
  uint64_t given = 0, completed = 0;
  const char* failed = nullptr;
};

namespace tenon::fake {

std::map<std::string, int> calls;

namespace {

std::mutex calls_mutex;
std::string fault;
bool asynchronous = false;
std::set<tenon_queue*> queues;
std::thread helper;
const tenon_host* host = nullptr;
std::function<void()> late;  // what a backend has no right to call any more
const tenon_sink* sink = nullptr;
std::atomic<tenon_buffer*> last_buffer = nullptr;
int supports_calls = 0;

constexpr tenon_status kOk{TENON_OK, 0, nullptr};

bool is(const char* name) { return fault == name; }
tenon_status error(int32_t code, const char* text) { return {code, 0, text}; }

void count(const std::string& entry) {
  const std::lock_guard lock(calls_mutex);
  ++calls[entry];
}

// Faults that any entry may have: "ENTRY-throw" and so on. True: `out` is the answer.
bool common_fault(const std::string& entry, tenon_status* out) {
  count(entry);
  const auto does = [&](const char* what) { return fault == entry + "-" + what; };
  if (does("throw")) throw std::runtime_error("thrown");
  if (does("code")) return *out = error(99, "of no known code"), true;
  if (does("negative")) return *out = error(-1, "of no known code"), true;
  if (does("silent")) return *out = error(TENON_INTERNAL, nullptr), true;
  if (does("empty")) return *out = error(TENON_INTERNAL, ""), true;
  if (does("lines")) return *out = error(TENON_INTERNAL, "one\ntwo"), true;
  if (does("lost")) return *out = error(TENON_DEVICE_LOST, "the card fell off"), true;
  if (does("error")) return *out = error(TENON_INVALID, "as told"), true;
  if (does("rounding")) ::fesetround(FE_UPWARD);
  if (does("handler")) ::signal(SIGUSR2, [](int) {});
  if (does("directory") && ::chdir("/") != 0) std::abort();
  if (does("mask")) {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  }
  if (does("log-level")) host->log(host->ctx, 9, "loud");
  if (does("log-thread")) helper = std::thread([] { host->log(host->ctx, TENON_LOG_ERROR, "from nowhere"); });
  if (does("gang-of-none"))
    host->gang(
        host->ctx, 0, [](void*, uint32_t, uint32_t) {}, nullptr);
  if (does("gang-rounding"))
    host->gang(
        host->ctx, 1, [](void*, uint32_t, uint32_t) { ::fesetround(FE_DOWNWARD); }, nullptr);
  if (does("gang"))
    host->gang(
        host->ctx, 4, [](void*, uint32_t, uint32_t) {}, nullptr);
  if (does("get-nothing")) (void)host->cache_get(host->ctx, nullptr, nullptr, nullptr);
  if (does("put-nothing")) (void)host->cache_put(host->ctx, "key", nullptr, 5);
  if (does("open-nothing")) (void)host->open_backend(host->ctx, "", nullptr);
  if (helper.joinable()) helper.join();
  return false;
}

#define TENON_FAKE_ENTRY(name) \
  tenon_status told;           \
  if (common_fault(name, &told)) return told

tenon_status enumerate(void*, const char*, tenon_unit* units, uint64_t stride, uint32_t* count) {
  TENON_FAKE_ENTRY("enumerate");
  const uint32_t room = units ? *count : 0;
  *count = is("enumerate-none") ? 0 : 3;
  for (uint32_t i = 0; i < room + is("enumerate-beyond"); ++i) {
    tenon_unit u{};
    u.flags = asynchronous ? 0 : TENON_UNIT_INLINE;
    u.kind = is("enumerate-kind") ? 0 : TENON_CPU;
    u.domain = i == 2;
    u.feed_depth = is("enumerate-depth") ? 0 : 2;
    std::strcpy(u.name, is("enumerate-escape") ? "\x1b[1m" : "fake");
    if (is("enumerate-endless")) std::memset(u.name, 'x', sizeof u.name);
    std::memcpy(reinterpret_cast<char*>(units) + i * stride, &u, sizeof u);
  }
  return kOk;
}

tenon_status device_open(void*, const tenon_open* open, tenon_device** out) {
  TENON_FAKE_ENTRY("device_open");
  if (open->flags && !is("device_open-flags")) return error(TENON_UNSUPPORTED, "unknown flags");
  if (is("device_open-null")) return kOk;
  *out = new tenon_device;
  return is("device_open-both") ? error(TENON_INTERNAL, "broken, but here is one") : kOk;
}

void device_close(tenon_device* device) {
  tenon_status told;
  if (!common_fault("device_close", &told)) delete device;
}

tenon_status supports(tenon_device*, const tenon_graph* graph, const tenon_options* options, const uint32_t*,
                      uint32_t n, tenon_verdict* out, uint64_t stride) {
  TENON_FAKE_ENTRY("supports");
  ++supports_calls;
  if ((options->flags & 0xfffffffc) && !is("supports-flags")) return error(TENON_UNSUPPORTED, "unknown flags");
  if (is("supports-writes")) const_cast<uint8_t*>(graph->data)[graph->data_size - 1] ^= 1;
  for (uint32_t i = 0; i < n + is("supports-beyond"); ++i) {
    tenon_verdict v{TENON_TAKE, 0, nullptr};
    if (is("supports-answer")) v.answer = 9;
    if (is("supports-refuse")) v.answer = TENON_REFUSE;
    if (is("supports-impure")) v.answer = supports_calls % 2 ? TENON_TAKE : TENON_DECOMPOSE;
    std::memcpy(reinterpret_cast<char*>(out) + i * stride, &v, sizeof v);
  }
  return kOk;
}

void spoil_info(tenon_info* info) {
  static const tenon_allocation wild[] = {{1000, 0, 1, 1, 0, 0, 0}};
  if (is("compile-info-size")) info->struct_size = sizeof *info + 8;
  if (is("compile-no-array")) info->n_allocations = 3;
  if (is("compile-wild-array"))
    info->allocations = wild, info->allocation_stride = sizeof wild[0], info->n_allocations = 1;
}

tenon_status compile(tenon_device*, const tenon_graph* graph, const tenon_options*, tenon_program** out,
                     tenon_info* info) {
  TENON_FAKE_ENTRY("compile");
  if (info) spoil_info(info);
  if (is("compile-refuse")) return error(TENON_UNSUPPORTED, "cannot do it after all");
  if (is("compile-full")) return error(TENON_OUT_OF_MEMORY, "too large");
  if (is("compile-null")) return kOk;
  auto* program = new tenon_program{0};
  const plugin::GraphView view(*graph);
  for (uint32_t i = 0; i < view.n_inputs(); ++i) program->feeds += view.input(i).role == TENON_ROLE_FEED;
  *out = program;
  return is("compile-both") ? error(TENON_INTERNAL, "broken, but here is one") : kOk;
}

tenon_status describe(const tenon_program*, tenon_plan* out) {
  TENON_FAKE_ENTRY("describe");
  static uint32_t nodes[] = {0, 0};
  static tenon_plan_step step;
  static tenon_plan_buffer buffer;
  static tenon_plan_value value;
  step = {is("describe-nameless") ? nullptr : "step", nullptr, 0, 0, {0, is("describe-twice") ? 2u : 1u}, 0};
  buffer = {TENON_PLAN_WORKSPACE, TENON_NONE, 0, is("describe-endless") ? 1u : 0u, 64, 0};
  value = {0, 0, 0, is("describe-nowhere") ? 1u : 0u, 16, is("describe-beyond") ? 56u : 0u};
  nodes[0] = is("describe-wild-node") ? 7 : 0;
  out->steps = &step, out->step_stride = is("describe-stride") ? 8 : sizeof step, out->n_steps = 1;
  out->buffers = &buffer, out->buffer_stride = sizeof buffer, out->n_buffers = 1;
  out->values = &value, out->value_stride = sizeof value, out->n_values = 1;
  out->nodes = nodes, out->n_nodes = 2;
  if (is("describe-size")) out->struct_size += 8;
  return kOk;
}

void program_destroy(tenon_program* program) {
  count("program_destroy");
  delete program;
}

uint64_t bytes_of(const tenon_desc& d) {
  auto bytes = static_cast<uint64_t>(plugin::dtype_bytes(d.dtype));
  for (uint32_t i = 0; i < d.rank; ++i) bytes *= static_cast<uint64_t>(d.dims[i]);
  return bytes;
}

tenon_status buffer_alloc(tenon_device*, const tenon_desc* d, tenon_buffer** out, void** memory) {
  TENON_FAKE_ENTRY("buffer_alloc");
  if (is("alloc-again")) return *out = last_buffer, kOk;
  if (is("alloc-null")) return kOk;
  const uint64_t bytes = (bytes_of(*d) + 127) / 64 * 64;
  char* at = is("alloc-overlaps") ? last_buffer.load()->memory : static_cast<char*>(std::aligned_alloc(64, bytes));
  *out = new tenon_buffer{at, !is("alloc-overlaps")};
  if ((d->flags & TENON_DESC_HOST) || is("alloc-shows")) *memory = at + (is("alloc-misaligned") ? 8 : 0);
  if (is("alloc-hides")) *memory = nullptr;
  last_buffer = *out;
  return kOk;
}

void buffer_free(tenon_buffer* buffer) {
  count("buffer_free");
  if (buffer->owned) std::free(buffer->memory);
  delete buffer;
}

tenon_status queue_create(tenon_device*, uint64_t flags, tenon_queue** out) {
  TENON_FAKE_ENTRY("queue_create");
  if (flags && !is("queue-flags")) return error(TENON_UNSUPPORTED, "unknown flags");
  if (is("queue-null")) return kOk;
  queues.insert(*out = new tenon_queue);
  return kOk;
}

void queue_destroy(tenon_queue* queue) {
  count("queue_destroy");
  queues.erase(queue);
  delete queue;
}

uint64_t next_ticket(tenon_queue* queue, const std::string& entry) {
  ++queue->given;
  if (!asynchronous) queue->completed = queue->given;
  return fault == entry + "-ticket-zero" ? 0 : fault == entry + "-ticket-same" ? queue->given - 1 : queue->given;
}

tenon_status copy(tenon_queue* queue, const tenon_copy* c, uint64_t* ticket) {
  TENON_FAKE_ENTRY("copy");
  if (queue->failed && !is("wait-forgets")) return error(TENON_INVALID, queue->failed);
  if (c->flags && !is("copy-flags")) return error(TENON_UNSUPPORTED, "unknown flags");
  if (c->dst && c->src_host) std::memcpy(c->dst->memory + c->dst_offset, c->src_host, c->bytes);
  if (c->src && c->dst_host) std::memcpy(c->dst_host, c->src->memory + c->src_offset, c->bytes);
  *ticket = next_ticket(queue, "copy");
  return kOk;
}

// Takes the batches, breaking the rule that it is told to.
uint32_t consume(const tenon_run& r) {
  const tenon_feed& feed = *r.feed;
  std::vector<tenon_buffer*> feeds(r.program->feeds + size_t{1});
  tenon_point after{};
  const auto next = [&](uint64_t i) { return feed.next(feed.ctx, i, feeds.data(), &after) != 0; };
  if (is("feed-order")) return next(1), 0;
  if (is("feed-thread")) std::thread([&] { next(0); }).join();
  if (is("feed-greedy")) return next(0), next(1), next(2), 2;
  if (is("feed-release")) feed.release(feed.ctx, 0);
  if (is("feed-late")) late = [kept = feed, feeds, after]() mutable { kept.next(kept.ctx, 0, feeds.data(), &after); };
  uint32_t done = 0;
  while (done < r.iterations + is("feed-endless") && next(done)) {
    if (is("feed-release-order") && done == 1) feed.release(feed.ctx, 1);
    if (!is("feed-keeps") && !is("feed-release-order")) feed.release(feed.ctx, done);
    ++done;
  }
  if (is("feed-stopped")) next(done);
  return done;
}

tenon_status run(tenon_queue* queue, const tenon_run* r, uint64_t* ticket, uint32_t* done) {
  TENON_FAKE_ENTRY("run");
  if (queue->failed && !is("wait-forgets")) return error(TENON_INVALID, queue->failed);
  if (r->flags) return error(TENON_UNSUPPORTED, "unknown flags");
  *done = r->feed ? consume(*r) : r->iterations;
  if (is("run-more")) *done = r->iterations + 1;
  if (is("run-less")) *done = r->iterations - 1;
  *ticket = next_ticket(queue, "run");
  return kOk;
}

tenon_status wait(tenon_queue* queue, uint64_t ticket, uint64_t timeout) {
  TENON_FAKE_ENTRY("wait");
  if (is("wait-fails")) queue->failed = "the first cause";
  if (is("wait-another")) return error(TENON_INTERNAL, "another cause");
  if (is("wait-timeout")) return error(TENON_TIMEOUT, nullptr);
  if (queue->failed && !is("wait-forgets")) return error(TENON_INTERNAL, queue->failed);
  if (ticket <= queue->completed) return kOk;
  if (timeout != UINT64_MAX) return error(TENON_TIMEOUT, nullptr);
  queue->completed = queue->given;
  return kOk;
}

tenon_status stats(tenon_device*, tenon_stats* out) {
  TENON_FAKE_ENTRY("stats");
  out->bytes_in_use = 5;
  if (is("stats-size")) out->struct_size += 8;
  return kOk;
}

tenon_status trace(tenon_device*, const tenon_sink* to) {
  TENON_FAKE_ENTRY("trace");
  const tenon_sink* emits_to = to ? to : sink;
  tenon_event event{};
  event.name = is("trace-nameless") ? nullptr : "step";
  if (emits_to) emits_to->emit(emits_to->ctx, &event, 1, is("trace-stride") ? 8 : sizeof event);
  if (!to && sink) late = [kept = *sink, event] { kept.emit(kept.ctx, &event, 1, sizeof event); };
  sink = to;
  return kOk;
}

tenon_status error_info(tenon_queue* queue, tenon_error* out) {
  TENON_FAKE_ENTRY("error_info");
  out->node = out->iteration = TENON_NONE;
  if (is("error-info-size")) out->struct_size += 8;
  if (is("error-info-mute")) out->code = TENON_INTERNAL;
  if (is("error-info-ticket")) *out = {out->struct_size, 0, TENON_INTERNAL, 7, 99, nullptr, 3, 2, "the first cause"};
  if (queue->failed && !is("error-info-none"))
    *out = {
        out->struct_size, 0, TENON_INTERNAL, 7, 1, nullptr, 3, 2, is("error-info-another") ? "another" : queue->failed};
  return kOk;
}

tenon_status facts(tenon_device*, tenon_facts* out) {
  TENON_FAKE_ENTRY("facts");
  out->kind = is("facts-kind") ? "A\nB" : "FAKE";
  if (is("facts-vendor")) out->vendor = "";
  out->trace_clock = is("facts-clock") ? 9 : TENON_CLOCK_MONOTONIC;
  if (is("facts-size")) out->struct_size += 8;
  return kOk;
}

}  // namespace

void set_fault(const std::string& name) {
  fault = name;
  supports_calls = 0;
}
void set_async(bool async) { asynchronous = async; }
void complete_all() {
  for (tenon_queue* q : queues) q->completed = q->given;
}
void call_late() { late(); }
void join() {
  if (helper.joinable()) helper.join();
}

tenon_backend make(const char* name) {
  tenon_backend t{};
  t.struct_size = sizeof t;
  t.abi_major = TENON_ABI_MAJOR;
  t.name = name;
  t.version = "1.0";
  t.enumerate = enumerate, t.device_open = device_open, t.device_close = device_close;
  t.supports = supports, t.compile = compile, t.program_destroy = program_destroy;
  t.buffer_alloc = buffer_alloc, t.buffer_free = buffer_free;
  t.queue_create = queue_create, t.queue_destroy = queue_destroy;
  t.copy = copy, t.run = run, t.wait = wait, t.stats = stats, t.trace = trace;
  t.error_info = error_info, t.facts = facts, t.describe = describe;
  return t;
}

tenon_status init(const tenon_host* from, tenon_backend* out) {
  host = from;
  TENON_FAKE_ENTRY("init");
  *out = make("fake");
  return kOk;
}

#undef TENON_FAKE_ENTRY

}  // namespace tenon::fake

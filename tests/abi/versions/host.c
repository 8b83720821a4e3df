/* A host in C11 that knows the C ABI alone: loads a backend, trains four numbers on it for twenty steps and compares with
 * what it computes itself. Built against the headers of an old, the present and a future version.   host LIBRARY */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/abi/plugin.h"

enum { kSteps = 20, kSize = 4 };

static int failures;

static void check(tenon_status status, const char* what) {
  if (status.code == TENON_OK) return;
  printf("%s: code %d: %s\n", what, status.code, status.message ? status.message : "");
  exit(1);
}
static void expect(int condition, const char* what) {
  if (condition) return;
  printf("expected: %s\n", what);
  ++failures;
}

/* ---- the graph: d = w - t; loss = d d; w' = w - (d + d) lr ---- */

static _Alignas(64) uint8_t data[16384];
static uint64_t data_size;

static uint64_t put(const void* bytes, uint64_t n) {
  data_size = (data_size + 63) / 64 * 64;
  memcpy(data + data_size, bytes, n);
  data_size += n;
  return data_size - n;
}
static tenon_array array(const void* items, uint32_t count, uint32_t stride) {
  tenon_array a = {put(items, (uint64_t)count * stride), count, stride};
  return a;
}

enum { W, T, LR, D, LOSS, D2, STEP, NEXT, kValues };

static const char names[] = "sub\0add\0mul\0a\0b\0c\0d\0e";

static tenon_node node(uint32_t op, uint32_t name, uint32_t first) {
  tenon_node n;
  memset(&n, 0, sizeof(n));
  n.op = (tenon_text){op, 3};
  n.version = 1;
  n.name = (tenon_text){name, 1};
  n.operands = (tenon_range){first, 2};
  n.results = (tenon_range){first + 2, 1};
  return n;
}

static tenon_graph build(void) {
  tenon_value values[kValues];
  memset(values, 0, sizeof(values));
  for (int i = 0; i < kValues; ++i) {
    values[i].dtype = TENON_F32;
    values[i].rank = i != LR;
    values[i].dims[0] = i == LR ? 0 : kSize;
  }
  const uint32_t ids[] = {W, T, D, D, D, LOSS, D, D, D2, D2, LR, STEP, W, STEP, NEXT};
  const tenon_node nodes[] = {node(0, 12, 0), node(8, 14, 3), node(4, 16, 6), node(8, 18, 9), node(0, 20, 12)};
  tenon_input inputs[3];
  memset(inputs, 0, sizeof(inputs));
  inputs[0].value = W, inputs[0].role = TENON_ROLE_STATE;
  inputs[1].value = T, inputs[1].role = TENON_ROLE_FEED;
  inputs[2].value = LR, inputs[2].role = TENON_ROLE_SCALAR;
  tenon_result results[2];
  memset(results, 0, sizeof(results));
  results[0].value = NEXT, results[0].alias = 1;
  results[1].value = LOSS, results[1].mode = TENON_MODE_EACH;
  tenon_graph g;
  memset(&g, 0, sizeof(g));
  g.struct_size = sizeof(g);
  g.values = array(values, kValues, sizeof(values[0]));
  g.nodes = array(nodes, 5, sizeof(nodes[0]));
  g.ids = array(ids, 15, sizeof(ids[0]));
  g.inputs = array(inputs, 3, sizeof(inputs[0]));
  g.results = array(results, 2, sizeof(results[0]));
  g.strings = array(names, sizeof(names), 1);
  g.data = data;
  g.data_size = data_size;
  return g;
}

/* ---- what it talks to ---- */

static tenon_backend load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    printf("%s\n", dlerror());
    exit(1);
  }
  tenon_status (*init)(const tenon_host*, tenon_backend*);
  *(void**)&init = dlsym(library, "tenon_backend_init");
  static tenon_host host;
  host.struct_size = sizeof(host);
  host.abi_major = TENON_ABI_MAJOR;
  host.abi_minor = TENON_ABI_MINOR;
  host.name = "host.c";
  tenon_backend t;
  memset(&t, 0, sizeof(t));
  t.struct_size = sizeof(t);
  check(init(&host, &t), "tenon_backend_init");
  expect(t.struct_size >= TENON_SIZE(tenon_backend, wait) && t.struct_size <= sizeof(t),
         "a table that both sides know");
  expect(t.abi_major == TENON_ABI_MAJOR, "the same major version");
  return t;
}

static tenon_device* open_device(const tenon_backend* t) {
  struct {
    tenon_unit unit;
    char guard[64];
  } room;
  memset(&room, 0, sizeof(room));
  uint32_t count = 1, zero = 0;
  check(t->enumerate(t->self, NULL, &room.unit, sizeof(room.unit), &count), "enumerate");
  expect(count == 1 && room.unit.kind == TENON_CPU && room.unit.feed_depth == 1, "one unit");
  for (size_t i = 0; i < sizeof(room.guard); ++i) expect(room.guard[i] == 0, "nothing is written beyond the stride");
  tenon_open open;
  memset(&open, 0, sizeof(open));
  open.struct_size = sizeof(open);
  open.units = &zero;
  open.n_units = 1;
  tenon_device* device = NULL;
  check(t->device_open(t->self, &open, &device), "device_open");
  return device;
}

static float* host_buffer(const tenon_backend* t, tenon_device* device, uint32_t rows, tenon_buffer** out) {
  tenon_desc desc;
  memset(&desc, 0, sizeof(desc));
  desc.struct_size = sizeof(desc);
  desc.flags = TENON_DESC_HOST;
  desc.dtype = TENON_F32;
  desc.rank = rows > 1 ? 2 : 1;
  desc.dims[0] = rows > 1 ? rows : kSize;
  desc.dims[1] = kSize;
  void* memory = NULL;
  check(t->buffer_alloc(device, &desc, out, &memory), "buffer_alloc");
  return memory;
}

static tenon_program* compile(const tenon_backend* t, tenon_device* device, const tenon_graph* g) {
  tenon_options options;
  memset(&options, 0, sizeof(options));
  options.struct_size = sizeof(options);
  options.max_iterations = kSteps;
  const uint32_t nodes[] = {0, 1, 2, 3, 4};
  tenon_verdict verdicts[6];
  memset(verdicts, 0, sizeof(verdicts));
  check(t->supports(device, g, &options, nodes, 5, verdicts, sizeof(verdicts[0])), "supports");
  for (int i = 0; i < 5; ++i) expect(verdicts[i].answer == TENON_TAKE, "each node is taken");
  tenon_info info;
  memset(&info, 0, sizeof(info));
  info.struct_size = sizeof(info);
  tenon_program* program = NULL;
  check(t->compile(device, g, &options, &program, &info), "compile");
  expect(info.struct_size <= sizeof(info) && info.peak_bytes > 0, "info is filled");
  return program;
}

/* A feed of one buffer. */
static int32_t next(void* ctx, uint64_t i, tenon_buffer** feeds, tenon_point* after) {
  (void)i;
  feeds[0] = ctx;
  *after = (tenon_point){NULL, 0};
  return 1;
}
static void release(void* ctx, uint64_t i) { (void)ctx, (void)i; }

static void train(const tenon_backend* t, tenon_queue* queue, tenon_program* program, tenon_buffer* buffers[3]) {
  tenon_buffer *inputs[] = {buffers[0], NULL}, *results[] = {buffers[0], buffers[2]};
  tenon_scalar rates[kSteps];
  for (int i = 0; i < kSteps; ++i) rates[i].f64 = 0.125;
  tenon_feed feed;
  memset(&feed, 0, sizeof(feed));
  feed.struct_size = sizeof(feed);
  feed.ctx = buffers[1], feed.next = next, feed.release = release;
  tenon_run run;
  memset(&run, 0, sizeof(run));
  run.struct_size = sizeof(run);
  run.program = program;
  run.iterations = kSteps;
  run.inputs = inputs, run.results = results, run.scalars = rates, run.feed = &feed;
  uint64_t ticket = 0;
  uint32_t done = 0;
  check(t->run(queue, &run, &ticket, &done), "run");
  check(t->wait(queue, ticket, UINT64_MAX), "wait");
  expect(done == kSteps && ticket > 0, "all steps");
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const tenon_backend t = load(argv[1]);
  tenon_device* device = open_device(&t);
  const tenon_graph graph = build();
  tenon_program* program = compile(&t, device, &graph);
  tenon_queue* queue = NULL;
  check(t.queue_create(device, 0, &queue), "queue_create");
  tenon_buffer* buffers[3];
  float *w = host_buffer(&t, device, 1, &buffers[0]), *target = host_buffer(&t, device, 1, &buffers[1]);
  float *loss = host_buffer(&t, device, kSteps, &buffers[2]), expected[kSize];
  for (int k = 0; k < kSize; ++k) expected[k] = w[k] = (float)k, target[k] = 1;
  train(&t, queue, program, buffers);
  for (int i = 0; i < kSteps; ++i)
    for (int k = 0; k < kSize; ++k) {
      const float d = expected[k] - 1;
      expect(loss[i * kSize + k] == d * d, "the loss of each step");
      expected[k] -= (d + d) * 0.125f;
    }
  for (int k = 0; k < kSize; ++k) expect(w[k] == expected[k], "the weights after the last step");
  for (int k = 0; k < 3; ++k) t.buffer_free(buffers[k]);
  t.queue_destroy(queue);
  t.program_destroy(program);
  t.device_close(device);
  printf("host %u.%u, backend %s %u.%u: %d failures\n", TENON_ABI_MAJOR, TENON_ABI_MINOR, t.name, t.abi_major,
         t.abi_minor, failures);
  return failures != 0;
}

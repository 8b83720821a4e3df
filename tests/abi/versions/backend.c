/* A backend in C11 that knows the C ABI alone: add, sub and mul of f32 in ordinary memory. Built against the headers of
 * an old, the present and a future version; TENON_VERSION_NAME is its name. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "tenon/abi/plugin.h"

__attribute__((used, section(TENON_NOTE_SECTION), aligned(4))) static const struct {
  uint32_t owner_size, data_size, type;
  char owner[8];
  uint32_t data[3];
} note = {6, 12, TENON_NOTE_TYPE, TENON_NOTE_OWNER, {TENON_ABI_MAJOR, TENON_ABI_MINOR, 0}};

enum { kMaxValues = 64, kMaxNodes = 32 };

struct tenon_device {
  int unused;
};

struct tenon_buffer {
  void* data;
};

struct tenon_queue {
  uint64_t ticket;
};

typedef struct step {
  char kind; /* '+', '-', '*' */
  uint32_t a, b, out;
} step;

struct tenon_program {
  uint32_t n_values, n_steps, n_inputs, n_results;
  uint64_t elements[kMaxValues];
  float* memory[kMaxValues]; /* of what is computed, and constants; else NULL */
  step steps[kMaxNodes];
  struct {
    uint32_t value;
    int32_t role;
  } inputs[kMaxValues];
  struct {
    uint32_t value;
    int32_t mode;
  } results[kMaxValues];
};

static tenon_status ok(void) { return (tenon_status){TENON_OK, 0, NULL}; }
static tenon_status error(int32_t code, const char* text) { return (tenon_status){code, 0, text}; }
static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Element i of an array of the graph, as far as this version knows it. */
static void element(const tenon_graph* g, tenon_array array, uint32_t i, void* out, uint64_t bytes) {
  memset(out, 0, bytes);
  memcpy(out, g->data + array.at + (uint64_t)i * array.stride, smaller(array.stride, bytes));
}
static const char* text(const tenon_graph* g, tenon_text t) { return (const char*)g->data + g->strings.at + t.at; }
static uint32_t id(const tenon_graph* g, tenon_range range, uint32_t i) {
  uint32_t out;
  element(g, g->ids, range.first + i, &out, sizeof(out));
  return out;
}

static tenon_status enumerate(void* self, const char* spec, tenon_unit* units, uint64_t stride, uint32_t* count) {
  (void)self, (void)spec;
  const uint32_t room = *count;
  *count = 1;
  if (!units || room == 0) return ok();
  tenon_unit unit;
  memset(&unit, 0, sizeof(unit));
  unit.flags = TENON_UNIT_INLINE;
  unit.kind = TENON_CPU;
  unit.feed_depth = 1;
  strcpy(unit.name, TENON_VERSION_NAME);
  strcpy(unit.version, "1");
#ifdef TENON_FUTURE_FIELDS
  unit.future_one = unit.future_two = ~(uint64_t)0; /* an older host has no room for them */
#endif
#ifdef TENON_CARELESS
  stride = sizeof(unit); /* breaks the rule that it is to step and write by the host's */
#endif
  memcpy(units, &unit, smaller(stride, sizeof(unit)));
  return ok();
}

static tenon_status device_open(void* self, const tenon_open* open, tenon_device** out) {
  (void)self;
  if (open->flags & 0xffffffffu) return error(TENON_UNSUPPORTED, "device_open: unknown flags");
  *out = calloc(1, sizeof(**out));
  return *out ? ok() : error(TENON_OUT_OF_MEMORY, "device_open: out of memory");
}
static void device_close(tenon_device* device) { free(device); }

static char kind_of(const tenon_graph* g, const tenon_node* n) {
  const char* op = text(g, n->op);
  return strcmp(op, "add") == 0 ? '+' : strcmp(op, "sub") == 0 ? '-' : strcmp(op, "mul") == 0 ? '*' : 0;
}

static int is_f32(const tenon_graph* g, uint32_t value) {
  tenon_value v;
  element(g, g->values, value, &v, sizeof(v));
  return v.dtype == TENON_F32;
}

static tenon_status supports(tenon_device* device, const tenon_graph* g, const tenon_options* options,
                             const uint32_t* nodes, uint32_t n, tenon_verdict* out, uint64_t stride) {
  (void)device, (void)options;
  for (uint32_t i = 0; i < n; ++i) {
    tenon_node node;
    element(g, g->nodes, nodes[i], &node, sizeof(node));
    const int known = kind_of(g, &node) && node.version == 1 && is_f32(g, id(g, node.results, 0));
    tenon_verdict v = {known ? TENON_TAKE : TENON_DECOMPOSE, 1, known ? NULL : "add, sub and mul of f32 are known"};
    memcpy((char*)out + i * stride, &v, smaller(stride, sizeof(v)));
  }
  return ok();
}

static void program_destroy(tenon_program* p) {
  if (!p) return;
  for (uint32_t i = 0; i < p->n_values; ++i) free(p->memory[i]);
  free(p);
}

static int read_values(const tenon_graph* g, tenon_program* p) {
  p->n_values = g->values.count;
  for (uint32_t i = 0; i < p->n_values; ++i) {
    tenon_value v;
    element(g, g->values, i, &v, sizeof(v));
    p->elements[i] = 1;
    for (uint32_t d = 0; d < v.rank; ++d) p->elements[i] *= (uint64_t)v.dims[d];
    p->memory[i] = calloc(p->elements[i], sizeof(float));
    if (!p->memory[i]) return 0;
  }
  for (uint32_t i = 0; i < g->constants.count; ++i) {
    tenon_constant c;
    element(g, g->constants, i, &c, sizeof(c));
    for (uint64_t k = 0; k < p->elements[c.value]; ++k)
      memcpy(p->memory[c.value] + k, g->data + c.at + (c.bytes == sizeof(float) ? 0 : k * sizeof(float)),
             sizeof(float));
  }
  return 1;
}

static int read_nodes(const tenon_graph* g, tenon_program* p) {
  p->n_steps = g->nodes.count;
  for (uint32_t i = 0; i < p->n_steps; ++i) {
    tenon_node n;
    element(g, g->nodes, i, &n, sizeof(n));
    p->steps[i] = (step){kind_of(g, &n), id(g, n.operands, 0), id(g, n.operands, 1), id(g, n.results, 0)};
    if (!p->steps[i].kind) return 0;
  }
  return 1;
}

static void read_ends(const tenon_graph* g, tenon_program* p) {
  p->n_inputs = g->inputs.count;
  p->n_results = g->results.count;
  for (uint32_t i = 0; i < p->n_inputs; ++i) {
    tenon_input in;
    element(g, g->inputs, i, &in, sizeof(in));
    p->inputs[i].value = in.value, p->inputs[i].role = in.role;
  }
  for (uint32_t i = 0; i < p->n_results; ++i) {
    tenon_result r;
    element(g, g->results, i, &r, sizeof(r));
    p->results[i].value = r.value, p->results[i].mode = r.mode;
  }
}

static tenon_status compile(tenon_device* device, const tenon_graph* g, const tenon_options* options,
                            tenon_program** out, tenon_info* info) {
  (void)device, (void)options;
  if (g->values.count > kMaxValues || g->nodes.count > kMaxNodes)
    return error(TENON_UNSUPPORTED, "compile: the graph is too large");
  tenon_program* p = calloc(1, sizeof(*p));
  if (!p) return error(TENON_OUT_OF_MEMORY, "compile: out of memory");
  if (!read_values(g, p) || !read_nodes(g, p))
    return program_destroy(p), error(TENON_UNSUPPORTED, "compile: out of memory, or an unknown op");
  read_ends(g, p);
  tenon_info filled;
  memset(&filled, 0, sizeof(filled));
  filled.struct_size = info ? smaller(info->struct_size, sizeof(filled)) : 0;
  filled.peak_bytes = 4 * p->n_values;
  if (info) memcpy(info, &filled, filled.struct_size);
  *out = p;
  return ok();
}

static tenon_status buffer_alloc(tenon_device* device, const tenon_desc* desc, tenon_buffer** out, void** host) {
  (void)device;
  uint64_t bytes = 8; /* room for one element of any dtype */
  for (uint32_t i = 0; i < desc->rank; ++i) bytes *= (uint64_t)desc->dims[i];
  tenon_buffer* b = calloc(1, sizeof(*b));
  if (b) b->data = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!b || !b->data) return free(b), error(TENON_OUT_OF_MEMORY, "buffer_alloc: out of memory");
  *out = b;
  *host = desc->flags & TENON_DESC_HOST ? b->data : NULL;
  return ok();
}

static void buffer_free(tenon_buffer* b) {
  if (b) free(b->data);
  free(b);
}

static tenon_status queue_create(tenon_device* device, uint64_t flags, tenon_queue** out) {
  (void)device;
  if (flags & 0xffffffffu) return error(TENON_UNSUPPORTED, "queue_create: unknown flags");
  *out = calloc(1, sizeof(**out));
  return *out ? ok() : error(TENON_OUT_OF_MEMORY, "queue_create: out of memory");
}
static void queue_destroy(tenon_queue* queue) { free(queue); }

static tenon_status copy(tenon_queue* queue, const tenon_copy* c, uint64_t* ticket) {
  char* to = (char*)(c->dst ? c->dst->data : c->dst_host) + c->dst_offset;
  memmove(to, (const char*)(c->src ? c->src->data : c->src_host) + c->src_offset, c->bytes);
  *ticket = ++queue->ticket;
  return ok();
}

static void compute(tenon_program* p, float* values[]) {
  for (uint32_t s = 0; s < p->n_steps; ++s) {
    const step* t = &p->steps[s];
    for (uint64_t k = 0; k < p->elements[t->out]; ++k) {
      const float a = values[t->a][p->elements[t->a] == 1 ? 0 : k], b = values[t->b][p->elements[t->b] == 1 ? 0 : k];
      values[t->out][k] = t->kind == '+' ? a + b : t->kind == '-' ? a - b : a * b;
    }
  }
}

/* Points values at this iteration's arguments. */
static void bind(tenon_program* p, const tenon_run* r, tenon_buffer* const* feeds, uint32_t i, float* values[]) {
  uint32_t buffer = 0, scalar = 0, feed = 0, n_scalars = 0;
  for (uint32_t k = 0; k < p->n_inputs; ++k) n_scalars += p->inputs[k].role == TENON_ROLE_SCALAR;
  for (uint32_t k = 0; k < p->n_values; ++k) values[k] = p->memory[k];
  for (uint32_t k = 0; k < p->n_inputs; ++k) {
    const uint32_t v = p->inputs[k].value;
    if (p->inputs[k].role == TENON_ROLE_SCALAR) {
      *values[v] = (float)r->scalars[i * n_scalars + scalar++].f64;
      continue;
    }
    const int fed = p->inputs[k].role == TENON_ROLE_FEED && feeds;
    values[v] = (fed ? feeds[feed++] : r->inputs[buffer])->data;
    ++buffer;
  }
}

static void store(tenon_program* p, const tenon_run* r, uint32_t i, float* values[]) {
  for (uint32_t k = 0; k < p->n_results; ++k) {
    const uint64_t n = p->elements[p->results[k].value];
    float* to = (float*)r->results[k]->data + (p->results[k].mode == TENON_MODE_EACH ? i * n : 0);
    memcpy(to, values[p->results[k].value], n * sizeof(float));
  }
}

static tenon_status run(tenon_queue* queue, const tenon_run* r, uint64_t* ticket, uint32_t* done) {
  tenon_buffer* feeds[kMaxValues] = {NULL};
  float* values[kMaxValues];
  uint32_t i = 0;
  for (; i < r->iterations; ++i) {
    tenon_point after = {NULL, 0};
    memset(feeds, 0, sizeof(feeds));
    if (r->feed && !r->feed->next(r->feed->ctx, i, feeds, &after)) break;
    bind(r->program, r, r->feed ? feeds : NULL, i, values);
    compute(r->program, values);
    store(r->program, r, i, values);
    if (r->feed) r->feed->release(r->feed->ctx, i);
  }
  *done = i;
  *ticket = ++queue->ticket;
  return ok();
}

static tenon_status wait(tenon_queue* queue, uint64_t ticket, uint64_t timeout_ns) {
  (void)timeout_ns;
  return ticket <= queue->ticket ? ok() : error(TENON_INVALID, "wait: no such ticket");
}

tenon_status tenon_backend_init(const tenon_host* host, tenon_backend* out) {
  (void)host;
  tenon_backend full;
  memset(&full, 0, sizeof(full));
  full.struct_size = smaller(out->struct_size, sizeof(full));
  full.abi_major = TENON_ABI_MAJOR;
  full.abi_minor = TENON_ABI_MINOR;
  full.name = TENON_VERSION_NAME;
  full.version = "1";
  full.enumerate = enumerate, full.device_open = device_open, full.device_close = device_close;
  full.supports = supports, full.compile = compile, full.program_destroy = program_destroy;
  full.buffer_alloc = buffer_alloc, full.buffer_free = buffer_free;
  full.queue_create = queue_create, full.queue_destroy = queue_destroy;
  full.copy = copy, full.run = run, full.wait = wait;
  memcpy(out, &full, full.struct_size);
  return ok();
}

#include "unit/validation/world.h"

namespace tenon::validation_testing {
namespace {

constexpr tenon_status kOk{TENON_OK, 0, nullptr};

tenon_host& host() {
  static tenon_host h{};
  h.struct_size = sizeof h;
  h.abi_major = TENON_ABI_MAJOR;
  h.log = [](void*, int32_t, const char*) {};
  h.gang = [](void*, uint32_t want, void (*fn)(void*, uint32_t, uint32_t), void* arg) {
    fn(arg, 0, 1);
    return want == 4 ? 2u : 1u;  // a host that miscounts gangs of four
  };
  h.cache_get = [](void*, const char*, void*, uint64_t*) {
    return tenon_status{TENON_UNAVAILABLE, 0, "no such entry"};
  };
  h.cache_put = [](void*, const char*, const void*, uint64_t) { return kOk; };
  h.open_backend = [](void*, const char*, tenon_backend*) {
    return tenon_status{TENON_UNAVAILABLE, 0, "no such backend"};
  };
  return h;
}

tenon_backend validated(const tenon_backend& inner) {
  tenon_backend out{};
  out.struct_size = sizeof out;
  EXPECT_EQ(plugin::validate_backend(inner, &out).code, TENON_OK);
  return out;
}

tenon_backend first() {
  plugin::report_violations_to([](void*, const char* line) { lines().emplace_back(line); }, nullptr);
  tenon_backend inner{};
  inner.struct_size = sizeof inner;
  EXPECT_EQ(plugin::validate_init(fake::init, host(), "fake", &inner).code, TENON_OK);
  return validated(inner);
}

}  // namespace

const tenon_backend& table() {
  static const tenon_backend t = first();
  return t;
}

const tenon_backend& other_table() {
  static const tenon_backend t = validated(fake::make("other"));
  return t;
}

std::vector<std::string>& lines() {
  static std::vector<std::string> all;
  return all;
}

plugin::FlatGraph small_graph() {
  plugin::GraphBuilder b;
  const uint32_t w = b.input(TENON_F32, {4}, TENON_ROLE_STATE, "w"),
                 x = b.input(TENON_F32, {2, 4}, TENON_ROLE_FEED, "x");
  const uint32_t lr = b.input(TENON_F32, {}, TENON_ROLE_SCALAR, "lr");
  const uint32_t next = b.value(TENON_F32, {4}), loss = b.value(TENON_F32, {});
  b.node("step", {w, x, lr}, {next, loss}).name("step").attr_i64("k", 1);
  b.result(next, TENON_MODE_LAST, 1);
  b.result(loss, TENON_MODE_EACH);
  return b.build();
}

World::World(const std::string& fault, bool async) {
  fake::set_fault(fault);
  fake::set_async(async);
  options.struct_size = sizeof options;
  (void)t;
  EXPECT_EQ(open({0}).code, TENON_OK);
  queue = new_queue();
  w = buffer({4}), x = buffer({2, 4}), loss = buffer({3});
  program = compile(graph);
  lines().clear();
}

World::~World() {
  fake::set_fault("");
  fake::complete_all();
  t.program_destroy(program);
  for (tenon_buffer* b : {w, x, loss}) t.buffer_free(b);
  t.queue_destroy(queue);
  t.device_close(device);
}

tenon_run World::arguments() {
  inputs_ = {w, x};
  results_ = {w, loss};
  scalars_.assign(3, tenon_scalar{});
  tenon_run r{};
  r.struct_size = sizeof r;
  r.program = program;
  r.iterations = 3;
  r.inputs = inputs_.data();
  r.results = results_.data();
  r.scalars = scalars_.data();
  return r;
}

tenon_copy World::write_x() {
  tenon_copy c{};
  c.struct_size = sizeof c;
  c.dst = x;
  c.src_host = data_;
  c.bytes = sizeof data_;
  return c;
}

tenon_desc World::desc(const std::vector<int64_t>& dims, uint64_t flags) {
  tenon_desc d{};
  d.struct_size = sizeof d;
  d.flags = flags;
  d.dtype = TENON_F32;
  d.rank = static_cast<uint32_t>(dims.size());
  for (size_t i = 0; i < dims.size() && i < TENON_MAX_RANK; ++i) d.dims[i] = dims[i];
  return d;
}

tenon_buffer* World::buffer(const std::vector<int64_t>& dims, uint64_t flags, void** memory) {
  const tenon_desc d = desc(dims, flags);
  tenon_buffer* out = nullptr;
  void* unused = nullptr;
  EXPECT_EQ(t.buffer_alloc(device, &d, &out, memory ? memory : &unused).code, TENON_OK);
  return out;
}

tenon_queue* World::new_queue() {
  tenon_queue* out = nullptr;
  EXPECT_EQ(t.queue_create(device, 0, &out).code, TENON_OK);
  return out;
}

tenon_device* World::new_device() {
  tenon_device* mine = device;
  EXPECT_EQ(open({0}).code, TENON_OK);
  std::swap(mine, device);
  return mine;
}

tenon_program* World::compile(const plugin::FlatGraph& g, uint32_t iterations) {
  tenon_options o = options;
  o.max_iterations = iterations;
  tenon_info info{};
  info.struct_size = sizeof info;
  tenon_program* out = nullptr;
  EXPECT_EQ(t.compile(device, g.graph(), &o, &out, &info).code, TENON_OK);
  return out;
}

tenon_status World::open(const std::vector<uint32_t>& units, tenon_open o) {
  o.struct_size = o.struct_size ? o.struct_size : sizeof o;
  o.units = units.data();
  o.n_units = static_cast<uint32_t>(units.size());
  return t.device_open(t.self, &o, &device);
}

tenon_status World::supports(const tenon_graph& g) {
  const uint32_t node = 0;
  tenon_verdict verdict{};
  return t.supports(device, &g, &options, &node, 1, &verdict, sizeof verdict);
}

tenon_status World::submit() {
  const tenon_run r = arguments();
  return t.run(queue, &r, &ticket, &done);
}

void World::violate(const std::function<tenon_status()>& call) {
  const tenon_status status = call();
  EXPECT_EQ(status.code, TENON_ABI);
  ASSERT_EQ(lines().size(), 1u) << testing::PrintToString(lines());
  EXPECT_EQ(std::string(status.message ? status.message : ""), lines()[0]);
}

void World::violate_void(const std::function<void()>& call) {
  call();
  EXPECT_EQ(lines().size(), 1u) << testing::PrintToString(lines());
}

}  // namespace tenon::validation_testing

#include "conformance/suites/run/calls.h"

namespace tenon::conformance {

tenon_options plain_options() {
  tenon_options options{};
  options.struct_size = sizeof options;
  return options;
}

tenon_status try_open(Subject& s, const tenon_open& open) {
  tenon_device* device = nullptr;
  const tenon_status status = s.backend().device_open(s.backend().self, &open, &device);
  if (status.code == TENON_OK) s.backend().device_close(device);
  return status;
}

tenon_open plain_open(Subject& s) {
  static const uint32_t unit = 0;
  tenon_open open{};
  open.struct_size = sizeof open;
  open.spec = s.spec();
  open.units = &unit;
  open.n_units = 1;
  return open;
}

tenon_status try_supports(Subject& s, const tenon_graph& graph, const tenon_options& options) {
  const uint32_t node = 0;
  tenon_verdict verdict{};
  return s.backend().supports(s.device(), &graph, &options, &node, 1, &verdict, sizeof verdict);
}

tenon_status try_compile(Subject& s, const tenon_graph& graph, const tenon_options& options) {
  return compile_status(s, graph, nullptr, &options);
}

tenon_desc plain_desc() {
  tenon_desc desc{};
  desc.struct_size = sizeof desc;
  desc.dtype = TENON_F32;
  desc.rank = 2;
  desc.dims[0] = 3;
  desc.dims[1] = 5;
  return desc;
}

tenon_status try_alloc(Subject& s, const tenon_desc& desc, void** host) {
  tenon_buffer* buffer = nullptr;
  void* memory = nullptr;
  const tenon_status status = s.backend().buffer_alloc(s.device(), &desc, &buffer, &memory);
  if (status.code == TENON_OK) s.backend().buffer_free(buffer);
  if (host) *host = memory;
  return status;
}

Sum::Sum(Subject& s)
    : subject(s),
      queue(s, s.device()),
      program(compile(s, sum_graph(8))),
      a(f32_buffer(s, {8})),
      b(f32_buffer(s, {8})),
      r(f32_buffer(s, {8})) {
  write(queue, a, ramp(8));
  write(queue, b, filled(8, 100));
  arguments.inputs = {&a, &b};
  arguments.results = {&r};
}

tenon_status Sum::run(const tenon_run& run) {
  uint64_t ticket = 0;
  uint32_t done = 0;
  const tenon_status status = subject.backend().run(queue.handle(), &run, &ticket, &done);
  if (status.code == TENON_OK) queue.wait(ticket);
  return status;
}

void Sum::check() {
  expect_equal(read(queue, r), ramp(8, 100), "the sum");
  queue.write_rubbish(r);
}

}  // namespace tenon::conformance

#include "conformance/host/poison.h"

#include <limits>

namespace tenon::conformance {
namespace {

// r[j] = max_i of neg(transpose(neg(x))): the transposition makes two whole intermediates of what could be fused.
plugin::FlatGraph graph_of(int64_t rows, int64_t columns) {
  plugin::GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {rows, columns}, TENON_ROLE_STATE, "x");
  const uint32_t negated = b.value(TENON_F32, {rows, columns}), turned = b.value(TENON_F32, {columns, rows});
  const uint32_t again = b.value(TENON_F32, {columns, rows}), y = b.value(TENON_F32, {columns});
  b.node("neg", {x}, {negated}).name("poison/neg");
  b.node("transpose", {negated}, {turned}).name("poison/transpose").attr_list("perm", {1, 0});
  b.node("neg", {turned}, {again}).name("poison/neg_1");
  b.node("reduce", {again}, {y}).name("poison/max").attr_list("axes", {1}).attr_enum("kind", TENON_REDUCE_MAX);
  b.result(y);
  return b.build();
}

}  // namespace

std::unique_ptr<Subject::Poison> Subject::Poison::make(Subject& subject, tenon_device* device, uint64_t bytes) {
  constexpr int64_t kColumns = 64;
  const int64_t rows = static_cast<int64_t>(bytes / 4 / kColumns);
  const plugin::FlatGraph graph = graph_of(rows, kColumns);
  try {
    for (const Answer& answer : answers(subject, device, *graph.graph()))
      if (answer.answer != TENON_TAKE) return nullptr;
    auto poison = std::unique_ptr<Poison>(new Poison{Queue(subject, device), Program(subject, device, *graph.graph()),
                                                     Buffer(subject, device, TENON_F32, {rows, kColumns}),
                                                     Buffer(subject, device, TENON_F32, {kColumns})});
    reference::Tensor nan = reference::zeros(TENON_F32, {rows, kColumns});
    for (double& v : nan.f) v = std::numeric_limits<double>::quiet_NaN();
    poison->queue.write(poison->input, nan);
    return poison;
  } catch (const Failure&) {
  } catch (const Unsupported&) {
  } catch (const Unavailable&) {
  }
  return nullptr;  // other tests say why
}

void Subject::Poison::run() {
  tenon_buffer* inputs[] = {input.handle()};
  tenon_buffer* results[] = {result.handle()};
  tenon_run run{};
  run.program = program.handle();
  run.inputs = inputs;
  run.results = results;
  queue.wait(queue.submit(run));
}

}  // namespace tenon::conformance

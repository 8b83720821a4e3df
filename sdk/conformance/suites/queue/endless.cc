#include "conformance/suites/queue/endless.h"

#include <chrono>

namespace tenon::conformance {
namespace {

plugin::FlatGraph graph() {
  Sketch s;
  const uint32_t state = s.state(TENON_F32, {Counter::kElements});
  s.builder.result(s.add(state, s.fill({Counter::kElements}, 1), {Counter::kElements}), TENON_MODE_LAST, 1);
  return s.builder.build();
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Counter::Counter(Subject& subject, BufferOptions options)
    : program_(compile(subject, graph(), kMost)), state_(f32_buffer(subject, {kElements}, options)) {}

void Counter::reset(Queue& queue, float x) { write(queue, state_, expected(x)); }

uint64_t Counter::submit(Queue& queue, uint32_t iterations, std::vector<tenon_point> after) {
  Arguments arguments{{&state_}, {&state_}, {}, std::move(after), iterations};
  uint32_t done = 0;
  const uint64_t ticket = queue.submit(arguments.run(program_), &done);
  expect(done == iterations,
         "run: " + std::to_string(done) + " iterations done or submitted, expected " + std::to_string(iterations));
  return ticket;
}

}  // namespace tenon::conformance

// Run-time scalars to the last bit: what a double or 32 bits do not hold, what is rounded to fewer bits.
#include <cmath>
#include <limits>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

// Each iteration's scalar, handed through as a row of a result.
Program program_of(Subject& s, int32_t dtype, uint32_t iterations) {
  Sketch sketch;
  const uint32_t row = sketch.node("reshape", {sketch.scalar(dtype)}, dtype, {1});
  sketch.builder.attr_list("shape", {1});
  sketch.builder.result(row, TENON_MODE_EACH);
  return compile(s, sketch.builder.build(), iterations);
}

reference::Tensor pass(Subject& s, int32_t dtype, const std::vector<tenon_scalar>& scalars) {
  const uint32_t n = static_cast<uint32_t>(scalars.size());
  const Program program = program_of(s, dtype, n);
  Queue queue(s, s.device());
  const Buffer rows(s, s.device(), dtype, {n, 1});
  queue.write_rubbish(rows);
  run_now(queue, program, {{}, {&rows}, scalars, {}, n});
  return queue.read(rows);
}

void passes_integers(Subject& s, int32_t dtype) {
  std::vector<int64_t> values{0, -1, INT32_MAX, INT32_MIN, (1 << 24) + 1, -(1 << 24) - 1};
  if (dtype == TENON_I64)
    for (int64_t v : {(int64_t{1} << 53) + 1, -(int64_t{1} << 53) - 1, INT64_MAX, INT64_MIN, INT64_MAX - 1,
                      (int64_t{1} << 32) + 1, int64_t{0x123456789abcdef}})
      values.push_back(v);
  std::vector<tenon_scalar> scalars;
  for (int64_t v : values) scalars.push_back(Arguments::i64(v));
  const reference::Tensor found = pass(s, dtype, scalars);
  for (size_t k = 0; k < values.size(); ++k)
    expect(found.i[k] == values[k], "scalar " + std::to_string(values[k]) + " came as " + std::to_string(found.i[k]));
}

// Rounded once, to nearest even, whatever the double holds.
void passes_floats(Subject& s, int32_t dtype) {
  const double spacing = reference::spacing(dtype, 1);
  std::vector<double> values{0.1, -1.0 / 3, 1, 1e-3, 3.14159265358979, INFINITY, -INFINITY};
  for (double steps : {0.5, 1.5, 0.5 + 0x1p-20, 1.5 - 0x1p-20, 0.75, 0.25})
    for (double sign : {1.0, -1.0}) values.push_back(sign * (1 + steps * spacing));
  std::vector<tenon_scalar> scalars;
  for (double v : values) scalars.push_back(Arguments::f64(v));
  const reference::Tensor found = pass(s, dtype, scalars);
  for (size_t k = 0; k < values.size(); ++k) {
    const double expected = reference::round_to(dtype, values[k]);
    char text[160];
    std::snprintf(text, sizeof text, "scalar %.17g came as %.17g, expected %.17g", values[k], found.f[k], expected);
    expect(found.f[k] == expected, text);
  }
}

}  // namespace

void add_scalar_tests(Tests& tests) {
  for (int32_t dtype : {TENON_I32, TENON_I64})
    add_test(
        tests, "program", "scalar", std::string("all bits of ") + plugin::dtype_name(dtype),
        [dtype](Subject& s) { passes_integers(s, dtype); }, 1);
  for (int32_t dtype : {TENON_F32, TENON_F64, TENON_BF16, TENON_F16})
    add_test(
        tests, "program", "scalar", std::string("rounded once to ") + plugin::dtype_name(dtype),
        [dtype](Subject& s) { passes_floats(s, dtype); }, 1)
        .required = dtype == TENON_F32;
}

}  // namespace tenon::conformance

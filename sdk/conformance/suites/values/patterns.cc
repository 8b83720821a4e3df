// Part of the op suite: casts of 16 bits on every pattern that there is, and between every two.
//
// What is expected needs no rounding: a pattern's own number is that pattern; what lies nearer to it than to its neighbour
// is it, too; in the middle the even one of the two is taken; and a NaN is a NaN.
#include <cmath>
#include <cstring>
#include <limits>

#include "conformance/suites/support.h"
#include "conformance/suites/values/parts.h"

namespace tenon::conformance {
namespace {

constexpr uint32_t kInfinity[] = {0x7F80, 0x7C00};  // of bf16, f16

uint32_t infinity_of(int32_t dtype) { return kInfinity[dtype == TENON_F16]; }

// A pattern without its sign as a number; that of infinity is the power of two that would come next.
double number_of(int32_t dtype, uint32_t bits) {
  const int fraction_bits = dtype == TENON_F16 ? 10 : 7, bias = dtype == TENON_F16 ? 15 : 127;
  const int exponent = static_cast<int>(bits >> fraction_bits);
  const auto fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1));
  const double one = std::ldexp(1.0, fraction_bits);
  return exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                       : std::ldexp(one + fraction, exponent - bias - fraction_bits);
}

// The numbers that are below what a backend may take for zero are left out: those that f32 holds as subnormal.
bool is_normal_in_f32(double x) { return x == 0 || std::fabs(x) >= 0x1p-125; }

template <class From>
struct RoundedPatterns {
  std::vector<From> from;
  std::vector<uint16_t> to;
  void add(double x, uint32_t bits) {
    for (const bool negative : {false, true}) {
      from.push_back(static_cast<From>(negative ? -x : x));
      to.push_back(static_cast<uint16_t>(bits | (negative ? 0x8000u : 0)));
    }
  }
};

template <class From>
RoundedPatterns<From> around_every_pattern(int32_t dtype) {
  RoundedPatterns<From> out;
  const From infinity = std::numeric_limits<From>::infinity();
  for (uint32_t bits = 0; bits < infinity_of(dtype); ++bits) {
    const double here = number_of(dtype, bits), next = number_of(dtype, bits + 1);
    if (!is_normal_in_f32(here)) continue;
    const From middle = static_cast<From>(here + (next - here) / 2);
    out.add(here, bits);
    if (is_normal_in_f32(middle)) {
      out.add(std::nextafter(middle, From(0)), bits);
      out.add(middle, bits + (bits & 1));
      out.add(std::nextafter(middle, infinity), bits + 1);
    }
    const From above = std::nextafter(static_cast<From>(here), infinity);
    if (is_normal_in_f32(here) && here != 0) out.add(above, bits);
  }
  out.add(infinity, infinity_of(dtype));
  out.add(std::numeric_limits<From>::max(), infinity_of(dtype));
  return out;
}

// f64 casts of what an f32 cannot hold are part of it: they are rounded once.
template <class From>
void casts_to(Subject& s, int32_t from_dtype, int32_t dtype) {
  const RoundedPatterns<From> all = around_every_pattern<From>(dtype);
  const auto n = static_cast<int64_t>(all.from.size());
  Sketch sketch;
  sketch.builder.result(sketch.node("cast", {sketch.state(from_dtype, {n})}, dtype, {n}));
  sketch.builder.attr_dtype("to", dtype);
  const Program program = compile(s, sketch.builder.build());
  Queue queue(s, s.device());
  const Buffer x(s, s.device(), from_dtype, {n}), y(s, s.device(), dtype, {n});
  queue.write(x, all.from.data(), all.from.size() * sizeof(From));
  run_now(queue, program, {{&x}, {&y}});
  std::vector<uint16_t> found(all.to.size());
  queue.read(y, found.data(), found.size() * 2);
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] != all.to[i]) {
      char text[200];
      std::snprintf(text, sizeof text, "cast of %s %a to %s: found the bits 0x%04x, expected 0x%04x",
                    plugin::dtype_name(from_dtype), static_cast<double>(all.from[i]), plugin::dtype_name(dtype),
                    found[i], all.to[i]);
      fail(text);
    }
}

// NaN with each of its bits, that of quiet ones among them, alone.
void casts_nan_to(Subject& s, int32_t dtype) {
  std::vector<uint32_t> bits;
  for (const uint32_t sign : {0u, 0x80000000u})
    for (int k = 0; k < 23; ++k)
      for (const uint32_t quiet : {0u, 1u << 22}) bits.push_back(sign | 0x7F800000u | quiet | 1u << k);
  const auto n = static_cast<int64_t>(bits.size());
  Sketch sketch;
  sketch.builder.result(sketch.node("cast", {sketch.state(TENON_F32, {n})}, dtype, {n}));
  sketch.builder.attr_dtype("to", dtype);
  const Program program = compile(s, sketch.builder.build());
  Queue queue(s, s.device());
  const Buffer x(s, s.device(), TENON_F32, {n}), y(s, s.device(), dtype, {n});
  queue.write(x, bits.data(), bits.size() * 4);
  run_now(queue, program, {{&x}, {&y}});
  std::vector<uint16_t> found(bits.size());
  queue.read(y, found.data(), found.size() * 2);
  for (size_t i = 0; i < found.size(); ++i)
    if ((found[i] & 0x7FFFu) <= infinity_of(dtype)) {
      char text[200];
      std::snprintf(text, sizeof text, "cast of NaN 0x%08x to %s: found the bits 0x%04x, which are none", bits[i],
                    plugin::dtype_name(dtype), found[i]);
      fail(text);
    }
}

void casts_from(Subject& s, int32_t dtype) {
  constexpr int64_t kAll = 1 << 16;
  std::vector<uint16_t> bits(kAll);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  Sketch sketch;
  sketch.builder.result(sketch.node("cast", {sketch.state(dtype, {kAll})}, TENON_F32, {kAll}));
  sketch.builder.attr_dtype("to", TENON_F32);
  const Program program = compile(s, sketch.builder.build());
  Queue queue(s, s.device());
  const Buffer x(s, s.device(), dtype, {kAll}), y = f32_buffer(s, {kAll});
  queue.write(x, bits.data(), bits.size() * 2);
  run_now(queue, program, {{&x}, {&y}});
  const Floats found = read(queue, y);
  for (uint32_t i = 0; i < kAll; ++i) {
    const uint32_t size = i & 0x7FFF;
    const double number = size == infinity_of(dtype) ? HUGE_VAL : number_of(dtype, size);
    const bool nan = size > infinity_of(dtype), negative = i & 0x8000;
    if (!nan && !is_normal_in_f32(number)) continue;
    const double expected = negative ? -number : number;
    const auto is = static_cast<double>(found[i]);
    if (nan ? std::isnan(is) : is == expected && std::signbit(is) == negative) continue;
    char text[200];
    std::snprintf(text, sizeof text, "cast of %s with the bits 0x%04x to f32: found %a, expected %a",
                  plugin::dtype_name(dtype), i, is, nan ? std::nan("") : expected);
    fail(text);
  }
}

}  // namespace

void add_pattern_tests(Tests& tests) {
  const auto add = [&](const std::string& name, std::function<void(Subject&)> run) {
    add_test(tests, "op", "cast", name, std::move(run), 2).required = false;
  };
  for (const int32_t dtype : {TENON_BF16, TENON_F16}) {
    const std::string name = plugin::dtype_name(dtype);
    add("every " + name + " to f32", [dtype](Subject& s) { casts_from(s, dtype); });
    add("f32 around every " + name, [dtype](Subject& s) { casts_to<float>(s, TENON_F32, dtype); });
    add("f64 around every " + name, [dtype](Subject& s) { casts_to<double>(s, TENON_F64, dtype); });
    add("NaN to " + name, [dtype](Subject& s) { casts_nan_to(s, dtype); });
  }
}

}  // namespace tenon::conformance

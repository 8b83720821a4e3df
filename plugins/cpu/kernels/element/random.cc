// random(seed, step) -> f32[..] and dropout(x, seed, step, [residual]) -> y, both from the same Philox words:
// element e is word e & 3 of counter e >> 2.
#include <algorithm>
#include <cmath>

#include "kernels/dtype.h"
#include "kernels/element/dropout.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 34;  // the counter's first word

// Calls f(word vector, element) for elements begin, begin + kLanes, ..; begin is a multiple of 4.
template <class F>
TENON_INLINE void for_words(const RandomStream& stream, int64_t begin, int64_t end, F f) {
  for (int64_t e = begin; e < end; e += RandomStream::kDraws) {
    Lanes::Words words[4];
    stream.draw(static_cast<uint32_t>(e >> 2), words);
    for (int64_t k = 0; k < 4; ++k)
      if (e + Lanes::kLanes * k < end) f(words[k], e + Lanes::kLanes * k);
  }
}

RandomStream stream_of(const Call& call, int seed, uint32_t id, uint64_t before) {
  return RandomStream(*call.in<int64_t>(seed), *call.in<int64_t>(seed + 1), id, before);
}

plugin::Verdict check_stream(const NodeView& node, int seed) {
  for (int i = seed; i < seed + 2; ++i)
    if (!node.has(i) || node.in(i).dtype() != TENON_I64 || node.in(i).elements() != 1)
      return refusal(node, "seed and step must be i64 scalars");
  if (node.out(0).elements() > kMostElements) return refusal(node, "more than 2^34 elements");
  return plugin::take();
}

plugin::Verdict accept_random(const NodeView& node) {
  if (node.operands() != 2 || node.out(0).dtype() != TENON_F32)
    return refusal(node, "expected seed and step, and an f32 result");
  return check_stream(node, op::random::seed);
}

Kernel make_random(const NodeView& node, const Env&) {
  const int64_t n = node.out(0).elements();
  const uint32_t id = static_cast<uint32_t>(node.i64("stream"));
  const uint64_t before = node.flag("per_replica") ? draws_before(node, n) : 0;
  Kernel k;
  k.threads = gang_for(n);
  k.run = [n, id, before](const Call& call) {
    const Slice s = call.share(n, kGrain);
    float* y = call.out(0);
    for_words(stream_of(call, op::random::seed, id, before), s.begin, s.end, [&](Lanes::Words w, int64_t e) {
      if (e + Lanes::kLanes <= s.end)
        Lanes::store(y + e, to_unit(w));
      else
        Lanes::store_part(y + e, to_unit(w), s.end - e);
    });
  };
  return k;
}

// ---- dropout ----

struct Dropout {
  int64_t n;
  int32_t dtype;
  DropoutRule rule;

  void doubles(const RandomStream& stream, int64_t at, const double* x, const double* residual, double* y,
               int64_t count) const {
    for_words(stream, at, at + count, [&](Lanes::Words w, int64_t e) {
      for (int64_t k = 0, i = e - at; k < Lanes::kLanes && i < count; ++k, ++i)
        y[i] = (static_cast<int32_t>(w[k] >> 8) >= rule.threshold ? x[i] * rule.scale : 0.0) +
               (residual ? residual[i] : 0.0);
    });
  }
  void halves(const RandomStream& stream, Slice s, const Call& call, bool has_residual) const {
    alignas(64) float x[kBlock], r[kBlock];
    const uint16_t* residual = has_residual ? call.in<uint16_t>(op::dropout::residual) : nullptr;
    for (int64_t i = s.begin; i < s.end; i += kBlock) {
      const int64_t m = std::min(kBlock, s.end - i);
      widen(dtype, call.in<uint16_t>(op::dropout::x) + i, x, m);
      if (residual) widen(dtype, residual + i, r, m);
      rule.apply(stream, i, x, residual ? r : nullptr, x, m);
      narrow(dtype, x, call.out<uint16_t>(0) + i, m);
    }
  }
  void run(const Call& call, bool has_residual) const {
    const Slice s = call.share(n, kGrain);
    const RandomStream stream = stream_of(call, op::dropout::seed, rule.id, rule.before);
    if (is_half(dtype)) return halves(stream, s, call, has_residual);
    const auto run_as = [&](auto zero, auto loop) {
      using T = decltype(zero);
      const T* residual = has_residual ? call.in<T>(op::dropout::residual) + s.begin : nullptr;
      loop(call.in<T>(op::dropout::x) + s.begin, residual, call.out<T>(0) + s.begin, s.end - s.begin);
    };
    if (dtype == TENON_F64)
      run_as(0.0,
             [&](const double* x, const double* r, double* y, int64_t c) { doubles(stream, s.begin, x, r, y, c); });
    else
      run_as(0.f,
             [&](const float* x, const float* r, float* y, int64_t c) { rule.apply(stream, s.begin, x, r, y, c); });
  }
};

plugin::Verdict accept_dropout(const NodeView& node) {
  if (node.operands() < 3 || node.operands() > 4 || !node.has(op::dropout::x))
    return refusal(node, "expected x, seed, step and perhaps a residual");
  const plugin::ValueView x = node.in(op::dropout::x);
  if (!plugin::is_float(x.dtype())) return refusal(node, std::string("no ") + plugin::dtype_name(x.dtype()));
  for (const plugin::ValueView& v : {node.out(0), node.has(op::dropout::residual) ? node.in(op::dropout::residual) : x})
    if (v.dtype() != x.dtype() || !same_shape(v, x)) return refusal(node, "x, residual and result must be of one type");
  const double rate = node.f64("rate");
  if (!(rate >= 0 && rate <= 1)) return refusal(node, "rate " + std::to_string(rate) + " is outside [0, 1]");
  return check_stream(node, op::dropout::seed);
}

Kernel make_dropout(const NodeView& node, const Env&) {
  const Dropout d{node.out(0).elements(), node.out(0).dtype(), dropout_rule_of(node)};
  const bool residual = node.has(op::dropout::residual);
  Kernel k;
  k.threads = gang_for(d.n * 2);
  k.in_place = {{op::dropout::x, 0}};
  if (residual) k.in_place.push_back({op::dropout::residual, 0});
  k.run = [d, residual](const Call& call) { d.run(call, residual); };
  return k;
}

}  // namespace

DropoutRule dropout_rule_of(const NodeView& node) {
  const double rate = node.f64("rate");
  // k 2^-24 < rate as f32 exactly where k < ceil(2^24 rate).
  return {static_cast<uint32_t>(node.i64("stream")),
          static_cast<int32_t>(std::ceil(static_cast<float>(rate) * 0x1p24f)), 1 / (1 - rate),
          draws_before(node, node.out(0).elements())};
}

template <bool kResidual>
TENON_INLINE void DropoutRule::loop(const RandomStream& stream, int64_t at, const float* x, const float* residual,
                                    float* y, int64_t count) const {
  using V = Lanes::Vector;
  constexpr int64_t kLanes = Lanes::kLanes;
  const V factor = Lanes::splat(static_cast<float>(scale));
  const auto step = [&](Lanes::Words w, V v, V r) {
    return ((Lanes::Ints)(w >> 8) >= threshold ? v * factor : V{}) + r;
  };
  Lanes::Words words[4];
  int64_t i = 0;
  for (; i + RandomStream::kDraws <= count; i += RandomStream::kDraws) {
    stream.draw(static_cast<uint32_t>((at + i) >> 2), words);
#pragma GCC unroll 4
    for (int64_t k = 0; k < 4; ++k) {
      const int64_t e = i + k * kLanes;
      Lanes::store(y + e, step(words[k], Lanes::load(x + e), kResidual ? Lanes::load(residual + e) : V{}));
    }
  }
  if (i == count) return;
  stream.draw(static_cast<uint32_t>((at + i) >> 2), words);
  for (int64_t k = 0; i < count; ++k, i += kLanes) {
    const int64_t left = std::min(kLanes, count - i);
    const Lanes::Mask m = Lanes::first(left);
    const V r = kResidual ? Lanes::load(residual + i, m) : V{};
    Lanes::store_part(y + i, step(words[k], Lanes::load(x + i, m), r), left);
  }
}

void DropoutRule::apply(const RandomStream& stream, int64_t at, const float* x, const float* residual, float* y,
                        int64_t count) const {
  residual ? loop<true>(stream, at, x, residual, y, count) : loop<false>(stream, at, x, residual, y, count);
}

void add_random(KernelTable& table) {
  table.add("random", accept_random, make_random);
  table.add("dropout", accept_dropout, make_dropout);
}

}  // namespace tenon::cpu::TENON_CPU_ISA

#include "kernels/conv/conv_work.h"

#include <cmath>

#include "kernels/dtype.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

void widen_share(const Call& call, const float* halves, int64_t n, float* to) {
  const Slice s = call.share(n, kGrain);
  if (s.begin < s.end)
    widen(TENON_BF16, reinterpret_cast<const uint16_t*>(halves) + s.begin, to + s.begin, s.end - s.begin);
}

void narrow_share(const Call& call, const float* from, int64_t n, float* halves) {
  const Slice s = call.share(n, kGrain);
  if (s.begin < s.end)
    narrow(TENON_BF16, from + s.begin, reinterpret_cast<uint16_t*>(halves) + s.begin, s.end - s.begin);
}

float* floats_at(void* scratch, uint64_t at) { return reinterpret_cast<float*>(static_cast<uint8_t*>(scratch) + at); }

uint64_t bytes_of(int64_t floats) { return static_cast<uint64_t>(floats) * sizeof(float); }

int64_t filter_elements(const ConvShape& s) { return s.taps() * s.group_c() * s.o; }

// Copies of operands and result as f32, and where they lie in scratch memory.
struct WideCopies {
  ConvWork work;
  int64_t from, weights, to;  // elements
  uint64_t from_at, weights_at, to_at, own_at;

  void run(const Call& call, const ConvData& d) const {
    const auto room = [&](uint64_t at) { return floats_at(call.scratch, at); };
    widen_share(call, d.from, from, room(from_at));
    widen_share(call, d.weights, weights, room(weights_at));
    call.barrier();
    Call inner = call;
    inner.scratch = room(own_at);
    work.run(inner, {room(from_at), room(weights_at), d.bias, nullptr, room(to_at)});
    call.barrier();
    narrow_share(call, room(to_at), to, d.to);
  }
};

}  // namespace

ColumnNorm norm_of(const Call& call, int gamma, int64_t channels, float eps, float* room) {
  const float *size = call.in(gamma), *shift = call.in(gamma + 1), *mean = call.in(gamma + 2),
              *var = call.in(gamma + 3);
  for (int64_t i = 0; i < channels; ++i) room[i] = size[i] / std::sqrt(var[i] + eps);
  return {mean, room, shift};
}

ConvWork with_wide_bias(ConvWork work, int64_t channels) {
  const uint64_t at = aligned_room(work.own_bytes);
  work.own_bytes = at + bytes_of(channels);
  work.run = [=, run = std::move(work.run)](const Call& call, const ConvData& d) {
    ConvData data = d;
    float* const bias = floats_at(call.thread_scratch, at);
    if (d.bias) widen(TENON_BF16, d.bias, bias, channels);
    if (d.bias) data.bias = bias;
    run(call, data);
  };
  return work;
}

ConvWork with_wide_copies(ConvWork work, const ConvProblem& p) {
  const ConvShape& s = p.shape;
  const auto copies = std::make_shared<WideCopies>();
  const int64_t x = s.batch * s.x_points() * s.c, y = s.batch * s.y_points() * s.o;
  copies->from = p.gradient() ? y : x;
  copies->weights = filter_elements(s);
  copies->to = p.gradient() ? x : y;
  uint64_t at = 0;
  const auto place = [&at](int64_t n) { return std::exchange(at, aligned_room(at + bytes_of(n))); };
  copies->from_at = place(copies->from);
  copies->weights_at = place(copies->weights);
  copies->to_at = place(copies->to);
  copies->own_at = at;
  copies->work = std::move(work);
  ConvWork outer = copies->work;
  outer.shared_bytes += at;
  outer.parts = 0;
  outer.run = [copies](const Call& call, const ConvData& d) { copies->run(call, d); };
  return with_wide_bias(std::move(outer), s.o);
}

ConvWork with_rounded_result(ConvWork work, const ConvProblem& p) {
  if (p.result_dtype != TENON_BF16) return work;
  const uint64_t at = aligned_room(work.shared_bytes);
  const int64_t n = filter_elements(p.shape);
  work.shared_bytes = at + bytes_of(n);
  work.run = [=, run = std::move(work.run)](const Call& call, const ConvData& d) {
    ConvData data = d;
    data.to = floats_at(call.scratch, at);
    run(call, data);
    call.barrier();
    narrow_share(call, data.to, n, d.to);
  };
  return work;
}

}  // namespace tenon::cpu::TENON_CPU_ISA

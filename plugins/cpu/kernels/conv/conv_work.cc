#include "kernels/conv/conv_work.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

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

constexpr int64_t kFloatsAtOnce = 1024 * 1024;  // of copies: a last-level cache keeps some MB

// Elements of an image of x, and of y as it is in memory.
int64_t x_image(const ConvShape& s) { return s.x_points() * s.c; }
int64_t y_image(const ConvProblem& p) {
  const ConvShape& s = p.shape;
  return p.pooled ? s.y[0] * (s.y[1] / 2) * (s.y[2] / 2) * s.o : s.y_points() * s.o;
}

// Copies of operands and result as f32 of some images at a time, and where they lie in scratch memory.
struct WideCopies {
  ConvWork some, rest;  // of `images`, and of what is left of the batch
  int64_t batch, images;
  int64_t from, to, pooled;  // elements of an image; those that have a winner
  int64_t weights;
  uint64_t from_at, weights_at, to_at, own_at;

  void run(const Call& call, const ConvData& d) const {
    const auto room = [&](uint64_t at) { return floats_at(call.scratch, at); };
    Call inner = call;
    inner.scratch = room(own_at);
    widen_share(call, d.weights, weights, room(weights_at));
    for (int64_t first = 0; first < batch; first += images) {
      const int64_t n = std::min(images, batch - first);
      widen_share(call, halves_at(d.from, first * from), n * from, room(from_at));
      call.barrier();
      ConvData data{room(from_at), room(weights_at), d.bias, nullptr, room(to_at)};
      if (d.winner) data.winner = d.winner + first * pooled;
      if (d.to_winner) data.to_winner = d.to_winner + first * pooled;
      (n == images ? some : rest).run(inner, data);
      call.barrier();
      narrow_share(call, room(to_at), n * to, halves_at(d.to, first * to));
    }
  }

  template <class T>
  static T* halves_at(T* p, int64_t i) {
    using Halves = std::conditional_t<std::is_const_v<T>, const uint16_t, uint16_t>;
    return reinterpret_cast<T*>(reinterpret_cast<Halves*>(p) + i);
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

ConvWork with_wide_copies(ConvWork (*make)(const ConvProblem&), const ConvProblem& p) {
  const ConvShape& s = p.shape;
  const auto copies = std::make_shared<WideCopies>();
  copies->pooled = y_image(p);
  copies->from = p.gradient() ? y_image(p) : x_image(s);
  copies->to = p.gradient() ? x_image(s) : y_image(p);
  copies->weights = filter_elements(s);
  copies->batch = s.batch;
  copies->images = std::clamp<int64_t>(kFloatsAtOnce / (copies->from + copies->to), 1, s.batch);
  ConvProblem part = p;
  part.shape.batch = copies->images;
  copies->some = make(part);
  part.shape.batch = s.batch % copies->images;
  if (part.shape.batch) copies->rest = make(part);
  uint64_t at = 0;
  const auto place = [&at](int64_t n) { return std::exchange(at, aligned_room(at + bytes_of(n))); };
  copies->from_at = place(copies->images * copies->from);
  copies->weights_at = place(copies->weights);
  copies->to_at = place(copies->images * copies->to);
  copies->own_at = at;
  ConvWork outer = copies->some;
  outer.shared_bytes = at + std::max(outer.shared_bytes, copies->rest.shared_bytes);
  outer.own_bytes = std::max(outer.own_bytes, copies->rest.own_bytes);
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

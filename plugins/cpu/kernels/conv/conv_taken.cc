#include "kernels/conv/conv_taken.h"

#include <memory>

#include "kernels/conv/conv_pairs.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/conv_planar.h"
#include "kernels/conv/winograd/conv_winograd.h"
#include "kernels/dtype.h"
#include "kernels/gemm/gemm.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

ConvWork product_work(const GemmShape& shape) {
  const auto gemm = std::make_shared<Gemm>(shape);
  return {gemm->threads(), gemm->scratch_bytes(), gemm->thread_scratch_bytes(), gemm->parts(),
          [gemm](const Call& call, const GatherData& d) {
            GemmData data{d.from, d.weights, d.bias, d.residual, d.to};
            data.take = d.take;
            gemm->run(call, data);
          }};
}

ConvWork float_work(const ConvShape& s, bool gradient, bool exact) {
  if (!exact && winograd_gains(s, gradient)) {
    const auto winograd = std::make_shared<Winograd>(s, gradient);
    return work_of(winograd, winograd->parts());
  }
  if (is_product(s)) {
    const int64_t points = s.batch * s.y_points();
    return product_work(gradient ? GemmShape{1, points, s.c, s.o, false, true} : GemmShape{1, points, s.o, s.c});
  }
  if (!gradient && is_strided_product(s)) {
    GemmShape product{1, s.batch * s.y_points(), s.o, s.c};
    product.a_at = points_of_x(s);
    return product_work(product);
  }
  const GatherPlan plan = gradient ? input_gradient_plan(s) : forward_plan(s);
  if (Planar::suits(plan)) return work_of(std::make_shared<Planar>(plan), 0);
  const auto gather = std::make_shared<Gather>(plan);
  // Where vectors of another width would not hand over, nobody does: sums over parts have the same bits everywhere.
  return work_of(gather, Planar::suits_somewhere(plan) ? 0 : gather->parts());
}

// Copies of operands and result as f32, and where they lie in scratch memory.
struct WideCopies {
  ConvWork work;
  int64_t from, weights, to;  // elements
  uint64_t from_at, weights_at, to_at, own_at;

  static void widen_share(const Call& call, const float* halves, int64_t n, float* to) {
    const Slice s = call.share(n, kGrain);
    if (s.begin < s.end)
      widen(TENON_BF16, reinterpret_cast<const uint16_t*>(halves) + s.begin, to + s.begin, s.end - s.begin);
  }
  void run(const Call& call, const GatherData& d) const {
    const auto room = [&](uint64_t at) { return reinterpret_cast<float*>(static_cast<uint8_t*>(call.scratch) + at); };
    widen_share(call, d.from, from, room(from_at));
    widen_share(call, d.weights, weights, room(weights_at));
    call.barrier();
    Call inner = call;
    inner.scratch = room(own_at);
    work.run(inner, {room(from_at), room(weights_at), d.bias, nullptr, room(to_at)});
    call.barrier();
    const Slice s = call.share(to, kGrain);
    if (s.begin < s.end)
      narrow(TENON_BF16, room(to_at) + s.begin, reinterpret_cast<uint16_t*>(d.to) + s.begin, s.end - s.begin);
  }
};

ConvWork copying_work(const ConvShape& s, bool gradient, bool exact) {
  const auto copies = std::make_shared<WideCopies>();
  const int64_t x = s.batch * s.x_points() * s.c, y = s.batch * s.y_points() * s.o;
  copies->work = float_work(s, gradient, exact);
  copies->from = gradient ? y : x;
  copies->weights = s.taps() * s.group_c() * s.o;
  copies->to = gradient ? x : y;
  uint64_t at = 0;
  const auto place = [&at](int64_t n) {
    return std::exchange(at, aligned_room(at + static_cast<uint64_t>(n) * sizeof(float)));
  };
  copies->from_at = place(copies->from);
  copies->weights_at = place(copies->weights);
  copies->to_at = place(copies->to);
  copies->own_at = at;
  ConvWork work = copies->work;
  work.shared_bytes += at;
  work.parts = 0;
  work.run = [copies](const Call& call, const GatherData& d) { copies->run(call, d); };
  return with_wide_bias(std::move(work), s.o);
}

// By f32 arithmetic, which is faster than pairs are: by a fifth with 16 channels, twice with 64.
bool winograd_gains_halves(const ConvShape& s, bool gradient, bool exact) {
  return !exact && !s.residual && !s.norm && s.act <= TENON_ACT_RELU && winograd_gains(s, gradient);
}

}  // namespace

ConvWork with_wide_bias(ConvWork work, int64_t channels) {
  const uint64_t at = aligned_room(work.own_bytes);
  work.own_bytes = at + static_cast<uint64_t>(channels) * sizeof(float);
  work.run = [=, run = std::move(work.run)](const Call& call, const GatherData& d) {
    GatherData data = d;
    float* const bias = reinterpret_cast<float*>(static_cast<uint8_t*>(call.thread_scratch) + at);
    if (d.bias) widen(TENON_BF16, d.bias, bias, channels);
    if (d.bias) data.bias = bias;
    run(call, data);
  };
  return work;
}

bool has_half_work(const ConvShape& s, bool gradient, bool exact) {
  return winograd_gains_halves(s, gradient, exact) || pairs_gain(s, gradient);
}

ConvWork conv_work(const ConvShape& s, bool gradient, bool exact, int32_t dtype) {
  if (dtype != TENON_BF16) return float_work(s, gradient, exact);
  if (winograd_gains_halves(s, gradient, exact)) {
    const auto winograd = std::make_shared<Winograd>(s, gradient, Winograd::Form::kHalves);
    return with_wide_bias(work_of(winograd, winograd->parts()), s.o);
  }
  return pairs_gain(s, gradient) ? pair_work(s, gradient) : copying_work(s, gradient, exact);
}

}  // namespace tenon::cpu::TENON_CPU_ISA

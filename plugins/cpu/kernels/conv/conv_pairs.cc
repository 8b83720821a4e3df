#include "kernels/conv/conv_pairs.h"

#include <algorithm>

#include "kernels/conv/conv_products.h"
#include "kernels/conv/gather/conv_filter.h"
#include "kernels/conv/gather/conv_gather.h"
#include "kernels/conv/gather/gather_plan.h"
#include "kernels/dtype.h"
#include "kernels/gemm/matmul.h"
#include "kernels/gemm/tiles/matrix_tile.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Without tiles a product makes words of all of both operands first, which gains where caches keep them.
constexpr int64_t kManyElements = 6 * 1024 * 1024;

GatherPlan pair_plan(const ConvProblem& p) {
  GatherPlan plan = gather_plan(p);
  plan.pairs = true;
  plan.tiles = has_tile_products();
  plan.from_c /= 2;
  return plan;
}

bool has_whole_words(const ConvProblem& p) { return (p.gradient() ? p.shape.o : p.shape.c) % 2 == 0; }

ConvWork flushing(ConvWork work) {
  work.run = [run = std::move(work.run)](const Call& call, const ConvData& d) {
    const FlushSubnormals here;
    run(call, d);
  };
  return work;
}

ConvProblem with_even_channels(ConvProblem p) {
  p.shape.c += p.shape.c % 2;
  return p;
}

// Copies of x and w, and where they lie in scratch memory.
struct EvenCopies {
  ConvWork work;
  int64_t points, c, taps, o;
  uint64_t weights_at, own_at;

  // Points of c + 1 channels.
  void copy_x(const Call& call, const uint16_t* from, uint16_t* to) const {
    const Slice part = call.share(points, kGrain);
    for (int64_t i = part.begin; i < part.end; ++i) {
      for (int64_t j = 0; j < c; ++j) to[i * (c + 1) + j] = from[i * c + j];
      to[i * (c + 1) + c] = 0;
    }
  }
  // Taps of c + 1 rows of o.
  void copy_weights(const Call& call, const uint16_t* from, uint16_t* to) const {
    const Slice part = call.share(taps);
    for (int64_t t = part.begin; t < part.end; ++t) {
      uint16_t* const zeros = std::copy_n(from + t * c * o, c * o, to + t * (c + 1) * o);
      std::fill_n(zeros, o, uint16_t{0});
    }
  }
  void run(const Call& call, const ConvData& d) const {
    uint8_t* const scratch = static_cast<uint8_t*>(call.scratch);
    copy_x(call, reinterpret_cast<const uint16_t*>(d.from), reinterpret_cast<uint16_t*>(scratch));
    copy_weights(call, reinterpret_cast<const uint16_t*>(d.weights), reinterpret_cast<uint16_t*>(scratch + weights_at));
    call.barrier();
    Call inner = call;
    inner.scratch = scratch + own_at;
    ConvData data = d;
    data.from = reinterpret_cast<const float*>(scratch);
    data.weights = reinterpret_cast<const float*>(scratch + weights_at);
    work.run(inner, data);
  }
};

}  // namespace

bool suits_pair_product(const ConvProblem& p) {
  const bool strided = !p.gradient() && has_whole_words(p) && is_strided_product(p.shape);
  return has_pair_products() && (is_product(p.shape) || strided);
}

ConvWork pair_product(const ConvProblem& p) {
  return product_work(pair_product_work(conv_product(p), {p.shape.bias, p.shape.residual, true, p.shape.norm}));
}

bool suits_pair_gather(const ConvProblem& p) {
  return has_pair_products() && p.shape.groups == 1 && has_whole_words(p) && Gather::is_whole(pair_plan(p));
}

ConvWork pair_gather(const ConvProblem& p) {
  const auto gather = std::make_shared<Gather>(pair_plan(p));
  return with_wide_bias(flushing(work_of<ConvData>(gather, gather->parts())), p.shape.o);
}

bool suits_pair_gather_of_odd(const ConvProblem& p) {
  constexpr int64_t kLeast = 3;  // with one of two channels zero there is nothing to gain
  return p.shape.c % 2 == 1 && p.shape.c >= kLeast && suits_pair_gather(with_even_channels(p));
}

ConvWork pair_gather_of_odd(const ConvProblem& p) {
  const ConvShape& s = p.shape;
  const auto copies = std::make_shared<EvenCopies>();
  copies->points = s.batch * s.x_points(), copies->c = s.c, copies->taps = s.taps(), copies->o = s.o;
  copies->weights_at = aligned_room(static_cast<uint64_t>(copies->points * (s.c + 1)) * sizeof(uint16_t));
  copies->own_at =
      aligned_room(copies->weights_at + static_cast<uint64_t>(s.taps() * (s.c + 1) * s.o) * sizeof(uint16_t));
  copies->work = pair_gather(with_even_channels(p));
  ConvWork outer = copies->work;
  outer.shared_bytes += copies->own_at;
  outer.run = [copies](const Call& call, const ConvData& d) { copies->run(call, d); };
  return outer;
}

bool suits_pair_filter_product(const ConvProblem& p) {
  const ConvShape& s = p.shape;
  return has_pair_products() && is_product(s) &&
         (has_tile_products() || s.batch * (s.x_points() * s.c + s.y_points() * s.o) < kManyElements);
}

ConvWork pair_filter_product(const ConvProblem& p) {
  return product_work(pair_product_work(conv_product(p), {false, false, p.result_dtype == TENON_BF16}));
}

bool suits_pair_filter(const ConvProblem& p) { return has_pair_products() && p.shape.groups == 1; }

ConvWork pair_filter(const ConvProblem& p) {
  return with_rounded_result(
      flushing(work_of<ConvData>(std::make_shared<FilterGrad>(p.shape, FilterGrad::Form::kPairs))), p);
}

}  // namespace tenon::cpu::TENON_CPU_ISA

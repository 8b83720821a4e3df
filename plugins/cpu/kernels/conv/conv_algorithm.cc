#include "kernels/conv/conv_algorithm.h"

#include "kernels/conv/conv_f64.h"
#include "kernels/conv/conv_pairs.h"
#include "kernels/conv/conv_products.h"
#include "kernels/conv/direct/conv_groups.h"
#include "kernels/conv/direct/conv_planar.h"
#include "kernels/conv/direct/conv_thin.h"
#include "kernels/conv/direct/depthwise.h"
#include "kernels/conv/gather/conv_filter.h"
#include "kernels/conv/gather/gather_plan.h"
#include "kernels/conv/pooled/conv_winners.h"
#include "kernels/conv/winograd/conv_winograd.h"
#include "kernels/conv/winograd/conv_winograd5.h"
#include "kernels/element/activation.h"
#include "kernels/gemm/tiles/matrix_tile.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// What an algorithm is asked for.
constexpr unsigned kExact = 1;     // sums in the order of the definition
constexpr unsigned kPlain = 2;     // y, or dy, as it is
constexpr unsigned kPooled = 4;    // or in its pooled form
constexpr unsigned kResidual = 8;  // forward
constexpr unsigned kNorm = 16;     // forward
constexpr unsigned kEither = kPlain | kPooled, kWhole = kResidual | kNorm;
constexpr unsigned kMaps = kForward | kInputGradient;

bool suits_all(const ConvProblem&) { return true; }

// ---- Winograd ----

ConvWork winograd(const ConvProblem& p) {
  const auto form = p.pooled ? Winograd::Form::kPooled : Winograd::Form::kPlain;
  const auto work = std::make_shared<Winograd>(p.shape, p.gradient(), form);
  return work_of<ConvData>(work, work->parts());
}

ConvWork winograd_filter(const ConvProblem& p) {
  return work_of<ConvData>(std::make_shared<WinogradFilterGrad>(p.shape));
}

bool suits_winograd5(const ConvProblem& p) { return Winograd5::suits(gather_plan(p)); }
ConvWork winograd5(const ConvProblem& p) { return work_of<ConvData>(std::make_shared<Winograd5>(gather_plan(p))); }

// By f32 arithmetic, which is faster than pairs are: by a fifth with 16 channels, twice with 64.
// Tiles are faster than either.
bool suits_half_winograd(const ConvProblem& p) {
  return !has_tile_products() && is_clip(p.shape.act) && winograd_gains(p);
}

ConvWork half_winograd(const ConvProblem& p) {
  const auto work = std::make_shared<Winograd>(p.shape, p.gradient(), Winograd::Form::kHalves);
  return with_wide_bias(work_of<ConvData>(work, work->parts()), p.shape.o);
}

// Measured: with 16 channels beside 16 pairs are faster, with 32 and 32 they take half as long again.
bool suits_half_winograd_filter(const ConvProblem& p) {
  constexpr int64_t kLeastBesidePairs = 32;
  if (has_tile_products()) return false;
  return winograd_gains(p) && (!has_pair_products() || std::min(p.shape.c, p.shape.o) >= kLeastBesidePairs);
}

ConvWork half_winograd_filter(const ConvProblem& p) {
  return with_rounded_result(work_of<ConvData>(std::make_shared<WinogradFilterGrad>(p.shape, true)), p);
}

// ---- products of matrices ----

bool suits_product(const ConvProblem& p) { return is_product(p.shape); }

// Measured: where a few channels meet a few in many points, sums of blocks of points, both of whose sides stay in cache, take
// 0.6 to 0.9 of the time of a product of matrices.
bool suits_filter_product(const ConvProblem& p) {
  constexpr int64_t kFewWeights = 32 * 1024, kManyPoints = 4096;
  const ConvShape& s = p.shape;
  return is_product(s) && (s.c * s.o > kFewWeights || s.batch * s.y_points() < kManyPoints);
}

bool suits_strided_product(const ConvProblem& p) { return is_strided_product(p.shape); }

ConvWork product(const ConvProblem& p) {
  const auto gemm = std::make_shared<Gemm>(conv_product(p));
  return product_work(work_of<GemmData>(gemm, gemm->parts()));
}

// ---- sums of taps ----

bool suits_thin(const ConvProblem& p) { return ThinPooled::suits(p.shape); }
ConvWork thin(const ConvProblem& p) { return work_of<ConvData>(std::make_shared<ThinPooled>(p.shape)); }

bool suits_planar(const ConvProblem& p) { return Planar::suits(gather_plan(p)); }
ConvWork planar(const ConvProblem& p) { return work_of<ConvData>(std::make_shared<Planar>(gather_plan(p))); }

bool suits_groups(const ConvProblem& p) {
  return p.shape.groups > 1 && p.shape.c == p.shape.o && is_narrow(p.shape.group_c());
}

ConvWork gather(const ConvProblem& p) {
  const GatherPlan plan = gather_plan(p);
  const auto work = std::make_shared<Gather>(plan);
  // Where vectors of another width would show no parts, nobody does: sums over parts have the same bits everywhere.
  return work_of<ConvData>(work, Planar::suits_somewhere(plan) ? 0 : work->parts());
}

bool suits_winners(const ConvProblem& p) { return WinnerFilterGrad::suits(p.shape); }
ConvWork winners(const ConvProblem& p) { return work_of<ConvData>(std::make_shared<WinnerFilterGrad>(p.shape)); }

ConvWork filter(const ConvProblem& p) {
  const auto form = p.pooled ? FilterGrad::Form::kPooled : FilterGrad::Form::kPlain;
  return work_of<ConvData>(std::make_shared<FilterGrad>(p.shape, form));
}

// Faster ones first. The last of f32 and of f64 suit whatever there is.
constexpr ConvAlgorithm kAlgorithms[] = {
    {"depthwise of bf16", TENON_BF16, kMaps, kExact | kPlain | kResidual, suits_depthwise, depthwise},
    {"depthwise of bf16", TENON_BF16, kFilterGradient, kExact | kPlain, suits_depthwise_filter, depthwise_filter},
    {"winograd 3x3 of bf16", TENON_BF16, kMaps, kPlain, suits_half_winograd, half_winograd},
    {"winograd 3x3 of bf16", TENON_BF16, kFilterGradient, kPlain, suits_half_winograd_filter, half_winograd_filter},
    {"gemm of pairs", TENON_BF16, kMaps, kExact | kPlain | kWhole, suits_pair_product, pair_product},
    {"implicit gemm of pairs", TENON_BF16, kMaps, kExact | kPlain, suits_pair_gather, pair_gather},
    {"implicit gemm of pairs", TENON_BF16, kForward, kExact | kPlain, suits_pair_gather_of_odd, pair_gather_of_odd},
    {"gemm of pairs", TENON_BF16, kFilterGradient, kExact | kPlain, suits_pair_filter_product, pair_filter_product},
    {"implicit gemm of pairs", TENON_BF16, kFilterGradient, kExact | kPlain, suits_pair_filter, pair_filter},

    {"depthwise", TENON_F32, kMaps, kExact | kPlain | kWhole, suits_depthwise, depthwise},
    {"depthwise", TENON_F32, kFilterGradient, kExact | kPlain, suits_depthwise_filter, depthwise_filter},
    {"winograd 3x3", TENON_F32, kMaps, kEither | kWhole, winograd_gains, winograd},
    {"winograd 3x3", TENON_F32, kFilterGradient, kPlain, winograd_gains, winograd_filter},
    {"winograd 5x5", TENON_F32, kMaps, kEither, suits_winograd5, winograd5},
    {"gemm", TENON_F32, kMaps, kExact | kPlain | kWhole, suits_product, product},
    {"gemm", TENON_F32, kFilterGradient, kExact | kPlain, suits_filter_product, product},
    {"strided gemm", TENON_F32, kForward, kExact | kPlain | kWhole, suits_strided_product, product},
    {"direct thin", TENON_F32, kForward, kExact | kPooled, suits_thin, thin},
    {"direct planar", TENON_F32, kMaps, kExact | kEither, suits_planar, planar},
    {"direct grouped", TENON_F32, kMaps, kExact | kEither | kWhole, suits_groups, gather},
    {"implicit gemm", TENON_F32, kMaps, kExact | kEither | kWhole, suits_all, gather},
    {"pool winners", TENON_F32, kFilterGradient, kExact | kPooled, suits_winners, winners},
    {"direct grouped", TENON_F32, kFilterGradient, kExact | kEither, suits_groups, filter},
    {"implicit gemm", TENON_F32, kFilterGradient, kExact | kEither, suits_all, filter},

    {"loops of f64", TENON_F64, kMaps | kFilterGradient, kExact | kPlain | kResidual, suits_all, convolution_f64},
};

// Whether an algorithm that suits any shape does all of this.
constexpr bool has_last(int32_t dtype, unsigned directions, unsigned features) {
  for (const ConvAlgorithm& a : kAlgorithms)
    if (a.dtype == dtype && a.suits == suits_all && (directions & ~a.directions) == 0 && (features & ~a.features) == 0)
      return true;
  return false;
}
// So choose_algorithm() finds one for each problem: types of 16 bits take copies of f32, residuals and norms are of the forward
// pass alone, and no pattern makes a node of f64 that pools or norms.
static_assert(has_last(TENON_F32, kMaps, kExact | kEither | kWhole), "no algorithm for any convolution of f32");
static_assert(has_last(TENON_F32, kFilterGradient, kExact | kEither), "no algorithm for any filter's gradient of f32");
static_assert(has_last(TENON_F64, kMaps | kFilterGradient, kExact | kPlain | kResidual), "no algorithm for f64");

unsigned features_of(const ConvProblem& p) {
  unsigned features = p.pooled ? kPooled : kPlain;
  if (p.exact) features |= kExact;
  if (p.shape.residual) features |= kResidual;
  if (p.shape.norm) features |= kNorm;
  return features;
}

bool computes(const ConvAlgorithm& a, const ConvProblem& p) {
  const bool by_copies = a.dtype == TENON_F32 && p.dtype != TENON_F64;
  return (a.dtype == p.dtype || by_copies) && (a.directions & p.direction) != 0 &&
         (features_of(p) & ~a.features) == 0 && a.suits(p);
}

}  // namespace

bool normalizes(const ConvAlgorithm& a) { return (kWhole & ~a.features) == 0; }

const ConvAlgorithm& choose_algorithm(const ConvProblem& p) {
  const ConvAlgorithm* a = kAlgorithms;
  while (a + 1 != std::end(kAlgorithms) && !computes(*a, p)) ++a;
  return *a;
}

}  // namespace tenon::cpu::TENON_CPU_ISA

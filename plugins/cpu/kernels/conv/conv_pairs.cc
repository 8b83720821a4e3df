#include "kernels/conv/conv_pairs.h"

#include "kernels/conv/conv_filter.h"
#include "kernels/conv/conv_gather.h"
#include "kernels/conv/conv_plan.h"
#include "kernels/conv/winograd/conv_winograd.h"
#include "kernels/dtype.h"
#include "kernels/gemm/matmul.h"
#include "kernels/pairs.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

enum class Way { kNone, kProduct, kGather };

GatherPlan pair_plan(const ConvShape& s, bool gradient) {
  GatherPlan plan = gradient ? input_gradient_plan(s) : forward_plan(s);
  plan.pairs = true;
  plan.from_c /= 2;
  return plan;
}

Way way_of(const ConvShape& s, bool gradient) {
  if (s.groups > 1 || s.norm) return Way::kNone;
  if (is_product(s)) return Way::kProduct;
  if ((gradient ? s.o : s.c) % 2 != 0) return Way::kNone;
  if (!gradient && is_strided_product(s)) return Way::kProduct;
  return !s.residual && Gather::is_whole(pair_plan(s, gradient)) ? Way::kGather : Way::kNone;
}

GemmShape product_of(const ConvShape& s, bool gradient) {
  const int64_t points = s.batch * s.y_points();
  if (gradient) return {1, points, s.c, s.o, false, true};
  GemmShape shape{1, points, s.o, s.c, false, false, s.act, static_cast<float>(s.alpha)};
  if (!is_product(s)) shape.a_at = points_of_x(s);
  return shape;
}

// Measured: with 16 channels beside 16 pairs are faster, with 32 and 32 they take half as long again.
bool winograd_gains_half_filter(const ConvShape& s, bool exact) {
  constexpr int64_t kLeastBesidePairs = 32;
  return !exact && winograd_filter_gains(s) && (!has_pair_products() || std::min(s.c, s.o) >= kLeastBesidePairs);
}

// A product makes words of all of both operands first, which gains where caches keep them.
constexpr int64_t kManyElements = 6 * 1024 * 1024;
int64_t operands_of(const ConvShape& s) { return s.batch * (s.x_points() * s.c + s.y_points() * s.o); }

struct PairFilterGrad : FilterGrad {
  explicit PairFilterGrad(const ConvShape& s) : FilterGrad(s, Form::kPairs) {}
  void run(const Call& call, const void* x, const void* dy, float* dw) const {
    const FlushSubnormals here;
    FilterGrad::run(call, x, dy, dw);
  }
};

// By either of the classes that compute it, the result rounded where it is bf16.
template <class Grad>
Kernel filter_kernel(const std::shared_ptr<Grad>& grad, const NodeView& node) {
  const bool rounds = node.out(0).dtype() == TENON_BF16;
  const int64_t size = node.out(0).elements();
  Kernel kernel = kernel_of(grad);
  const uint64_t sums_at = aligned_room(kernel.scratch_bytes);
  if (rounds) kernel.scratch_bytes = sums_at + static_cast<uint64_t>(size) * sizeof(float);
  kernel.run = [=](const Call& call) {
    float* const sums = rounds ? reinterpret_cast<float*>(static_cast<uint8_t*>(call.scratch) + sums_at) : call.out(0);
    grad->run(call, call.in<uint16_t>(0), call.in<uint16_t>(1), sums);
    if (!rounds) return;
    call.barrier();
    const Slice part = call.share(size, kGrain);
    if (part.begin < part.end)
      narrow(TENON_BF16, sums + part.begin, call.out<uint16_t>(0) + part.begin, part.end - part.begin);
  };
  return kernel;
}

}  // namespace

bool pairs_gain(const ConvShape& s, bool gradient) { return has_pair_products() && way_of(s, gradient) != Way::kNone; }
bool has_half_filter_gradient(const ConvShape& s, bool exact) {
  return winograd_gains_half_filter(s, exact) || (has_pair_products() && s.groups == 1);
}

ConvWork pair_work(const ConvShape& s, bool gradient) {
  if (way_of(s, gradient) == Way::kProduct)
    return pair_product_work(product_of(s, gradient), !gradient && s.bias, s.residual);
  const auto gather = std::make_shared<Gather>(pair_plan(s, gradient));
  ConvWork work = work_of(gather, gather->parts());
  work.run = [run = std::move(work.run)](const Call& call, const GatherData& d) {
    const FlushSubnormals here;
    run(call, d);
  };
  return with_wide_bias(std::move(work), s.o);
}

Kernel make_half_filter_gradient(const NodeView& node, const ConvShape& s, bool exact) {
  if (winograd_gains_half_filter(s, exact)) return filter_kernel(std::make_shared<WinogradFilterGrad>(s, true), node);
  if (is_product(s) && operands_of(s) < kManyElements)
    return make_pair_product(node, {1, s.c, s.o, s.batch * s.y_points(), true, false});
  return filter_kernel(std::make_shared<PairFilterGrad>(s), node);
}

}  // namespace tenon::cpu::TENON_CPU_ISA

#include "kernels/conv/conv_pairs.h"

#include "kernels/conv/conv_products.h"
#include "kernels/conv/gather/conv_filter.h"
#include "kernels/conv/gather/conv_gather.h"
#include "kernels/conv/gather/gather_plan.h"
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

}  // namespace

bool suits_pair_product(const ConvProblem& p) {
  const bool strided = !p.gradient() && has_whole_words(p) && is_strided_product(p.shape);
  return has_pair_products() && (is_product(p.shape) || strided);
}

ConvWork pair_product(const ConvProblem& p) {
  return product_work(pair_product_work(conv_product(p), {p.shape.bias, p.shape.residual, true}));
}

bool suits_pair_gather(const ConvProblem& p) {
  return has_pair_products() && p.shape.groups == 1 && has_whole_words(p) && Gather::is_whole(pair_plan(p));
}

ConvWork pair_gather(const ConvProblem& p) {
  const auto gather = std::make_shared<Gather>(pair_plan(p));
  return with_wide_bias(flushing(work_of<ConvData>(gather, gather->parts())), p.shape.o);
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

#include "kernels/conv_taken.h"

#include <memory>

#include "kernels/conv_plan.h"
#include "kernels/conv_planar.h"
#include "kernels/conv_winograd.h"
#include "kernels/gemm.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <class Work>
ConvWork sized(const Work& work, int64_t parts) {
  ConvWork w;
  w.thread_count = work->threads();
  w.shared_bytes = work->scratch_bytes();
  w.own_bytes = work->thread_scratch_bytes();
  w.parts = parts;
  return w;
}

template <class Work>
ConvWork work_of(const std::shared_ptr<Work>& work, int64_t parts) {
  ConvWork w = sized(work, parts);
  w.run = [work](const Call& call, const GatherData& d) { work->run(call, d); };
  return w;
}

ConvWork product_work(const GemmShape& shape) {
  const auto gemm = std::make_shared<Gemm>(shape);
  ConvWork w = sized(gemm, gemm->parts());
  w.run = [gemm](const Call& call, const GatherData& d) {
    GemmData data{d.from, d.weights, d.bias, d.residual, d.to};
    data.take = d.take;
    gemm->run(call, data);
  };
  return w;
}

}  // namespace

ConvWork conv_work(const ConvShape& s, bool gradient, bool exact) {
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

}  // namespace tenon::cpu::TENON_CPU_ISA

#include "kernels/conv/gather/gather_plan.h"

#include <numeric>

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

Point point(const int64_t* p) { return {{p[0], p[1], p[2]}}; }
constexpr Point kZero{{0, 0, 0}}, kOne{{1, 1, 1}};

GatherPlan plan_of(const ConvShape& s, bool gradient) {
  GatherPlan p;
  p.batch = s.batch;
  p.groups = s.groups;
  p.from_c = gradient ? s.o : s.c;
  p.to_c = gradient ? s.c : s.o;
  p.from = point(gradient ? s.y : s.x);
  p.to = point(gradient ? s.x : s.y);
  p.kernel = point(s.k);
  p.transposed = gradient;
  return p;
}

// x's points i = q stride + residue of one axis: taps t with (i + low - t dilation) divisible by the
// stride, the last first, so that they walk dy upwards.
void phase_of(const ConvShape& s, int d, int64_t residue, GatherPhase* g) {
  const int64_t stride = s.stride[d], step = stride / std::gcd(stride, s.dilation[d]);
  int64_t last = -1;
  for (int64_t t = 0; t < s.k[d]; ++t)
    if ((residue + s.low[d] - t * s.dilation[d]) % stride == 0) last = t;
  g->count[d] = ceil_div(s.x[d] - residue, stride);
  g->to_first[d] = residue;
  g->taps[d] = last < 0 ? 0 : last / step + 1;
  g->tap_first[d] = last;
  g->tap_step[d] = -step;
  g->first[d] = last < 0 ? 0 : (residue + s.low[d] - last * s.dilation[d]) / stride;
  g->step[d] = s.dilation[d] * step / stride;
}

GatherPlan forward_plan(const ConvShape& s) {
  GatherPlan p = plan_of(s, false);
  p.from_step = point(s.stride);
  p.to_step = kOne;
  p.act = s.act;
  p.alpha = static_cast<float>(s.alpha);
  GatherPhase g;
  g.count = p.to;
  g.to_first = kZero;
  for (int d = 0; d < 3; ++d) g.first[d] = -s.low[d];
  g.step = point(s.dilation);
  g.taps = p.kernel;
  g.tap_first = kZero;
  g.tap_step = kOne;
  p.phases.push_back(g);
  return p;
}

GatherPlan input_gradient_plan(const ConvShape& s) {
  GatherPlan p = plan_of(s, true);
  p.from_step = kOne;
  p.to_step = point(s.stride);
  Point r;
  GatherPhase g;
  for (r[0] = 0; r[0] < std::min(s.stride[0], s.x[0]); ++r[0])
    for (r[1] = 0; r[1] < std::min(s.stride[1], s.x[1]); ++r[1])
      for (r[2] = 0; r[2] < std::min(s.stride[2], s.x[2]); ++r[2]) {
        for (int d = 0; d < 3; ++d) phase_of(s, d, r[d], &g);
        if (g.taps.product() == 0) g.taps = kZero;
        p.phases.push_back(g);
      }
  return p;
}

}  // namespace

GatherPlan gather_plan(const ConvProblem& p) {
  GatherPlan plan = p.gradient() ? input_gradient_plan(p.shape) : forward_plan(p.shape);
  plan.pooled_to = p.pooled && !p.gradient();
  plan.pooled_from = p.pooled && p.gradient();
  return plan;
}

bool is_dense_plane(const GatherPlan& p) {
  bool dense = p.phases.size() == 1 && p.groups == 1 && p.from[0] == 1 && p.to[0] == 1 && p.kernel[0] == 1;
  for (int d = 0; d < 3 && dense; ++d) dense = p.from_step[d] == 1 && p.to_step[d] == 1 && p.phases[0].step[d] == 1;
  return dense;
}

int64_t weight_at(const GatherPlan& p, const GatherPhase& g, int64_t tap, int64_t c, int64_t o) {
  const int64_t row = g.tap_first[1] + tap / g.taps[2] * g.tap_step[1];
  const int64_t at = row * p.kernel[2] + g.tap_first[2] + tap % g.taps[2] * g.tap_step[2];
  return p.transposed ? (at * p.to_c + o) * p.from_c + c : (at * p.from_c + c) * p.to_c + o;
}

int64_t filters_together(int64_t n, int64_t most) {
  int64_t best = std::min(n, most);
  for (int64_t f = best; f >= most - 2 && f > 0; --f)
    if (round_up(n, f) < round_up(n, best)) best = f;
  return best;
}

}  // namespace tenon::cpu::TENON_CPU_ISA

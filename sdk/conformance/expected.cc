#include "conformance/expected.h"

#include <algorithm>
#include <cmath>

#include "conformance/evaluation.h"
#include "conformance/host/lowering.h"
#include "conformance/reference/error_bound.h"

namespace tenon::conformance {
namespace {

using plugin::GraphView;
using reference::Tensor;

constexpr uint64_t kSamples = 8;

// Samples are moved within `amplitude` times their bounds, so that they find the choices that turn on a last bit, and a
// backend may be `spread` times as far as any of them: in all six times what the bounds allow.
struct Margin {
  double amplitude, spread;
};
constexpr Margin kOnce{2, 3};
// Training amplifies: where gradients vanish but for rounding, Adam makes steps of full length of what is left, and two
// honest backends are apart by as much. Samples must find these places and leave room where all they say is how large.
constexpr Margin kTraining{4, 4};

void widen(Tensor& tolerance, const Tensor& base, const Tensor& sample) {
  for (size_t e = 0; e < base.f.size(); ++e) {
    const double distance = std::fabs(sample.f[e] - base.f[e]);
    if (std::isfinite(distance)) tolerance.f[e] = std::max(tolerance.f[e], distance);
  }
}

// From the farthest sample to a tolerance: a margin, and the last rounding.
void finish(Tensor& tolerance, const Tensor& base, double spread) {
  for (size_t e = 0; e < base.f.size(); ++e) {
    if (!std::isfinite(base.f[e]))
      tolerance.f[e] = 0;
    else
      tolerance.f[e] = spread * tolerance.f[e] + 2 * reference::spacing(base.dtype, base.f[e]) +
                       reference::smallest_normal(base.dtype);
  }
}

// A running sum may be taken in any order: so many ulps of the largest result more.
void allow_other_order(Expected& expected, double ulps) {
  for (size_t r = 0; r < expected.values.size() && ulps > 0; ++r) {
    const Tensor& y = expected.values[r];
    double largest = 0;
    for (double v : y.f)
      if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
    const double ulp = reference::spacing(y.dtype == TENON_F64 ? TENON_F64 : TENON_F32, largest);
    for (size_t e = 0; e < y.f.size(); ++e)
      if (std::isfinite(y.f[e])) expected.tolerances[r].f[e] += ulps * ulp;
  }
}

Expected tolerate(const Tensors& base, const std::vector<Tensors>& samples, double spread) {
  Expected out;
  out.values = base;
  for (size_t r = 0; r < base.size(); ++r) {
    Tensor tolerance = reference::zeros(TENON_F64, base[r].dims);
    for (const Tensors& sample : samples) widen(tolerance, base[r], sample[r]);
    if (!base[r].f.empty()) finish(tolerance, base[r], spread);
    out.tolerances.push_back(std::move(tolerance));
  }
  return out;
}

// The results that alias an input take its place.
void carry(const GraphView& graph, const Tensors& results, Tensors& inputs) {
  for (uint32_t r = 0; r < graph.n_results(); ++r)
    if (const uint32_t alias = graph.result(r).alias) inputs[alias - 1] = results[r];
}

bool keeps_zero_signs(const GraphView& graph) {
  for (uint32_t i = 0; i < graph.n_nodes(); ++i)
    if (!reference::keeps_zero_signs(graph.node(i))) return false;
  return true;
}

// The inputs of step k: those that are no states, anew.
void renew(const GraphView& graph, Tensors fresh, Tensors& inputs) {
  std::vector<bool> state(inputs.size());
  for (uint32_t r = 0; r < graph.n_results(); ++r)
    if (const uint32_t alias = graph.result(r).alias) state[alias - 1] = true;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!state[i]) inputs[i] = std::move(fresh[i]);
}

}  // namespace

Expected expect_of(const tenon_graph& lowered, const Tensors& inputs, bool move_inputs) {
  Evaluation evaluation(lowered);
  const Tensors base = evaluation.run(inputs);
  if (lowered.nodes.count > 1 && !evaluation.exact()) {
    std::vector<Tensors> samples;
    for (uint64_t s = 1; s <= kSamples; ++s)
      samples.push_back(evaluation.run_moved(inputs, move_inputs, kOnce.amplitude, s));
    return tolerate(base, samples, kOnce.spread);
  }
  Expected out;
  out.values = base;
  for (uint32_t r = 0; r < base.size(); ++r) out.tolerances.push_back(evaluation.tolerance(r, base[r]));
  return out;
}

Expected expect_of(const Case& c, const Tensors& inputs, int32_t precision) {
  Expected out = expect_of(*with_precision(*c.lowered.graph(), precision).graph(), inputs, !c.selects);
  allow_other_order(out, c.order);
  out.zero_signs = reference::is_primitive(c.op) && keeps_zero_signs(GraphView(*c.lowered.graph()));
  return out;
}

std::vector<Expected> expect_steps(const Case& c, uint64_t seed, int32_t precision) {
  const plugin::FlatGraph lowered = with_precision(*c.lowered.graph(), precision);
  const GraphView view(*lowered.graph());
  const Margin margin = c.kind == Case::kTraining ? kTraining : kOnce;
  Evaluation evaluation(*lowered.graph());
  std::vector<Tensors> inputs(kSamples + 1, inputs_of(c, seed));  // of the exact run, then of each sample
  std::vector<Expected> out;
  for (uint32_t k = 0; k < c.steps; ++k) {
    for (Tensors& in : inputs) renew(view, inputs_of(c, seed, k), in);
    const Tensors base = evaluation.run(inputs[0]);
    carry(view, base, inputs[0]);
    std::vector<Tensors> samples;
    for (uint64_t s = 1; s <= kSamples; ++s) {
      samples.push_back(evaluation.run_moved(inputs[s], !c.selects, margin.amplitude, s + k * (kSamples + 1)));
      carry(view, samples.back(), inputs[s]);
    }
    out.push_back(tolerate(base, samples, margin.spread));
    allow_other_order(out.back(), c.order);
  }
  return out;
}

Tensors inputs_of(const Case& c, uint64_t seed, uint64_t step) {
  const GraphView view(*c.lowered.graph());
  expect(c.inputs.size() == view.n_inputs(), "the case has " + std::to_string(c.inputs.size()) + " fills, its graph " +
                                                 std::to_string(view.n_inputs()) + " inputs");
  Tensors inputs;
  for (uint32_t i = 0; i < view.n_inputs(); ++i) {
    Fill fill = c.inputs[i];
    fill.seed += (seed - 1) * 0xd1342543de82ef95u;
    const plugin::ValueView value = view.value(view.input(i).value);
    inputs.push_back(make_tensor(value.dtype(), value.dims().vec(), fill, step));
  }
  return inputs;
}

void expect_close(const Tensors& found, const Expected& expected) {
  const size_t n = expected.values.size();
  expect(found.size() == n, std::to_string(found.size()) + " results, expected " + std::to_string(n));
  for (size_t r = 0; r < n; ++r) {
    const std::string wrong =
        reference::mismatch(found[r], expected.values[r], expected.tolerances[r], expected.zero_signs);
    if (!wrong.empty())
      fail((n > 1 ? "result " + std::to_string(r + 1) + " of " + std::to_string(n) + " " : "") + wrong);
  }
}

}  // namespace tenon::conformance

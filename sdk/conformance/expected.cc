#include "conformance/expected.h"

#include <algorithm>
#include <cmath>

#include "conformance/lowering.h"
#include "conformance/reference/error_bound.h"

namespace tenon::conformance {
namespace {

using plugin::GraphView;
using plugin::NodeView;
using reference::Tensor;
using Tensors = std::vector<Tensor>;

constexpr uint64_t kSamples = 8;
constexpr double kSpread = 6;  // how much farther than any sample a backend may be

// splitmix64: the same numbers everywhere.
double uniform(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// Evaluates one graph as it is, and again with each node's floats moved within the bounds found the first time.
class Evaluation {
 public:
  explicit Evaluation(const tenon_graph& graph)
      : graph_(graph), last_use_(graph_.n_values(), 0), decides_(graph_.n_values()), bounds_(graph_.n_values()) {
    for (uint32_t i = graph_.n_nodes(); i-- > 0;) mark_decisions(graph_.node(i));
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i)
      for (int k = 0; k < graph_.node(i).operands(); ++k)
        if (graph_.node(i).has(k)) last_use_[graph_.node(i).operand_id(k)] = i + 1;
    for (uint32_t r = 0; r < graph_.n_results(); ++r) last_use_[graph_.result(r).value] = UINT32_MAX;
  }

  // The results; keeps each value's bound.
  Tensors run(const Tensors& inputs) { return walk(inputs, 0); }
  // The results with everything moved; after run. seed > 0.
  Tensors run_moved(Tensors inputs, bool move_inputs, uint64_t seed) {
    for (size_t i = 0; i < inputs.size() && move_inputs; ++i) move_input(inputs[i], seed + i * 7919);
    return walk(inputs, seed);
  }

  // After run: whether no node may err.
  bool exact() const {
    return std::all_of(bounds_.begin(), bounds_.end(), [](const Tensor& b) { return b.f.empty(); });
  }
  // After run: how far result r may be from its value, where its node is the only one.
  Tensor tolerance(uint32_t r, const Tensor& value) const {
    const Tensor& bound = bounds_[graph_.result(r).value];
    return bound.f.empty() ? reference::zeros(TENON_F64, value.dims) : bound;
  }

 private:
  Tensors walk(const Tensors& inputs, uint64_t seed) {
    expect(inputs.size() == graph_.n_inputs(), "the graph has " + std::to_string(graph_.n_inputs()) + " inputs, given " + std::to_string(inputs.size()));
    Tensors values(graph_.n_values());
    for (uint32_t i = 0; i < graph_.n_inputs(); ++i) values[graph_.input(i).value] = inputs[i];
    for (uint32_t i = 0; i < graph_.n_constants(); ++i) values[graph_.constant(i).value] = constant(graph_.constant(i));
    for (uint32_t i = 0; i < graph_.n_nodes(); ++i) step(graph_.node(i), values, seed);
    Tensors results;
    for (uint32_t r = 0; r < graph_.n_results(); ++r) results.push_back(values[graph_.result(r).value]);
    return results;
  }

  Tensor constant(const tenon_constant& c) const {
    const plugin::ValueView value = graph_.value(c.value);
    std::vector<uint8_t> bytes(static_cast<size_t>(value.bytes()));
    for (size_t at = 0; at < bytes.size(); ++at) bytes[at] = graph_.constant_data(c)[at % c.bytes];
    return reference::from_bytes(value.dtype(), value.dims().vec(), bytes.data());
  }

  // Within half an ulp of f32: what a backend may lose that keeps an input in another form.
  static void move_input(Tensor& x, uint64_t seed) {
    const int32_t dtype = x.dtype == TENON_F64 ? TENON_F64 : TENON_F32;
    for (double& v : x.f)
      if (std::isfinite(v) && v != 0) v += reference::spacing(dtype, v) * (uniform(seed) - 0.5);
  }

  void step(const NodeView& node, Tensors& values, uint64_t seed) {
    std::vector<const Tensor*> in;
    for (int k = 0; k < node.operands(); ++k) in.push_back(node.has(k) ? &values[node.operand_id(k)] : nullptr);
    Tensors out;
    const std::string wrong = reference::evaluate_node(node, in, out);
    if (!wrong.empty()) fail("the reference cannot evaluate " + wrong);
    for (int k = 0; k < node.results(); ++k) {
      if (!node.has_result(k)) continue;
      Tensor& y = out[static_cast<size_t>(k)];
      // Moved values lie between the dtype's: rounding them would part what is equal, a maximum and the element it is of.
      if (seed == 0) keep_bound(node, in, out, k);
      else move(y, bounds_[node.result_id(k)], seed * 1000003 + node.index() + static_cast<uint64_t>(k) * 101);
    }
    for (int k = 0; k < node.operands(); ++k)
      if (node.has(k) && last_use_[node.operand_id(k)] == node.index() + 1) values[node.operand_id(k)] = {};
    for (int k = 0; k < node.results(); ++k)
      if (node.has_result(k)) values[node.result_id(k)] = std::move(out[static_cast<size_t>(k)]);
  }

  // Rounds result k and keeps its bound; one of nothing but zeros is kept empty.
  void keep_bound(const NodeView& node, const std::vector<const Tensor*>& in, Tensors& out, int result) {
    Tensor& y = out[static_cast<size_t>(result)];
    const std::vector<double> exact = y.f;
    reference::round_to_dtype(y);
    Tensor bound = reference::bound(node, in, out, result);
    if (graph_.n_nodes() > 1) adapt(node, exact, y, bound);
    const bool any = std::any_of(bound.f.begin(), bound.f.end(), [](double b) { return b != 0; });
    bounds_[node.result_id(result)] = any && !y.f.empty() ? std::move(bound) : Tensor();
  }

  // What a choice depends on: floor, round, comparison and conversion to integers of it, or of what comes from it.
  void mark_decisions(const NodeView& node) {
    const std::string_view op = node.op();
    bool decides = op == "floor" || op == "round" || op == "compare" || op == "sort" || (op == "cast" && !plugin::is_float(node.out(0).dtype()));
    for (int k = 0; k < node.results(); ++k) decides |= node.has_result(k) && decides_[node.result_id(k)];
    for (int k = 0; k < node.operands() && decides; ++k)
      if (node.has(k)) decides_[node.operand_id(k)] = true;
  }

  // Among other nodes. A cast to a narrower float may be off by its rounding, which a kernel of the whole leaves out. A
  // sum, difference or product that the dtype holds exactly is not off at all, being the nearest number to the exact
  // one: positions of pixels stay where they are. What decides nothing may be summed in another order.
  void adapt(const NodeView& node, const std::vector<double>& exact, const Tensor& y, Tensor& bound) const {
    const std::string_view op = node.op();
    const bool nearest = (op == "add" || op == "sub" || op == "mul") && y.dtype != TENON_F64 && decides_[node.result_id(0)];
    const bool narrows = op == "cast" && plugin::is_float(node.in(0).dtype()) &&
                         plugin::dtype_bytes(y.dtype) < plugin::dtype_bytes(node.in(0).dtype());
    for (size_t e = 0; e < y.f.size() && (nearest || narrows); ++e) {
      if (nearest && exact[e] == y.f[e]) bound.f[e] = 0;
      if (narrows && exact[e] != y.f[e] && std::isfinite(y.f[e])) bound.f[e] += reference::spacing(y.dtype, y.f[e]) / 2;
    }
  }

  static void move(Tensor& y, const Tensor& bound, uint64_t seed) {
    for (size_t e = 0; e < bound.f.size(); ++e)
      if (std::isfinite(y.f[e])) y.f[e] = moved(y.dtype, y.f[e], bound.f[e], 2 * uniform(seed) - 1);
  }

  // y within its bound, u in [-1, 1). What the bound allows because subnormals may flush moves toward 0 alone: never
  // past it, where roots and comparisons with 0 change, and never away from 0 itself.
  static double moved(int32_t dtype, double y, double bound, double u) {
    const double normal = reference::smallest_normal(dtype);
    const double flushed_terms = std::ldexp(reference::smallest_normal(dtype == TENON_F64 ? TENON_F64 : TENON_F32), 20);
    if (y != 0 && std::fabs(y) <= normal) {
      y *= (1 + u) / 2;
      bound -= normal;
    }
    return bound <= flushed_terms ? y : y + bound * u;
  }

  GraphView graph_;
  std::vector<uint32_t> last_use_;  // 1 + the last node that reads a value
  std::vector<bool> decides_;       // each value
  Tensors bounds_;                  // of each value, empty where it is exact
};

void widen(Tensor& tolerance, const Tensor& base, const Tensor& sample) {
  for (size_t e = 0; e < base.f.size(); ++e) {
    const double distance = std::fabs(sample.f[e] - base.f[e]);
    if (std::isfinite(distance)) tolerance.f[e] = std::max(tolerance.f[e], distance);
  }
}

// From the farthest sample to a tolerance: a margin, and the last rounding.
void finish(Tensor& tolerance, const Tensor& base) {
  for (size_t e = 0; e < base.f.size(); ++e) {
    if (!std::isfinite(base.f[e])) tolerance.f[e] = 0;
    else tolerance.f[e] = kSpread * tolerance.f[e] + 2 * reference::spacing(base.dtype, base.f[e]) + reference::smallest_normal(base.dtype);
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

Expected tolerate(const Tensors& base, const std::vector<Tensors>& samples) {
  Expected out;
  out.values = base;
  for (size_t r = 0; r < base.size(); ++r) {
    Tensor tolerance = reference::zeros(TENON_F64, base[r].dims);
    for (const Tensors& sample : samples) widen(tolerance, base[r], sample[r]);
    if (!base[r].f.empty()) finish(tolerance, base[r]);
    out.tolerances.push_back(std::move(tolerance));
  }
  return out;
}

// The results that alias an input take its place.
void carry(const GraphView& graph, const Tensors& results, Tensors& inputs) {
  for (uint32_t r = 0; r < graph.n_results(); ++r)
    if (const uint32_t alias = graph.result(r).alias) inputs[alias - 1] = results[r];
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
    for (uint64_t s = 1; s <= kSamples; ++s) samples.push_back(evaluation.run_moved(inputs, move_inputs, s));
    return tolerate(base, samples);
  }
  Expected out;
  out.values = base;
  for (uint32_t r = 0; r < base.size(); ++r) out.tolerances.push_back(evaluation.tolerance(r, base[r]));
  return out;
}

Expected expect_of(const Case& c, const Tensors& inputs, int32_t precision) {
  Expected out = expect_of(*with_precision(*c.lowered.graph(), precision).graph(), inputs, !c.selects);
  allow_other_order(out, c.order);
  return out;
}

std::vector<Expected> expect_steps(const Case& c, uint64_t seed, int32_t precision) {
  const plugin::FlatGraph lowered = with_precision(*c.lowered.graph(), precision);
  const GraphView view(*lowered.graph());
  Evaluation evaluation(*lowered.graph());
  std::vector<Tensors> inputs(kSamples + 1, inputs_of(c, seed));  // of the exact run, then of each sample
  std::vector<Expected> out;
  for (uint32_t k = 0; k < c.steps; ++k) {
    for (Tensors& in : inputs) renew(view, inputs_of(c, seed, k), in);
    const Tensors base = evaluation.run(inputs[0]);
    carry(view, base, inputs[0]);
    std::vector<Tensors> samples;
    for (uint64_t s = 1; s <= kSamples; ++s) {
      samples.push_back(evaluation.run_moved(inputs[s], !c.selects, s + k * (kSamples + 1)));
      carry(view, samples.back(), inputs[s]);
    }
    out.push_back(tolerate(base, samples));
    allow_other_order(out.back(), c.order);
  }
  return out;
}

Tensors inputs_of(const Case& c, uint64_t seed, uint64_t step) {
  const GraphView view(*c.lowered.graph());
  expect(c.inputs.size() == view.n_inputs(), "the case has " + std::to_string(c.inputs.size()) + " fills, its graph " + std::to_string(view.n_inputs()) + " inputs");
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
    const std::string wrong = reference::mismatch(found[r], expected.values[r], expected.tolerances[r]);
    if (!wrong.empty()) fail((n > 1 ? "result " + std::to_string(r + 1) + " of " + std::to_string(n) + " " : "") + wrong);
  }
}

}  // namespace tenon::conformance

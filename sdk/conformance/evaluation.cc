#include "conformance/evaluation.h"

#include <algorithm>
#include <cmath>

#include "conformance/host/subject.h"
#include "conformance/reference/error_bound.h"

namespace tenon::conformance {
namespace {

using plugin::NodeView;
using reference::Tensor;

// splitmix64: the same numbers everywhere.
double uniform(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

int32_t compute_dtype(int32_t dtype) { return dtype == TENON_F64 ? TENON_F64 : TENON_F32; }

// Within half an ulp of f32: what a backend may lose that keeps an input in another form.
void move_input(Tensor& x, double amplitude, uint64_t seed) {
  for (double& v : x.f)
    if (std::isfinite(v) && v != 0)
      v += amplitude * reference::spacing(compute_dtype(x.dtype), v) * (uniform(seed) - 0.5);
}

// y within its bound, u in [-1, 1). What the bound allows because subnormals may flush moves toward 0 alone: never past
// it, where roots and comparisons with 0 change, and never away from 0 itself.
double moved(int32_t dtype, double y, double bound, double amplitude, double u) {
  const double normal = reference::smallest_normal(dtype);
  const double flushed_terms = std::ldexp(reference::smallest_normal(compute_dtype(dtype)), 20);
  if (y != 0 && std::fabs(y) <= normal) {
    y *= (1 + u) / 2;
    bound -= normal;
  }
  return bound <= flushed_terms ? y : y + amplitude * bound * u;
}

bool is_float_cast(const NodeView& node) {
  return node.op() == "cast" && plugin::is_float(node.in(0).dtype()) && plugin::is_float(node.out(0).dtype());
}

}  // namespace

Evaluation::Evaluation(const tenon_graph& graph)
    : graph_(graph), last_use_(graph_.n_values(), 0), decides_(graph_.n_values()), bounds_(graph_.n_values()) {
  for (uint32_t i = 0; i < graph_.n_nodes(); ++i)
    for (int k = 0; k < graph_.node(i).operands(); ++k)
      if (graph_.node(i).has(k)) last_use_[graph_.node(i).operand_id(k)] = i + 1;
  for (uint32_t r = 0; r < graph_.n_results(); ++r) last_use_[graph_.result(r).value] = UINT32_MAX;
  for (uint32_t i = graph_.n_nodes(); i-- > 0;) mark_decisions(graph_.node(i));
}

Tensors Evaluation::run_moved(Tensors inputs, bool move_inputs, double amplitude, uint64_t seed) {
  amplitude_ = amplitude;
  for (size_t i = 0; i < inputs.size() && move_inputs; ++i) move_input(inputs[i], amplitude, seed + i * 7919);
  return walk(inputs, seed);
}

bool Evaluation::exact() const {
  return std::all_of(bounds_.begin(), bounds_.end(), [](const Tensor& b) { return b.f.empty(); });
}

Tensor Evaluation::tolerance(uint32_t r, const Tensor& value) const {
  const Tensor& bound = bounds_[graph_.result(r).value];
  return bound.f.empty() ? reference::zeros(TENON_F64, value.dims) : bound;
}

// A choice depends on what is rounded to integers or compared, and on what that comes from.
void Evaluation::mark_decisions(const NodeView& node) {
  const std::string_view op = node.op();
  bool decides = op == "floor" || op == "round" || op == "compare" || op == "sort" ||
                 (op == "cast" && !plugin::is_float(node.out(0).dtype()));
  for (int k = 0; k < node.results(); ++k) decides |= node.has_result(k) && decides_[node.result_id(k)];
  for (int k = 0; k < node.operands() && decides; ++k)
    if (node.has(k)) decides_[node.operand_id(k)] = true;
}

Tensors Evaluation::walk(const Tensors& inputs, uint64_t seed) {
  expect(inputs.size() == graph_.n_inputs(),
         "the graph has " + std::to_string(graph_.n_inputs()) + " inputs, given " + std::to_string(inputs.size()));
  Tensors values(graph_.n_values());
  for (uint32_t i = 0; i < graph_.n_inputs(); ++i) values[graph_.input(i).value] = inputs[i];
  for (uint32_t i = 0; i < graph_.n_constants(); ++i) values[graph_.constant(i).value] = constant(graph_.constant(i));
  for (uint32_t i = 0; i < graph_.n_nodes(); ++i) step(graph_.node(i), values, seed);
  Tensors results;
  for (uint32_t r = 0; r < graph_.n_results(); ++r) results.push_back(values[graph_.result(r).value]);
  return results;
}

Tensor Evaluation::constant(const tenon_constant& c) const {
  const plugin::ValueView value = graph_.value(c.value);
  std::vector<uint8_t> bytes(static_cast<size_t>(value.bytes()));
  for (size_t at = 0; at < bytes.size(); ++at) bytes[at] = graph_.constant_data(c)[at % c.bytes];
  return reference::from_bytes(value.dtype(), value.dims().vec(), bytes.data());
}

void Evaluation::step(const NodeView& node, Tensors& values, uint64_t seed) {
  Operands in;
  for (int k = 0; k < node.operands(); ++k) in.push_back(node.has(k) ? &values[node.operand_id(k)] : nullptr);
  Tensors out;
  const std::string wrong = reference::evaluate_node(node, in, out);
  if (!wrong.empty()) fail("the reference cannot evaluate " + wrong);
  for (int k = 0; k < node.results(); ++k) {
    if (!node.has_result(k)) continue;
    // Moved values lie between the dtype's: rounding them would part what is equal, a maximum and the element it is of.
    if (seed == 0)
      keep_bound(node, in, out, k);
    else
      move(out[static_cast<size_t>(k)], moved_bound(node, in, out, k),
           seed * 1000003 + node.index() + static_cast<uint64_t>(k) * 101);
  }
  for (int k = 0; k < node.operands(); ++k)
    if (node.has(k) && last_use_[node.operand_id(k)] == node.index() + 1) values[node.operand_id(k)] = {};
  for (int k = 0; k < node.results(); ++k)
    if (node.has_result(k)) values[node.result_id(k)] = std::move(out[static_cast<size_t>(k)]);
}

// Rounds result k and keeps its bound; one of nothing but zeros is kept empty.
void Evaluation::keep_bound(const NodeView& node, const Operands& in, Tensors& out, int result) {
  Tensor& y = out[static_cast<size_t>(result)];
  const std::vector<double> exact = y.f;
  reference::round_to_dtype(y);
  Tensor bound = reference::bound(node, in, out, result);
  if (graph_.n_nodes() > 1) adapt(node, exact, y, bound);
  const bool any = std::any_of(bound.f.begin(), bound.f.end(), [](double b) { return b != 0; });
  bounds_[node.result_id(result)] = any && !y.f.empty() ? std::move(bound) : Tensor();
}

// Among other nodes. A cast to a narrower float may be off by its rounding, which a kernel of the whole leaves out. A sum,
// difference or product that the dtype holds exactly is not off at all, being the nearest number to the exact one:
// positions of pixels stay where they are. What decides nothing may be summed in another order.
void Evaluation::adapt(const NodeView& node, const std::vector<double>& exact, const Tensor& y, Tensor& bound) const {
  const std::string_view op = node.op();
  const bool nearest =
      (op == "add" || op == "sub" || op == "mul") && y.dtype != TENON_F64 && decides_[node.result_id(0)];
  const bool narrows = is_float_cast(node) && plugin::dtype_bytes(y.dtype) < plugin::dtype_bytes(node.in(0).dtype());
  for (size_t e = 0; e < y.f.size() && (nearest || narrows); ++e) {
    if (nearest && exact[e] == y.f[e]) bound.f[e] = 0;
    if (narrows && exact[e] != y.f[e] && std::isfinite(y.f[e])) bound.f[e] += reference::spacing(y.dtype, y.f[e]) / 2;
  }
}

// The bound of a moved result. Of sums it is the one kept, which is dear to find again; of a single element it follows its
// size, lest what has become small be moved past zero.
Tensor Evaluation::moved_bound(const NodeView& node, const Operands& in, const Tensors& out, int result) const {
  const Tensor& kept = bounds_[node.result_id(result)];
  const std::string_view op = node.op();
  if (kept.f.empty() || op == "dot" || op.substr(0, 4) == "conv" || op == "reduce" || op == "scatter" || op == "cast")
    return kept;
  Tensor bound = reference::bound(node, in, out, result);
  for (size_t e = 0; e < bound.f.size(); ++e)
    if (kept.f[e] == 0) bound.f[e] = 0;
  return bound;
}

void Evaluation::move(Tensor& y, const Tensor& bound, uint64_t seed) const {
  for (size_t e = 0; e < bound.f.size(); ++e)
    if (std::isfinite(y.f[e])) y.f[e] = moved(y.dtype, y.f[e], bound.f[e], amplitude_, 2 * uniform(seed) - 1);
}

}  // namespace tenon::conformance

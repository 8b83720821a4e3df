// The reference, evaluated as it is and with every number moved within its bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/reference/reference.h"

namespace tenon::conformance {

using Tensors = std::vector<reference::Tensor>;

// Evaluates one graph of primitives, which must live as long. Throws Failure where the reference cannot.
class Evaluation {
 public:
  explicit Evaluation(const tenon_graph& graph);

  // The results; keeps each value's bound.
  Tensors run(const Tensors& inputs) { return walk(inputs, 0); }
  // After run: the results with each node's floats moved at random within `amplitude` times their bounds and, with
  // move_inputs, the inputs within as many times half an ulp of f32. seed > 0.
  Tensors run_moved(Tensors inputs, bool move_inputs, double amplitude, uint64_t seed);

  // After run: whether no node may err.
  bool exact() const;
  // After run: the bound of result r, whose value is given.
  reference::Tensor tolerance(uint32_t r, const reference::Tensor& value) const;

 private:
  using Operands = std::vector<const reference::Tensor*>;

  void mark_decisions(const plugin::NodeView& node);
  Tensors walk(const Tensors& inputs, uint64_t seed);
  reference::Tensor constant(const tenon_constant& c) const;
  void step(const plugin::NodeView& node, Tensors& values, uint64_t seed);
  void keep_bound(const plugin::NodeView& node, const Operands& in, Tensors& out, int result);
  void adapt(const plugin::NodeView& node, const std::vector<double>& exact, const reference::Tensor& y,
             reference::Tensor& bound) const;
  reference::Tensor moved_bound(const plugin::NodeView& node, const Operands& in, const Tensors& out, int result) const;
  void move(reference::Tensor& y, const reference::Tensor& bound, uint64_t seed) const;

  plugin::GraphView graph_;
  std::vector<uint32_t> last_use_;  // 1 + the last node that reads a value
  std::vector<bool> decides_;       // each value: whether a choice depends on it
  Tensors bounds_;                  // of each value, empty where it is exact
  double amplitude_ = 1;
};

}  // namespace tenon::conformance

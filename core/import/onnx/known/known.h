// Numbers that are known while a function is traced: constants, shapes, and what arithmetic makes of them.
//
// Rules are written once, with ops; where one needs numbers (the target of a Reshape) the nodes that give them are computed here,
// on the host. What depends on what only a running step knows is an error that names it.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "graph/graph.h"
#include "tenon/array.h"

namespace tenon::onnx {

class Known {
 public:
  // What an input of the graph holds, where that is known: a weight's first value.
  using OfInput = std::function<const Array*(ValueId value)>;
  Known(const Graph& graph, OfInput of_input) : graph_(graph), of_input_(std::move(of_input)) {}

  // The numbers, or nullptr and `why()`. Small ones alone: up to 2^20 elements.
  const Array* find(ValueId value);
  // Why the last find() found nothing: the input that it depends on, or the op that the host cannot do.
  const std::string& input() const { return input_; }
  const std::string& op() const { return op_; }

 private:
  bool compute(ValueId value);
  const Array* held(ValueId value) const;
  const Array* refuse(const std::string& op);

  const Graph& graph_;
  OfInput of_input_;
  std::unordered_map<ValueId, Array> values_;
  int64_t elements_ = 0;  // that are held
  std::string input_, op_;
};

}  // namespace tenon::onnx

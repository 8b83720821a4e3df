// A tensor of a model that is being built: a handle to a value of a graph.
//
// Nothing is computed while a model is built: operations add nodes to the graph, and each checks its
// operands at once (it throws tenon::Error naming the op, what was expected and what was found). A
// Tensor is a small value; it is valid while its function is traced, and to use one that was kept for longer throws
// Error. A graph is built by one thread at a time: so are all functions that take tensors (ops.h, layers.h,
// losses.h, metrics.h, optimizers.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/types.h"

namespace tenon {

class Graph;

class Tensor {
 public:
  Tensor() = default;
  Tensor(Graph* graph, int32_t id);

  // False for an absent optional operand.
  explicit operator bool() const { return graph_ != nullptr; }
  // What an absent one is, for messages: "a tensor that was never set", or the gradient that there is not.
  std::string absence() const;
  // Throws Error where is_left_over().
  Graph* graph() const;
  // Whether it was kept for longer than its function was traced.
  bool is_left_over() const;
  // False for one of a graph that lay where this one lies.
  bool is_of(const Graph& graph) const;
  int32_t id() const { return id_; }

  const Type& type() const;
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }
  int rank() const { return shape().rank(); }
  int64_t dim(int axis) const { return shape()[axis]; }
  int64_t elements() const { return shape().elements(); }

  bool operator==(const Tensor&) const = default;

 private:
  friend std::vector<Tensor> gradients(Tensor loss, const std::vector<Tensor>& by);
  Graph* graph_ = nullptr;
  uint64_t serial_ = 0;  // of the graph
  int32_t id_ = -1;
};

using Tensors = std::vector<Tensor>;

}  // namespace tenon

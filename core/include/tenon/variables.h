// Variables of a model: weights, running statistics, counters.
//
// A variable is a state of the device with a name, a first value and, if anything assigns one, a next
// value that the step computes. All functions throw tenon::Error.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tenon/initializer.h"
#include "tenon/tensor.h"

namespace tenon {

// A variable of the graph that `like` belongs to: its current value. Name "NAME" under the current scope. Without a
// dtype it has that of the model's dtype policy. A layer object that is called again gets the one that it has; it asks
// for each once in a call.
Tensor variable(Tensor like, std::string_view name, const Shape& shape, Initializer initializer, bool trainable = true,
                DType dtype = DType::kNone);
// Sets the value that a variable has after the step (a moving average, a counter). Assigned again, it has the last one.
void assign(Tensor variable, Tensor next);
// What the variable was assigned last in this function, else the value it came with. No gradient flows through an
// assignment; gradients() by a variable are those by all values that it was read as.
Tensor current(Tensor variable);
// Adds a term to the loss that minimize() sees (regularizers do).
void add_loss(Tensor term);
// The sum of all such terms of the graph; empty when there is none.
Tensor added_losses(const Graph& graph);

// What the function that has this tensor is traced for: layers drop and take moments of batches only while training.
Mode mode_of(Tensor like);
// Whether the layer that is being called is frozen (Layer::set_trainable): its variables are not trained.
bool is_frozen(Tensor like);

// The dtype that the layers of this model compute in: f32, or bf16 where params["dtype_policy"] is "mixed_bfloat16" or
// "bfloat16", f16 where it is "mixed_float16". Layers cast variables to their input's dtype; embeddings give this one.
DType compute_dtype(Tensor like);
// The dtype of its variables: f32, or bf16 under "bfloat16".
DType variable_dtype(Tensor like);

// Names of what is built while it lives go under NAME/.
class Scope {
 public:
  Scope(Tensor like, std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Graph* graph_;
  std::string saved_;
};

// The number of updates done before this step, i64 scalar: the variable "global_step".
Tensor global_step(Graph& graph);

// What random ops are keyed by beside the seed, i64 scalar, another in each step: global_step in an Estimator's model;
// in a Strategy's functions the variable "draws", which counts the steps that drew, as they may have several optimizers
// or none.
Tensor draw_step(Graph& graph);

// The seed that random ops are keyed by, i64 scalar: given to each run, never stored.
Tensor seed_input(Graph& graph);

}  // namespace tenon

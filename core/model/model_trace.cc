#include "model/model_trace.h"

#include <algorithm>

#include "base/text.h"
#include "graph/graph.h"
#include "tenon/ops.h"

namespace tenon {
namespace {

std::vector<TraceInput> inputs_of(const std::vector<Type>& examples, int64_t rows) {
  std::vector<TraceInput> out;
  for (size_t i = 0; i < examples.size(); ++i) {
    std::vector<int64_t> dims = examples[i].shape.vec();
    dims.insert(dims.begin(), rows);
    out.push_back({cat("x_", i), {examples[i].dtype, Shape(dims)}, true});
  }
  return out;
}

void note_weights(const Model& model, ModelTrace* out) {
  for (const Tensor& v : model.variables()) {
    const Graph& graph = *v.graph();
    const Variable& variable = graph.variables[static_cast<size_t>(graph.variable_of(v.id()))];
    out->weights[variable.name] = {v.type(), variable.trainable};
    out->order.push_back(variable.name);
  }
}

// With batches of so many rows on each unit.
std::vector<LayerCall> trace_once(Model& model, const std::vector<Type>& examples, int64_t rows,
                                  const TraceOptions& options, ModelTrace* out) {
  std::vector<LayerCall> calls;
  const TensorFunction call = [&](const Features& in) {
    Tensors xs;
    for (size_t i = 0; i < examples.size(); ++i) {
      const Tensor x = in[cat("x_", i)];
      xs.push_back(is_float(x.dtype()) ? cast(x, x.graph()->compute_dtype) : x);
    }
    const NotedCalls noted(&calls);
    Outputs results;
    for (const Tensor& y : model.all(xs))
      results.add(cat("y_", results.all().size()), {y, ResultMode::kLast, Joining::kRows});
    *out = {};
    note_weights(model, out);
    return results;
  };
  Trace traced = trace(call, inputs_of(examples, rows), options).take();
  out->graph = std::move(traced.graph);
  return calls;
}

// Dimensions that differ between two sizes of the batch are those of the batch.
std::vector<int64_t> shape_of(const Shape& a, const Shape* b) {
  std::vector<int64_t> dims = a.vec();
  for (size_t i = 0; i < dims.size(); ++i)
    if (!b || b->rank() != a.rank() || (*b)[static_cast<int>(i)] != dims[i]) dims[i] = kUnknownSize;
  return dims;
}

}  // namespace

ModelTrace trace_model(Model& model, const std::vector<Type>& examples, const TraceOptions& options) {
  ModelTrace out;
  const std::vector<LayerCall> larger = trace_once(model, examples, 3, options, &out);
  const std::vector<LayerCall> calls = trace_once(model, examples, 2, options, &out);
  for (size_t i = 0; i < calls.size(); ++i) {
    const LayerCall& call = calls[i];
    out.layers.push_back({call.name, call.class_name, call.depth, {}, call.variables, call.trainable});
    for (size_t r = 0; r < call.results.size(); ++r) {
      const bool both = i < larger.size() && r < larger[i].results.size();
      out.layers.back().shapes.push_back(shape_of(call.results[r].shape, both ? &larger[i].results[r].shape : nullptr));
    }
  }
  return out;
}

}  // namespace tenon

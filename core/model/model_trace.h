// A model that is traced without being run: what its layers give and which weights it has.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layer/object/layer_calls.h"
#include "step/trace.h"
#include "tenon/model.h"

namespace tenon {

constexpr int64_t kUnknownSize = -1;  // of a dimension that the size of the batch decides

struct TracedLayer {
  std::string name, class_name;
  int depth = 0;
  std::vector<std::vector<int64_t>> shapes;  // of what it gives
  std::vector<std::string> variables;
  bool trainable = true;
};

struct TracedWeight {
  Type type;
  bool trainable = true;
};

// Without states that have a row an example.
struct ModelTrace {
  std::vector<TracedLayer> layers;  // calls, as they end
  std::map<std::string, TracedWeight> weights;
  std::vector<std::string> order;  // of the weights' names, as they are made
  size_t outputs = 0;
  std::unique_ptr<Graph> graph;
};

// For evaluation, with batches of examples of these types. Throws Error.
ModelTrace trace_model(Model& model, const std::vector<Type>& examples, const TraceOptions& options);

}  // namespace tenon

// A function of tensors becomes the graph of one step.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "step/feed/feed_check.h"
#include "step/watched.h"
#include "tenon/strategy.h"

namespace tenon {

// What layers compute in, and what variables are kept in, by the name of Keras's dtype policy.
struct Policy {
  DType compute = DType::kF32, variable = DType::kF32;
  static Result<Policy> named(std::string_view name);  // "float32", "mixed_bfloat16", "mixed_float16", "bfloat16"
};

// An error, which names the option as one of `owner`, where it is none that there is.
Status check_between(const BetweenReplicas& between, std::string_view owner);

struct TraceOptions {
  Mode mode = Mode::kPredict;
  int replicas = 1;
  Policy policy = {};
  BetweenReplicas between = {};
  std::string_view draws_by = "global_step";  // the counter that random numbers are keyed by; any other counts itself
  bool one_step = false;                      // of each call
  bool same_draws = false;                    // each unit draws the same, as it has the same inputs
  std::shared_ptr<ObjectNames> objects = nullptr;  // of the store of variables; none: names of this trace
  std::string_view what = "the function";          // for messages
  bool casts_inputs = false;  // layers get floats in what they compute in, where that is not f32; else the caller casts
};

// A result of the function, in one step.
struct TracedResult {
  bool rows = false;                // axis 0 is that of all units, one after the other
  bool each = false;                // one that is kept each step
  std::map<int, std::string> dims;  // axes that are dynamic, and their names
};

struct Trace {
  std::unique_ptr<Graph> graph;
  std::vector<Watched> watched;
  std::vector<IndexRange> indices;  // what the host has to hold features against before it feeds them
  std::vector<TracedResult> results;
};

// An input of a traced function on one replica; `split`: each has another part of the whole.
struct TraceInput {
  std::string name;
  Type type;
  bool split = false;
  std::map<int, std::string> dims = {};  // axes that are dynamic, and their names; the type has their bounds
};
// `dynamic`: the axis of the batch is the dimension "batch".
std::vector<TraceInput> batch_inputs(const std::vector<FeatureSpec>& features, int64_t batch_size, int replicas,
                                     bool dynamic = false);
// The scalar input that says how many elements a dynamic dimension has.
std::string size_input(const std::string& dim);
// The inputs for a few rows that each unit gets all of, so that all compute the same: the function is traced for one replica,
// with same_draws.
std::vector<TraceInput> whole_inputs(const std::vector<FeatureSpec>& features, int64_t rows);

// The graph of the function on these inputs. Its results are the function's, then what is watched of it, then the next
// values of its variables: those that replicas would not agree on, as moving averages of their own batches, become the
// mean. In prediction, features that it does not use are no inputs.
Result<Trace> trace(const TensorFunction& function, const std::vector<TraceInput>& inputs, const TraceOptions& options);

}  // namespace tenon

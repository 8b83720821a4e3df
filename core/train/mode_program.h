// A model function's graph for one mode, compiled, with its buffers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "tenon/estimator.h"
#include "train/feed_check.h"
#include "train/state_store.h"

namespace tenon {

// How a batch is spread: over the units of a device, which stand in hosts.
struct Spread {
  int replicas = 1, hosts = 1;
  InputPipelineConfig input = InputPipelineConfig::kPerHostV1;

  static Spread over(const Device& device, const RunConfig& config);
  int pipelines() const;  // that feed training
  // An error where the units cannot have equal shares.
  Status check_batch(int64_t batch_size, Mode mode) const;
  // What params["batch_size"] is for a batch of so many examples.
  int64_t params_batch_size(int64_t batch_size) const;
};

// The graph that the model function builds for batches of `batch_size` of these features, of which each replica gets
// its share, with the mode's results, each the same on all replicas but for predictions: training "loss" (each step), "stop" (until) and the states; evaluation "loss" and
// "metric/NAME/total", "/count" (each batch); prediction "predict/NAME". Features that a prediction
// does not use, its labels, are no inputs.
struct ModeGraph {
  std::unique_ptr<Graph> graph;
  std::vector<std::string> metrics;  // names
  std::vector<std::string> predictions;
  std::vector<IndexRange> indices;  // what the host has to hold features against before it feeds them
};
Result<ModeGraph> build_mode_graph(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& specs,
                                   int64_t batch_size, Mode mode, const Spread& spread = {});

CompileOptions compile_options(const RunConfig& config, int max_iterations);

class ModeProgram {
 public:
  // Compiles for at most `max_iterations` batches a call.
  static Result<std::unique_ptr<ModeProgram>> create(ModeGraph graph, const std::shared_ptr<Device>& device,
                                                     const RunConfig& config, int max_iterations);

  const Executable& executable() const { return executable_; }
  const ModeGraph& mode_graph() const { return mode_graph_; }
  // Names the states' buffers; before the first run.
  void bind(const StateStore& states);
  // Feeds that are given instead of pulled, in the order of FEED inputs.
  void bind_feeds(const std::vector<const Buffer*>& feeds);

  Result<uint32_t> run(Queue& queue, uint32_t iterations, Feed* feed) { return queue.run(launch_, iterations, feed); }

  // Rows 0..n-1 of a result of mode EACH that is an f32 scalar.
  Status read_rows(Queue& queue, std::string_view result, uint32_t n, std::vector<float>& out) const;
  // A result of mode LAST, as f32.
  Status read_floats(Queue& queue, std::string_view result, std::vector<float>& out) const;
  const Type& result_type(std::string_view result) const;

 private:
  explicit ModeProgram(Executable executable)
      : executable_(std::move(executable)), launch_(executable_.make_launch()) {}
  Status allocate_results();
  void set_scalars(uint64_t seed);

  Executable executable_;
  ModeGraph mode_graph_;
  Launch launch_;
  std::vector<Buffer> results_;  // empty for aliased ones
};

}  // namespace tenon

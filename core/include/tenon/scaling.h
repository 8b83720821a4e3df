// What a step would take in many processes, from one that was measured in one process and from a network that is
// described. Nothing runs, and no device is needed.
//
//   const Cluster cluster{.hosts = 4, .inside = {1e10, 2e-6}, .between = {1.25e9, 3e-5}};
//   TENON_ASSIGN(std::vector<ScalingRow> rows, predict_scaling(model, params, features, cluster, {.ms = 310, .examples = 32}, {}));
//
// The step is cut as it is between processes (share/doc/several_processes.md): the same buckets in the same order, each
// on the way that its size decides. The measured time is shared out among the nodes by their arithmetic, or where that
// takes longer by what they move (MeasuredStep::flops_per_byte); each exchange costs the bytes that go through the
// narrowest link, and the waits for its messages; and the schedule is that of a step: exchanges one after the other,
// beside what is still computed.
//
// What it does not know: that exchanges take time of the cores that compute, that programs in parts fuse less than
// whole ones, that hosts differ, and that other traffic goes through their network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/cluster.h"
#include "tenon/estimator.h"

namespace tenon {

struct MeasuredStep {
  double ms = 0;              // of one process of so many units
  int64_t examples = 0;       // in it
  double backward_share = 0;  // of the time; 0: as it is of the arithmetic
  double flops_per_byte = 0;  // that the machine computes while it moves a byte; 0: 8, of processors of today 5 to 20
};

struct ScalingOptions {
  int64_t batch_size = 0;  // of all processes together; 0: each has as many examples as were measured
  double input_examples_per_s = 0;  // that a host reads and decodes; 0: unknown
  DType all_reduce_dtype = DType::kNone;  // as of a StrategyOptions
  bool shard_optimizer_state = false;
};

// One of a step's exchanges, in the order in which they go.
struct ScalingExchange {
  std::string what;   // "all_reduce f32"
  std::string way;    // "rounds", "memory", "messages"
  int arrays = 0;
  uint64_t bytes = 0;     // of what is added up or put together
  double sent_bytes = 0;  // by each process
  double ms = 0;
};

struct ScalingRow {
  int processes = 0, hosts = 0;
  int64_t batch_size = 0;
  double compute_ms = 0, exchange_ms = 0;  // all of each
  double hidden_ms = 0;                    // of the exchange, beside what is computed
  double input_ms = 0;                     // that a host takes for its part of a batch; 0: unknown
  double step_ms = 0;                      // the longer of input and step
  double efficiency = 0;                   // of the examples a second of so many processes that need no exchange
  std::vector<ScalingExchange> exchanges;

  double examples_per_s() const { return static_cast<double>(batch_size) * 1e3 / step_ms; }
  // That each host has to read to keep up with the step.
  double input_needed_per_s() const { return examples_per_s() / hosts; }
};

// A row for 1, 2, 4, .. processes, and for all of the cluster. A batch that the replicas of a row cannot share is an
// error. `features` are those of an example, "label" among them.
Result<std::vector<ScalingRow>> predict_scaling(const ModelFn& model, const Params& params,
                                                const std::vector<FeatureSpec>& features, const Cluster& cluster,
                                                const MeasuredStep& step, const ScalingOptions& options);

}  // namespace tenon

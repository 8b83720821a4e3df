#include "tenon/scaling.h"

#include <algorithm>
#include <array>

#include "backend/node_cost.h"
#include "base/strings.h"
#include "compile/rewrite.h"
#include "compile/shared_graph.h"
#include "exchange/exchange_cost.h"
#include "op/replicas.h"
#include "step/exchange_groups.h"
#include "train/model_function.h"
#include "train/scaling/schedule.h"

namespace tenon {
namespace {

constexpr double kUsualFlopsAByte = 8;

using ByPhase = std::array<double, 3>;  // forward, backward, update

// In flops: arithmetic, or what could be computed while the bytes are moved.
ByPhase work_of(const Graph& graph, double flops_a_byte) {
  ByPhase out{};
  const std::vector<NodeCost> costs = node_costs(flatten(graph));
  const std::vector<NodeId> nodes = image_nodes(graph);
  for (size_t i = 0; i < costs.size(); ++i) {
    const double moved = flops_a_byte * static_cast<double>(costs[i].bytes);
    out[static_cast<size_t>(graph.nodes[nodes[i]].phase)] += std::max(static_cast<double>(costs[i].flops), moved);
  }
  return out;
}

// How long graphs take, where all of the measured one takes as long as was measured.
class WorkClock {
 public:
  WorkClock(const Graph& measured, const MeasuredStep& step)
      : flops_a_byte_(step.flops_per_byte > 0 ? step.flops_per_byte : kUsualFlopsAByte) {
    const ByPhase all = work_of(measured, flops_a_byte_);
    const double backward = all[1], others = all[0] + all[2], seconds = step.ms * 1e-3;
    if (step.backward_share <= 0 || backward <= 0 || others <= 0) {
      const double each = seconds / std::max(backward + others, 1.0);
      unit_ = {each, each, each};
      return;
    }
    const double else_ = (1 - step.backward_share) * seconds / others;
    unit_ = {else_, step.backward_share * seconds / backward, else_};
  }
  double seconds_of(const Graph& graph) const {
    const ByPhase work = work_of(graph, flops_a_byte_);
    return work[0] * unit_[0] + work[1] * unit_[1] + work[2] * unit_[2];
  }

 private:
  double flops_a_byte_;
  ByPhase unit_{};  // seconds of a unit of work in each phase
};

const char* name_of(ExchangeWay way) {
  return way == ExchangeWay::kRounds     ? "rounds"
         : way == ExchangeWay::kMemory   ? "memory"
         : way == ExchangeWay::kMessages ? "messages"
                                         : "none";
}

class Predictor {
 public:
  Predictor(const Cluster& cluster, int processes, const Graph& whole)
      : cluster_(cluster), processes_(processes), whole_(whole), varying_(varying_values(whole)) {}

  // The exchanges of a part, which go one after the other.
  Result<std::vector<ScalingExchange>> exchanges_of(const GraphPart& part) const {
    TENON_ASSIGN(
        const std::vector<ExchangeGroup> groups,
        exchange_groups(part.graph, part.takes, part.gives, static_cast<size_t>(cluster_.units_per_process), varying_));
    std::vector<ScalingExchange> out;
    for (const ExchangeGroup& group : groups) out.push_back(exchange_of(group));
    return out;
  }

 private:
  ScalingExchange exchange_of(const ExchangeGroup& group) const {
    using Work = ExchangeGroup::Work;
    const bool gathers = group.work == Work::kJoin || group.work == Work::kGather;
    ScalingExchange out{cat(gathers                     ? "all_gather "
                            : group.work == Work::kDeal ? "reduce_scatter "
                                                        : "all_reduce ",
                            dtype_name(group.dtype)),
                        "none",
                        static_cast<int>(group.from.size()),
                        0,
                        0,
                        0};
    std::vector<size_t> bytes;
    for (size_t k = 0; k < group.from.size(); ++k) {
      bytes.push_back(static_cast<size_t>(whole_.type(gathers ? group.to[k] : group.from[k]).bytes()));
      out.bytes += bytes.back();
    }
    const auto add = [&out](const ExchangeCost& cost) {
      if (cost.way == ExchangeWay::kNone) return;
      out.way = name_of(cost.way);
      out.sent_bytes += cost.sent_bytes;
      out.ms += cost.seconds * 1e3;
    };
    if (group.work == Work::kGather)
      for (const size_t whole : bytes) add(gather_cost(cluster_, processes_, whole / static_cast<size_t>(processes_)));
    else
      add(exchange_cost(cluster_, processes_,
                        group.work == Work::kReduce ? ExchangeWork::kAllReduce
                        : group.work == Work::kDeal ? ExchangeWork::kReduceScatter
                                                    : ExchangeWork::kAllGather,
                        bytes));
    return out;
  }

  const Cluster& cluster_;
  const int processes_;
  const Graph& whole_;
  const std::vector<bool> varying_;
};

// Times of the parts of a step, and of its exchanges, which `row` gets too.
Result<PartTimes> times_of(const SharedPlan& plan, const Cluster& cluster, const WorkClock& clock, ScalingRow& row) {
  std::vector<TakenAndGiven> parts;
  for (const GraphPart& part : plan.parts) parts.push_back({part.kind, &part.takes, &part.gives});
  const std::vector<int> awaited = awaited_exchanges(parts);
  const Predictor predictor(cluster, row.processes, plan.graph);
  std::vector<TimedPart> timed;
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    TimedPart& part = timed.emplace_back(TimedPart{parts[p].kind == PartKind::kExchange, 0, awaited[p]});
    if (!part.exchanges) {
      part.seconds = clock.seconds_of(plan.parts[p].graph);
      continue;
    }
    TENON_ASSIGN(const std::vector<ScalingExchange> exchanges, predictor.exchanges_of(plan.parts[p]));
    for (const ScalingExchange& e : exchanges) part.seconds += e.ms * 1e-3;
    row.exchanges.insert(row.exchanges.end(), exchanges.begin(), exchanges.end());
  }
  return schedule(timed);
}

Status check(const Cluster& c, const MeasuredStep& step, const ScalingOptions& options) {
  const auto is_count = [](int n) { return n >= 1 && n <= Cluster::kMost; };
  if (!is_count(c.hosts) || !is_count(c.processes_per_host) || !is_count(c.units_per_process) || !c.is_of_most())
    return invalid("scaling: ", c.hosts, " hosts of ", c.processes_per_host, " processes of ", c.units_per_process,
                   " units, expected 1 to 65,536 of each and at most 1,048,576 units");
  const auto is_link = [](const Link& link) { return link.bytes_per_s > 0 && link.latency_s >= 0; };
  if (c.processes_per_host > 1 && !is_link(c.inside)) return invalid("scaling: 'inside' has no bandwidth above 0");
  if (c.hosts > 1 && !is_link(c.between)) return invalid("scaling: 'between' has no bandwidth above 0");
  if (!(step.ms > 0) || step.examples < 1)
    return invalid("scaling: the measured step has ", step.ms, " ms for ", step.examples,
                   " examples, expected more than 0 of both");
  if (!(step.flops_per_byte >= 0))
    return invalid("scaling: ", step.flops_per_byte, " flops a byte, expected 0 or more");
  if (!(step.backward_share >= 0 && step.backward_share < 1))
    return invalid("scaling: backward's share is ", step.backward_share, ", expected 0 or more and less than 1");
  return check_between({options.all_reduce_dtype, options.shard_optimizer_state}, "ScalingOptions");
}

class Scaling {
 public:
  Scaling(const ModelFn& model, const Params& params, const std::vector<FeatureSpec>& features, const Cluster& cluster,
          const MeasuredStep& step, const ScalingOptions& options)
      : model_(model), params_(params), features_(features), cluster_(cluster), step_(step), options_(options) {}

  Result<std::vector<ScalingRow>> rows() {
    TENON_ASSIGN(const Graph measured, graph_of(1, step_.examples));
    const WorkClock clock(measured, step_);
    std::vector<ScalingRow> out;
    for (int n = 1; n < cluster_.processes(); n *= 2) {
      TENON_ASSIGN(ScalingRow row, row_of(n, clock));
      out.push_back(std::move(row));
    }
    TENON_ASSIGN(ScalingRow row, row_of(cluster_.processes(), clock));
    out.push_back(std::move(row));
    return out;
  }

 private:
  Result<Graph> graph_of(int processes, int64_t batch_size) const {
    const Spread spread{processes * cluster_.units_per_process, 1, InputPipelineConfig::kBroadcast};
    BetweenReplicas between;
    if (processes > 1) between = {options_.all_reduce_dtype, options_.shard_optimizer_state};
    TENON_ASSIGN(const Trace traced,
                 trace_model(model_, params_, features_, batch_size, Mode::kTrain, spread, false, between));
    return simplify(*traced.graph);
  }

  Result<PartTimes> times(ScalingRow& row, const WorkClock& clock) const {
    TENON_ASSIGN(const Graph graph, graph_of(row.processes, row.batch_size));
    if (row.processes == 1) {
      const double seconds = clock.seconds_of(graph);
      return PartTimes{.compute = seconds, .step = seconds};
    }
    TENON_ASSIGN(const SharedPlan plan, plan_shared(graph, cluster_.units_per_process));
    return times_of(plan, cluster_, clock, row);
  }

  Result<ScalingRow> row_of(int n, const WorkClock& clock) const {
    const int here = std::min(n, cluster_.processes_per_host);
    ScalingRow row{.processes = n, .hosts = (n + here - 1) / here};
    row.batch_size = options_.batch_size > 0 ? options_.batch_size : step_.examples * n;
    TENON_ASSIGN(const PartTimes found, times(row, clock));
    row.compute_ms = found.compute * 1e3;
    row.exchange_ms = found.exchange * 1e3;
    row.hidden_ms = found.hidden() * 1e3;
    const double of_a_host = static_cast<double>(row.batch_size) * here / n;
    if (options_.input_examples_per_s > 0) row.input_ms = of_a_host / options_.input_examples_per_s * 1e3;
    row.step_ms = std::max(found.step * 1e3, row.input_ms);
    row.efficiency = row.examples_per_s() / (n * static_cast<double>(step_.examples) * 1e3 / step_.ms);
    return row;
  }

  const ModelFn& model_;
  const Params& params_;
  const std::vector<FeatureSpec>& features_;
  const Cluster& cluster_;
  const MeasuredStep& step_;
  const ScalingOptions& options_;
};

}  // namespace

Result<std::vector<ScalingRow>> predict_scaling(const ModelFn& model, const Params& params,
                                                const std::vector<FeatureSpec>& features, const Cluster& cluster,
                                                const MeasuredStep& step, const ScalingOptions& options) {
  TENON_TRY(check(cluster, step, options));
  return Scaling(model, params, features, cluster, step, options).rows();
}

}  // namespace tenon

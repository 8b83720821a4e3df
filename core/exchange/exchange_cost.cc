#include "exchange/exchange_cost.h"

#include <algorithm>
#include <cmath>

namespace tenon {
namespace {

// Where the first processes of a cluster are.
class Placed {
 public:
  Placed(const Cluster& cluster, int processes)
      : cluster_(cluster), all_(processes), here_(std::min(processes, cluster.processes_per_host)) {}

  bool crosses() const { return all_ > here_; }
  double latency() const { return crosses() ? cluster_.between.latency_s : cluster_.inside.latency_s; }
  // Each process sends each other one so much: hosts with many processes send most within, others most out.
  double seconds(double bytes) const {
    const int rest = all_ % here_;
    const double out = std::max(here_ * (all_ - here_), rest * (all_ - rest)), within = here_ * (here_ - 1);
    return std::max(over(cluster_.inside, within * bytes), over(cluster_.between, out * bytes));
  }
  // Each sends so much in all, of which most may leave the host.
  double seconds_at_worst(double bytes) const {
    return over(crosses() ? cluster_.between : cluster_.inside, here_ * bytes);
  }

 private:
  static double over(const Link& link, double bytes) { return bytes > 0 ? bytes / link.bytes_per_s : 0; }

  const Cluster& cluster_;
  const int all_, here_;
};

// Blocks double in each round.
ExchangeCost cost_in_rounds(const Placed& placed, int processes, double bytes) {
  const double sent = bytes * (processes - 1);
  return {ExchangeWay::kRounds, sent,
          std::ceil(std::log2(processes)) * placed.latency() + placed.seconds_at_worst(sent)};
}

}  // namespace

ExchangeCost exchange_cost(const Cluster& cluster, int processes, ExchangeWork work, std::span<const size_t> bytes) {
  const Placed placed(cluster, processes);
  const auto n = static_cast<size_t>(processes), units = static_cast<size_t>(cluster.units_per_process);
  const ExchangePlan plan = plan_exchange(work, bytes, n, units, cluster.shared_memory && !placed.crosses());
  double total = 0;
  for (const ExchangePiece& piece : plan.pieces) total += static_cast<double>(piece.bytes);
  const double of_each =
      sums(work) ? static_cast<double>(units) * total : total / processes;  // what is put together: a share
  if (plan.way == ExchangeWay::kNone || processes == 1) return {};
  if (plan.way == ExchangeWay::kRounds) return cost_in_rounds(placed, processes, of_each);
  // To each other process go the parts of the pieces that it adds up, and the sums of the own ones.
  const int hops = sums(work) + spreads(work);
  const double to_one = ((sums(work) ? static_cast<double>(units) : 0) + spreads(work)) * total / processes;
  const double under_way = static_cast<double>(kRoundsAhead + 1),
               waits = std::ceil(static_cast<double>(plan.rounds) / under_way);
  const double wait = hops * placed.latency();
  return {plan.way, to_one * (processes - 1), std::max(placed.seconds(to_one), (waits - 1) * wait) + wait};
}

ExchangeCost gather_cost(const Cluster& cluster, int processes, size_t bytes) {
  const Placed placed(cluster, processes);
  if (bytes == 0 || processes == 1) return {};
  const auto sent = static_cast<double>(bytes);
  if (goes_in_rounds(bytes)) return cost_in_rounds(placed, processes, sent);
  return {ExchangeWay::kMessages, sent * (processes - 1), placed.seconds(sent) + placed.latency()};
}

}  // namespace tenon

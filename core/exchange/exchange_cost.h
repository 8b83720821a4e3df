// How long processes take to exchange arrays over links of a given speed: the traffic of the way that Reducer goes.
#pragma once

#include "exchange/exchange_plan.h"
#include "tenon/cluster.h"

namespace tenon {

struct ExchangeCost {
  ExchangeWay way = ExchangeWay::kNone;
  double sent_bytes = 0;  // by each process, to all others
  double seconds = 0;
};

// What is exchanged by the first `processes` of the cluster, host by host; `bytes` as of plan_exchange(). What is sent within a host and
// between hosts goes on at once; messages of a piece wait for each other, in as many rounds as are not under way together.
// REQUIRED: 1 <= processes <= cluster.processes(); bandwidths that are used are above 0.
ExchangeCost exchange_cost(const Cluster& cluster, int processes, ExchangeWork work, std::span<const size_t> bytes);
// The cost of all_gather() (exchange/collectives.h), where each process gives so much.
ExchangeCost gather_cost(const Cluster& cluster, int processes, size_t bytes);

}  // namespace tenon

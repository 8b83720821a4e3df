// What processes do together between the parts of a step: what runs it and what predicts it have it from here.
#pragma once

#include <vector>

#include "compile/partition.h"
#include "tenon/ops.h"

namespace tenon {

// Arrays of one kind and dtype, which are exchanged at once, by their values in the whole graph.
struct ExchangeGroup {
  enum class Work { kReduce, kDeal, kJoin, kGather } work = Work::kReduce;  // kJoin: gathers rows
  ReduceKind kind = ReduceKind::kSum;
  DType dtype = DType::kF32;
  int axis = 0;  // of gathering
  std::vector<ValueId> from = {}, to = {};
};

// The groups of an exchange. `part` is its graph, whose inputs and results are the values `takes` and `gives` of the whole; `units` are
// those of each process.
Result<std::vector<ExchangeGroup>> exchange_groups(const Graph& part, const std::vector<ValueId>& takes,
                                                   const std::vector<ValueId>& gives, size_t units,
                                                   const std::vector<bool>& varying);

// For each part, in the order in which they run, the last exchange whose results it needs, which is before it; -1: none.
struct TakenAndGiven {
  PartKind kind;
  const std::vector<ValueId>*takes, *gives;
};
std::vector<int> awaited_exchanges(const std::vector<TakenAndGiven>& parts);

}  // namespace tenon

// A chain as the batches of an input pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "data/chain/verbs/batch_nodes.h"
#include "data/input/input_dataset.h"

namespace tenon {

// How the batches of a chain come about. Where nothing but verbs of order follows the verb that makes batches, each row is made by
// itself, straight in its place; else a batch is made as a whole, and its rows are copied from it.
struct ChainBatches {
  Node node;
  const BatchNode* by_row = nullptr;  // which `node` keeps; null: as a whole
};

// A batch that is on its way.
struct PlannedBatch {
  ElementRef ref = {};
  std::once_flag once = {};
  std::shared_ptr<const Element> whole = nullptr;
};

// What pipelines and models see of a chain. Reads one element. Throws Error.
std::shared_ptr<const Dataset::Impl> seal_chain(const Node& node);

// Its property of how much is made ahead.
class PrefetchNode : public OrderNode {
 public:
  PrefetchNode(Node from, int64_t buffer_size, int64_t ram_budget)
      : OrderNode(std::move(from)), buffer_size_(buffer_size), ram_budget_(ram_budget) {}
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override { return from_->open(pass, pool); }
  uint64_t own_fingerprint() const override { return 0; }
  int64_t buffer_size() const { return buffer_size_; }
  int64_t ram_budget() const { return ram_budget_; }

 private:
  int64_t buffer_size_, ram_budget_;
};

}  // namespace tenon

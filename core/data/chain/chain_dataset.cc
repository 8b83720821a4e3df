#include <utility>

#include "base/strings.h"
#include "data/chain/chain_batches.h"
#include "data/chain/sources/source_node.h"

namespace tenon {

Node ChainNode::of(const Dataset& data) {
  return data.impl_->node ? data.impl_->node : std::make_shared<const SourceNode>(data.impl_);
}

Dataset ChainNode::dataset(Node node) {
  auto impl = std::make_shared<Dataset::Impl>();
  impl->node = std::move(node);
  impl->sealing = std::make_shared<Dataset::Impl::Sealing>();
  return Dataset(std::move(impl));
}

const std::shared_ptr<const Dataset::Impl>& Dataset::sealed() const {
  if (!impl_->node) return impl_;
  Impl::Sealing& sealing = *impl_->sealing;
  std::call_once(sealing.once, [&] { sealing.impl = seal_chain(impl_->node); });
  return sealing.impl;
}

int64_t Dataset::cardinality() const { return ChainNode::of(*this)->cardinality(); }

Dataset Dataset::prefetch(int64_t buffer_size, int64_t ram_budget) const {
  if (buffer_size < kAutotune || buffer_size > 1 << 20)
    fail("prefetch: buffer_size is ", buffer_size, ", expected 0 to ", 1 << 20, ", or kAutotune");
  if (ram_budget < 0) fail("prefetch: ram_budget is ", ram_budget, ", expected bytes, or 0");
  return ChainNode::dataset(std::make_shared<PrefetchNode>(ChainNode::of(*this), buffer_size, ram_budget));
}

}  // namespace tenon

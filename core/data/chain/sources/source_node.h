// A Dataset that options describe, as the source of a chain.
#pragma once

#include <memory>

#include "data/chain/chain_node.h"
#include "data/input/input_dataset.h"

namespace tenon {

class SourceNode : public ChainNode {
 public:
  explicit SourceNode(std::shared_ptr<const Dataset::Impl> data) : data_(std::move(data)) {}
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override;
  Element value(const ElementRef& ref) const override;
  std::string where(const ElementRef& ref) const override;
  int64_t cardinality() const override { return static_cast<int64_t>(data_->size); }
  uint64_t own_fingerprint() const override { return data_->fingerprint; }
  uint64_t data_fingerprint() const override { return data_->data_fingerprint; }
  bool random() const override { return data_->options.training; }
  bool fill(const ElementRef& ref, std::span<const FeatureSpec> specs, Slots& out) const override;
  std::vector<std::string> lost() const override { return data_->source->lost(); }

 private:
  PlannedRow row_of(const ElementRef& ref) const;
  std::shared_ptr<const Dataset::Impl> data_;
};

}  // namespace tenon

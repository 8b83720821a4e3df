// Functions of elements.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "data/chain/chain_node.h"

namespace tenon {

class MapNode : public VerbNode {
 public:
  // `seed` is that of the first of the functions that `op` is, `depth` how many maps the chain has before it.
  MapNode(Node from, std::shared_ptr<const ElementOp> op, uint64_t seed, int depth)
      : VerbNode(std::move(from)), op_(std::move(op)), seed_(seed), depth_(depth) {}
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override { return from_->open(pass, pool); }
  Element value(const ElementRef& ref) const override { return op_->apply(from_->value(ref), sample_of(ref)); }
  bool fill(const ElementRef& ref, std::span<const FeatureSpec> specs, Slots& out) const override;
  bool random() const override { return op_->random() || from_->random(); }
  int64_t rows(const ElementRef& ref) const override { return from_->rows(ref); }
  uint64_t own_fingerprint() const override;

  const ElementOp& op() const { return *op_; }
  // The node that does this and, on what it makes, `next`; null where there is none.
  Node then(const ElementMap& next, uint64_t seed) const;
  static int depth_of(const ChainNode& node);  // maps in the longest way to a source

 private:
  Sample sample_of(const ElementRef& ref) const;
  std::shared_ptr<const ElementOp> op_;
  uint64_t seed_;
  int depth_;
};

// Elements whose values have to be known before the next one may be chosen: they are made on the pool's threads, some ahead.
class ValuesAhead {
 public:
  ValuesAhead(const ChainNode& node, uint64_t pass, ThreadPool* pool);
  // The next element with its value, or the error that came instead; false: the end.
  bool next(ElementRef& ref, Result<Element>& value);

 private:
  void read();
  const ChainNode& node_;
  std::unique_ptr<ElementStream> from_;
  ThreadPool* pool_;
  std::vector<ElementRef> refs_;
  std::vector<Result<Element>> values_;
  size_t at_ = 0;
  size_t most_;
};

// A reference to an element that is there already. Its value is the held one's; its parts tell its place.
ElementRef held(ElementRef ref, Element value);

// A verb whose elements are held.
class HeldNode : public VerbNode {
 public:
  using VerbNode::VerbNode;
  Element value(const ElementRef& ref) const override { return *ref.held->value; }
  std::shared_ptr<const Element> shared_value(const ElementRef& ref) const override {
    return {ref.held, &*ref.held->value};
  }
  int64_t cardinality() const override {
    return from_->cardinality() == kInfiniteCardinality ? kInfiniteCardinality : kUnknownCardinality;
  }
};

}  // namespace tenon

#include "data/chain/verbs/map_nodes.h"

#include <algorithm>

#include "base/caught.h"
#include "base/crc32c.h"
#include "base/process/thread_pool.h"
#include "base/strings.h"
#include "data/items.h"

namespace tenon {
namespace {

constexpr size_t kAhead = 16;  // elements a thread

class FunctionOp : public ElementOp {
 public:
  FunctionOp(std::function<Element(Element, const Sample&)> fn, bool random) : fn_(std::move(fn)), random_(random) {}
  std::string name() const override { return "map"; }
  Element apply(Element element, const Sample& sample) const override { return fn_(std::move(element), sample); }
  bool random() const override { return random_; }

 private:
  std::function<Element(Element, const Sample&)> fn_;
  bool random_;
};

// Keeps those for which `keep` is true; with none, those that can be made.
class FilterNode : public HeldNode {
 public:
  FilterNode(Node from, std::function<bool(const Element&)> keep) : HeldNode(std::move(from)), keep_(std::move(keep)) {}
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  uint64_t own_fingerprint() const override { return keep_ ? 0xf117e4 : 0x19704e; }
  std::string left_out() const override {
    if (keep_ || from_->cardinality() == kInfiniteCardinality) return {};
    int64_t count = 0;
    std::string first;
    ValuesAhead from(*from_, 0, nullptr);
    ElementRef ref;
    for (Result<Element> value = Status(); from.next(ref, value);)
      if (!value.ok() && count++ == 0) first = value.status().message();
    return count == 0 ? "" : cat("ignore_errors left out ", count, ", the first because ", first);
  }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const FilterNode& node, uint64_t pass, ThreadPool* pool) : node_(node), from_(*node.from_, pass, pool) {}
    bool next(ElementRef& out) override {
      Result<Element> value = Status();
      while (from_.next(out, value)) {
        if (!value.ok() && !node_.keep_ && value.status().code() != Code::kOutOfMemory) continue;
        if (!value.ok()) throw PlacedError(value.status());
        if (node_.keep_ && !placed(node_, out, [&] { return node_.keep_(*value); })) continue;
        out = held(std::move(out), value.take());
        return true;
      }
      return false;
    }

   private:
    const FilterNode& node_;
    ValuesAhead from_;
  };
  std::function<bool(const Element&)> keep_;
};

}  // namespace

std::shared_ptr<const ElementOp> ElementOp::then(const std::shared_ptr<const ElementOp>&) const { return nullptr; }

bool ElementOp::fill(const Element&, const Sample&, std::span<const FeatureSpec>, Slots&) const { return false; }

std::shared_ptr<const ElementOp> ElementMap::of_function(std::function<Element(Element, const Sample&)> fn,
                                                         bool random) {
  return std::make_shared<FunctionOp>(std::move(fn), random);
}

Sample MapNode::sample_of(const ElementRef& ref) const {
  Sample sample{ref.place, ref.pass, seed_, true};
  for (int i = 0; i < depth_; ++i) sample = sample.further();
  return sample;
}

bool MapNode::fill(const ElementRef& ref, std::span<const FeatureSpec> specs, Slots& out) const {
  const std::shared_ptr<const Element> below = from_->shared_value(ref);
  if (!op_->fill(*below, sample_of(ref), specs, out)) copy_element(op_->apply(*below, sample_of(ref)), specs, out);
  return true;
}

// Nothing more is known of a lambda than that it is one.
uint64_t MapNode::own_fingerprint() const {
  return mix_hash(mix_hash(mix_hash(0x3ab, seed_), static_cast<uint64_t>(depth_)), crc32c(op_->name()));
}

int MapNode::depth_of(const ChainNode& node) {
  int most = 0;
  for (const Node& input : node.inputs()) most = std::max(most, depth_of(*input));
  const auto* map = dynamic_cast<const MapNode*>(&node);
  return most + (map ? map->op_->maps() : 0);
}

Node MapNode::then(const ElementMap& next, uint64_t seed) const {
  if (seed != seed_) return nullptr;
  std::shared_ptr<const ElementOp> both = op_->then(next.op());
  return both ? std::make_shared<MapNode>(from_, std::move(both), seed_, depth_) : nullptr;
}

ValuesAhead::ValuesAhead(const ChainNode& node, uint64_t pass, ThreadPool* pool)
    : node_(node),
      from_(node.open(pass, pool)),
      pool_(pool),
      most_(pool ? kAhead * static_cast<size_t>(pool->threads()) : 1) {}

void ValuesAhead::read() {
  refs_.clear();
  values_.clear();
  at_ = 0;
  for (ElementRef ref; refs_.size() < most_ && from_->next(ref);) refs_.push_back(std::move(ref));
  values_.resize(refs_.size(), Status());
  const auto made = for_each_item(pool_, refs_.size(), [&](size_t i) -> Status {
    values_[i] = value_at(node_, refs_[i]);
    return {};
  });
  for (size_t i = 0; i < made.size(); ++i)
    if (!made[i].ok()) values_[i] = made[i];
}

bool ValuesAhead::next(ElementRef& ref, Result<Element>& value) {
  if (at_ == refs_.size()) read();
  if (refs_.empty()) return false;
  ref = std::move(refs_[at_]);
  value = std::move(values_[at_++]);
  return true;
}

ElementRef held(ElementRef ref, Element value) {
  HeldElement out = ref.held ? HeldElement{.parts = ref.held->parts, .node = ref.held->node} : HeldElement();
  out.value = std::move(value);
  ref.held = std::make_shared<const HeldElement>(std::move(out));
  return ref;
}

Dataset Dataset::map(const ElementMap& fn, uint64_t seed) const {
  const Node from = ChainNode::of(*this);
  if (const auto* before = dynamic_cast<const MapNode*>(from.get()))
    if (Node both = before->then(fn, seed)) return ChainNode::dataset(std::move(both));
  return ChainNode::dataset(std::make_shared<MapNode>(from, fn.op(), seed, MapNode::depth_of(*from)));
}

Dataset Dataset::filter(std::function<bool(const Element&)> keep) const {
  if (!keep) fail("filter: there is no function");
  return ChainNode::dataset(std::make_shared<FilterNode>(ChainNode::of(*this), std::move(keep)));
}

Dataset Dataset::ignore_errors() const {
  return ChainNode::dataset(std::make_shared<FilterNode>(ChainNode::of(*this), nullptr));
}

}  // namespace tenon

#include "data/chain/verbs/batch_nodes.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "data/chain/verbs/map_nodes.h"

namespace tenon {
namespace {

class PlainBatchNode : public BatchNode {
 public:
  PlainBatchNode(Node from, int64_t size, bool drops, std::optional<Padding> padding)
      : BatchNode(std::move(from)), size_(size), drops_(drops), padding_(std::move(padding)) {}

  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  int64_t cardinality() const override {
    const int64_t parts = from_->cardinality();
    return parts < 0 ? parts : drops_ ? parts / size_ : (parts + size_ - 1) / size_;
  }
  int64_t most_rows() const override { return size_; }
  bool drops_remainder() const override { return drops_; }
  const Padding* padding(size_t) const override { return padding_ ? &*padding_ : nullptr; }
  uint64_t own_fingerprint() const override {
    return mix_hash(mix_hash(0xba7c4, static_cast<uint64_t>(size_)), drops_);
  }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const PlainBatchNode& node, uint64_t pass, ThreadPool* pool)
        : node_(node), from_(node.from_->open(pass, pool)) {}
    bool next(ElementRef& out) override {
      std::vector<ElementRef> parts;
      const auto size = static_cast<size_t>(node_.size_);
      parts.reserve(std::min<size_t>(size, 4096));
      for (ElementRef ref; parts.size() < size && from_->next(ref);) parts.push_back(std::move(ref));
      if (parts.empty() || (node_.drops_ && parts.size() < size)) return false;
      out = node_.batch_of(std::move(parts));
      return true;
    }

   private:
    const PlainBatchNode& node_;
    std::unique_ptr<ElementStream> from_;
  };

  int64_t size_;
  bool drops_;
  std::optional<Padding> padding_;
};

class BucketNode : public BatchNode {
 public:
  using Length = std::function<int64_t(const Element&)>;
  BucketNode(Node from, Length length, std::vector<int64_t> boundaries, std::vector<int64_t> sizes,
             const BucketOptions& o)
      : BatchNode(std::move(from)),
        length_(std::move(length)),
        boundaries_(std::move(boundaries)),
        sizes_(std::move(sizes)),
        drops_(o.drop_remainder) {
    for (size_t b = 0; b < sizes_.size(); ++b)
      paddings_.push_back({o.padded_shapes, o.padding_values,
                           o.pad_to_bucket_boundary && b < boundaries_.size() ? boundaries_[b] - 1 : -1});
    bounded_ = o.pad_to_bucket_boundary;
  }

  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  int64_t cardinality() const override {
    return from_->cardinality() == kInfiniteCardinality ? kInfiniteCardinality : kUnknownCardinality;
  }
  int64_t most_rows() const override { return *std::max_element(sizes_.begin(), sizes_.end()); }
  bool drops_remainder() const override { return drops_; }
  std::vector<int64_t> bucket_rows() const override {
    return bounded_ ? std::vector<int64_t>(sizes_.begin(), sizes_.end() - 1) : std::vector<int64_t>();
  }
  const Padding* padding(size_t bucket) const override { return &paddings_.at(bucket); }
  Element part_value(const ElementRef& part) const override { return *part.held->value; }
  uint64_t own_fingerprint() const override {
    uint64_t hash = mix_hash(0xb0c4e7, bounded_);
    for (const int64_t b : boundaries_) hash = mix_hash(hash, static_cast<uint64_t>(b));
    for (const int64_t s : sizes_) hash = mix_hash(hash, static_cast<uint64_t>(s));
    return mix_hash(hash, drops_);
  }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const BucketNode& node, uint64_t pass, ThreadPool* pool)
        : node_(node), from_(*node.from_, pass, pool), waiting_(node.sizes_.size()) {}
    bool next(ElementRef& out) override {
      ElementRef ref;
      Result<Element> value = Status();
      while (from_.next(ref, value)) {
        if (!value.ok()) throw PlacedError(value.status());
        const size_t bucket = placed(node_, ref, [&] { return node_.bucket_for(*value); });
        waiting_[bucket].push_back(held(std::move(ref), value.take()));
        if (static_cast<int64_t>(waiting_[bucket].size()) == node_.sizes_[bucket]) return give(bucket, out);
      }
      for (size_t bucket = 0; bucket < waiting_.size() && !node_.drops_; ++bucket)
        if (!waiting_[bucket].empty()) return give(bucket, out);
      return false;
    }

   private:
    bool give(size_t bucket, ElementRef& out) {
      out = node_.batch_of(std::exchange(waiting_[bucket], {}), bucket);
      return true;
    }

    const BucketNode& node_;
    ValuesAhead from_;
    std::vector<std::vector<ElementRef>> waiting_;
  };

  size_t bucket_for(const Element& element) const {
    const int64_t length = length_(element);
    const auto bucket = std::upper_bound(boundaries_.begin(), boundaries_.end(), length) - boundaries_.begin();
    if (bounded_ && static_cast<size_t>(bucket) == boundaries_.size())
      fail("bucket_by_sequence_length: an element has length ", length, ", expected less than the last boundary ",
           boundaries_.back(), " (pad_to_bucket_boundary)");
    return static_cast<size_t>(bucket);
  }

  Length length_;
  std::vector<int64_t> boundaries_, sizes_;
  bool drops_, bounded_;
  std::vector<Padding> paddings_;
};

}  // namespace

ElementRef BatchNode::batch_of(std::vector<ElementRef> parts, size_t bucket) const {
  ElementRef out;
  out.place = parts[0].place;
  out.pass = parts[0].pass;
  out.index = bucket;
  out.held = std::make_shared<const HeldElement>(HeldElement{.parts = std::move(parts)});
  return out;
}

Element BatchNode::value(const ElementRef& ref) const {
  std::vector<Element> all;
  for (const ElementRef& part : ref.held->parts) all.push_back(part_value(part));
  const Padding* pads = padding(bucket_of(ref));
  return pads ? pads->stack(std::move(all)) : stack_elements(std::move(all));
}

void BatchNode::fill_row(const ElementRef& part, size_t bucket, std::span<const FeatureSpec> specs, Slots& out) const {
  placed(*from_, part, [&] {
    const Padding* pads = padding(bucket);
    if (!pads) {
      if (!from_->fill(part, specs, out)) copy_element(part_value(part), specs, out);
      return;
    }
    const Element element = part_value(part);
    for (size_t i = 0; i < specs.size(); ++i) {
      const auto found = element.find(specs[i].name);
      if (found == element.end() || element.size() != specs.size() || found->second.dtype() != specs[i].type.dtype ||
          found->second.shape().rank() != specs[i].type.shape.rank())
        return copy_element(element, specs, out);  // says what is wrong
      pads->copy(specs[i].name, found->second, specs[i].type.shape, out.get<std::byte>(i).data());
    }
  });
}

Dataset Dataset::batch(int64_t batch_size, bool drop_remainder) const {
  if (batch_size < 1) fail("batch: batch_size is ", batch_size, ", expected 1 or more");
  return ChainNode::dataset(
      std::make_shared<PlainBatchNode>(ChainNode::of(*this), batch_size, drop_remainder, std::nullopt));
}

Dataset Dataset::padded_batch(int64_t batch_size, const PaddedBatchOptions& options) const {
  if (batch_size < 1) fail("padded_batch: batch_size is ", batch_size, ", expected 1 or more");
  for (const auto& [name, dims] : options.padded_shapes)
    for (const int64_t dim : dims)
      if (dim < -1) fail("padded_batch: padded_shapes of '", name, "' has ", dim, ", expected a size, or -1");
  return ChainNode::dataset(std::make_shared<PlainBatchNode>(ChainNode::of(*this), batch_size, options.drop_remainder,
                                                             Padding{options.padded_shapes, options.padding_values}));
}

Dataset Dataset::bucket_by_sequence_length(std::function<int64_t(const Element&)> length,
                                           std::vector<int64_t> boundaries, std::vector<int64_t> batch_sizes,
                                           const BucketOptions& options) const {
  if (!length) fail("bucket_by_sequence_length: there is no function for the length");
  if (boundaries.empty() || boundaries.front() < 1 ||
      std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>()) != boundaries.end())
    fail("bucket_by_sequence_length: expected boundaries that rise, from 1 on");
  if (batch_sizes.size() != boundaries.size() + 1)
    fail("bucket_by_sequence_length: ", batch_sizes.size(), " batch sizes, expected one more than the ",
         boundaries.size(), " boundaries");
  for (const int64_t size : batch_sizes)
    if (size < 1) fail("bucket_by_sequence_length: a batch size is ", size, ", expected 1 or more");
  return ChainNode::dataset(std::make_shared<BucketNode>(ChainNode::of(*this), std::move(length), std::move(boundaries),
                                                         std::move(batch_sizes), options));
}

}  // namespace tenon

// Verbs that let elements through, or not, by counting: take, skip, shard, repeat, concatenate.
#include <algorithm>
#include <limits>

#include "base/strings.h"
#include "data/chain/chain_node.h"

namespace tenon {
namespace {

int64_t at_most(int64_t cardinality, int64_t most) {
  if (cardinality == kUnknownCardinality) return cardinality;
  return cardinality == kInfiniteCardinality ? most : std::min(cardinality, most);
}

int64_t without(int64_t cardinality, int64_t count) {
  return cardinality < 0 ? cardinality : std::max<int64_t>(cardinality - count, 0);
}

// Elements first, first + stride, ... below end.
class PieceNode : public OrderNode {
 public:
  struct Piece {
    uint64_t first = 0, stride = 1, end = std::numeric_limits<uint64_t>::max();
  };
  PieceNode(Node from, Piece piece, int64_t cardinality)
      : OrderNode(std::move(from)), piece_(piece), cardinality_(cardinality) {}

  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    class Stream : public ElementStream {
     public:
      Stream(std::unique_ptr<ElementStream> from, Piece piece)
          : from_(std::move(from)), piece_(piece), next_(piece.first) {}
      bool next(ElementRef& out) override {
        if (next_ >= piece_.end) return false;
        while (from_->next(out))
          if (at_++ == next_) return next_ += piece_.stride, true;
        return false;
      }

     private:
      std::unique_ptr<ElementStream> from_;
      Piece piece_;
      uint64_t at_ = 0, next_;
    };
    return std::make_unique<Stream>(from_->open(pass, pool), piece_);
  }
  int64_t cardinality() const override { return cardinality_; }
  uint64_t own_fingerprint() const override {
    return mix_hash(mix_hash(mix_hash(0x91ece, piece_.first), piece_.stride), piece_.end);
  }

 private:
  Piece piece_;
  int64_t cardinality_;
};

// Elements at some places, which rise.
class PickNode : public OrderNode {
 public:
  PickNode(Node from, std::vector<int64_t> places) : OrderNode(std::move(from)), places_(std::move(places)) {}
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    class Stream : public ElementStream {
     public:
      Stream(const PickNode& node, std::unique_ptr<ElementStream> from) : node_(node), from_(std::move(from)) {}
      bool next(ElementRef& out) override {
        if (picked_ == node_.places_.size()) return false;
        while (from_->next(out))
          if (at_++ == node_.places_[picked_]) return ++picked_, true;
        fail("pick: there is no place ", node_.places_[picked_], "; the data have ", at_, " elements");
      }

     private:
      const PickNode& node_;
      std::unique_ptr<ElementStream> from_;
      size_t picked_ = 0;
      int64_t at_ = 0;
    };
    return std::make_unique<Stream>(*this, from_->open(pass, pool));
  }
  int64_t cardinality() const override { return static_cast<int64_t>(places_.size()); }
  uint64_t own_fingerprint() const override {
    uint64_t hash = mix_hash(0x91c4, places_.size());
    for (const int64_t place : places_) hash = mix_hash(hash, static_cast<uint64_t>(place));
    return hash;
  }

 private:
  std::vector<int64_t> places_;
};

class RepeatNode : public OrderNode {
 public:
  RepeatNode(Node from, int64_t count) : OrderNode(std::move(from)), count_(count) {}
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  int64_t cardinality() const override {
    const int64_t of_one = from_->cardinality();
    if (count_ == 0 || of_one == 0) return 0;
    if (count_ < 0) return kInfiniteCardinality;
    return of_one < 0 ? of_one : of_one * count_;
  }
  uint64_t own_fingerprint() const override { return mix_hash(0x4e9ea7, static_cast<uint64_t>(count_)); }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const RepeatNode& node, uint64_t pass, ThreadPool* pool)
        : node_(node), pool_(pool), pass_(node.count_ < 0 ? pass << 20 : pass * static_cast<uint64_t>(node.count_)) {}
    bool next(ElementRef& out) override {
      for (bool empty = false; node_.count_ < 0 || done_ < node_.count_; empty = true) {
        if (!from_) from_ = node_.from_->open(pass_++, pool_);
        if (from_->next(out)) return true;
        from_.reset();
        ++done_;
        if (empty && node_.count_ < 0) return false;  // for ever nothing
      }
      return false;
    }

   private:
    const RepeatNode& node_;
    ThreadPool* pool_;
    uint64_t pass_;
    int64_t done_ = 0;
    std::unique_ptr<ElementStream> from_;
  };
  int64_t count_;
};

}  // namespace

Dataset Dataset::take(int64_t count) const {
  if (count < -1) fail("take: count is ", count, ", expected 0 or more, or -1 for all");
  if (count < 0) return *this;
  const Node from = ChainNode::of(*this);
  return ChainNode::dataset(std::make_shared<PieceNode>(from, PieceNode::Piece{.end = static_cast<uint64_t>(count)},
                                                        at_most(from->cardinality(), count)));
}

Dataset Dataset::skip(int64_t count) const {
  if (count < -1) fail("skip: count is ", count, ", expected 0 or more, or -1 for all");
  if (count < 0) return take(0);
  const Node from = ChainNode::of(*this);
  return ChainNode::dataset(std::make_shared<PieceNode>(from, PieceNode::Piece{.first = static_cast<uint64_t>(count)},
                                                        without(from->cardinality(), count)));
}

Dataset Dataset::shard(int64_t num_shards, int64_t index) const {
  if (num_shards < 1) fail("shard: num_shards is ", num_shards, ", expected 1 or more");
  if (index < 0 || index >= num_shards) fail("shard: index is ", index, ", expected 0 to ", num_shards - 1);
  const Node from = ChainNode::of(*this);
  const int64_t all = from->cardinality();
  const PieceNode::Piece piece{.first = static_cast<uint64_t>(index), .stride = static_cast<uint64_t>(num_shards)};
  return ChainNode::dataset(
      std::make_shared<PieceNode>(from, piece, all < 0 ? all : (without(all, index) + num_shards - 1) / num_shards));
}

Dataset Dataset::pick(std::vector<int64_t> places) const {
  std::sort(places.begin(), places.end());
  if (std::adjacent_find(places.begin(), places.end()) != places.end()) fail("pick: a place is there twice");
  if (!places.empty() && places[0] < 0) fail("pick: a place is ", places[0], ", expected 0 or more");
  const Node from = ChainNode::of(*this);
  if (const int64_t all = from->cardinality(); all >= 0 && !places.empty() && places.back() >= all)
    fail("pick: there is no place ", places.back(), "; the data have ", all, " elements");
  return ChainNode::dataset(std::make_shared<PickNode>(from, std::move(places)));
}

Dataset Dataset::repeat(int64_t count) const {
  if (count < -1) fail("repeat: count is ", count, ", expected 0 or more, or -1 for ever");
  return ChainNode::dataset(std::make_shared<RepeatNode>(ChainNode::of(*this), count));
}

}  // namespace tenon

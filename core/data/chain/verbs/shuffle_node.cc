#include "base/strings.h"
#include "data/chain/chain_node.h"
#include "data/random_bits.h"

namespace tenon {
namespace {

constexpr uint32_t kShuffleStream = 4;

// Elements wait in a buffer from which each next one is drawn.
class ShuffleNode : public OrderNode {
 public:
  ShuffleNode(Node from, size_t buffer, ShuffleOptions options)
      : OrderNode(std::move(from)), buffer_(buffer), options_(options) {}

  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  uint64_t own_fingerprint() const override {
    return mix_hash(mix_hash(mix_hash(0x5f0ff1e, buffer_), options_.seed), options_.reshuffle_each_iteration);
  }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const ShuffleNode& node, uint64_t pass, ThreadPool* pool)
        : node_(node),
          draws_of_(node.options_.reshuffle_each_iteration ? pass : 0),
          from_(node.from_->open(pass, pool)) {}
    bool next(ElementRef& out) override {
      ElementRef ref;
      while (!ended_ && waiting_.size() < node_.buffer_) {
        ended_ = !from_->next(ref);
        if (!ended_) waiting_.push_back(std::move(ref));
      }
      if (waiting_.empty()) return false;
      const uint64_t bits = philox_bits64(node_.options_.seed, kShuffleStream, draws_of_, drawn_++);
      std::swap(waiting_[scale_bits(bits, waiting_.size())], waiting_.back());
      out = std::move(waiting_.back());
      waiting_.pop_back();
      return true;
    }

   private:
    const ShuffleNode& node_;
    uint64_t draws_of_, drawn_ = 0;
    std::unique_ptr<ElementStream> from_;
    std::vector<ElementRef> waiting_;
    bool ended_ = false;
  };

  size_t buffer_;
  ShuffleOptions options_;
};

}  // namespace

Dataset Dataset::shuffle(int64_t buffer_size, const ShuffleOptions& options) const {
  if (buffer_size < 1) fail("shuffle: buffer_size is ", buffer_size, ", expected 1 or more");
  return ChainNode::dataset(
      std::make_shared<ShuffleNode>(ChainNode::of(*this), static_cast<size_t>(buffer_size), options));
}

}  // namespace tenon

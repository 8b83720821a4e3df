// Values kept as they come the first time.
#include <mutex>
#include <unordered_map>

#include "base/room.h"
#include "base/strings.h"
#include "base/tell.h"
#include "data/chain/cache/disk_cache_node.h"
#include "data/chain/sources/stream_node.h"

namespace tenon {
namespace {

uint64_t bytes_of(const Element& element) {
  uint64_t bytes = 0;
  for (const auto& [name, array] : element) bytes += array.bytes().size() + name.size() + sizeof(Array);
  return bytes;
}

class CacheNode : public VerbNode {
 public:
  using VerbNode::VerbNode;
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  std::string where(const ElementRef& ref) const override { return from_->where(ref.held->parts[0]); }
  int64_t rows(const ElementRef& ref) const override { return from_->rows(ref.held->parts[0]); }
  Element value(const ElementRef& ref) const override { return *shared_value(ref); }
  bool fill(const ElementRef& ref, std::span<const FeatureSpec> specs, Slots& out) const override {
    copy_element(*shared_value(ref), specs, out);
    return true;
  }
  bool random() const override { return false; }
  uint64_t own_fingerprint() const override { return 0xcac4e; }

  std::shared_ptr<const Element> shared_value(const ElementRef& ref) const override {
    {
      const std::lock_guard lock(mutex_);
      const auto found = values_.find(ref.index);
      if (found != values_.end()) return found->second;
    }
    std::shared_ptr<const Element> made = from_->shared_value(ref.held->parts[0]);
    keep(ref.index, made);
    return made;
  }

 private:
  using Order = std::vector<ElementRef>;
  class Stream : public ElementStream {
   public:
    Stream(const CacheNode& node, uint64_t pass, ThreadPool* pool) : node_(node), pass_(pass), known_(node.order()) {
      if (!known_) from_ = node.from_->open(0, pool);
    }
    bool next(ElementRef& out) override {
      ElementRef below;
      if (!read(below)) return false;
      out = {};
      out.index = read_;
      out.place = pass_ * kPlacesAPass + read_++;
      out.pass = static_cast<uint32_t>(pass_);
      HeldElement held;
      held.parts.push_back(std::move(below));
      out.held = std::make_shared<const HeldElement>(std::move(held));
      return true;
    }

   private:
    bool read(ElementRef& below) {
      if (known_) {
        if (read_ == known_->size()) return false;
        below = (*known_)[read_];
        return true;
      }
      if (from_->next(below)) return order_.push_back(below), true;
      node_.know(std::move(order_));
      order_.clear();
      return false;
    }

    const CacheNode& node_;
    uint64_t pass_, read_ = 0;
    std::shared_ptr<const Order> known_;  // of an epoch that was read to its end
    Order order_;
    std::unique_ptr<ElementStream> from_;
  };

  std::shared_ptr<const Order> order() const {
    const std::lock_guard lock(mutex_);
    return order_;
  }
  void know(Order order) const {
    auto all = std::make_shared<const Order>(std::move(order));
    const std::lock_guard lock(mutex_);
    if (!order_) order_ = std::move(all);
  }

  void keep(uint64_t index, std::shared_ptr<const Element> value) const {
    const uint64_t bytes = bytes_of(*value);
    const std::lock_guard lock(mutex_);
    if (full_) return;
    unseen_ += bytes;
    if (unseen_ >= kRoomGranule) {
      full_ = !room_for(unseen_, "cache").ok();
      if (full_)
        tell(cat("cache: ", values_.size(),
                 " elements are kept, and there is no memory for more; the others are read anew"));
      unseen_ = 0;
    }
    if (!full_) values_.emplace(index, std::move(value));
  }

  mutable std::mutex mutex_;
  mutable std::unordered_map<uint64_t, std::shared_ptr<const Element>> values_;
  mutable std::shared_ptr<const Order> order_;
  mutable uint64_t unseen_ = 0;  // bytes that were kept since the room was looked at
  mutable bool full_ = false;
};

}  // namespace

Dataset Dataset::cache(const std::string& path) const {
  const Node from = ChainNode::of(*this);
  if (from->random())
    tell(
        "cache: what is random below it is drawn once, and is the same in each epoch; cache before it for other "
        "numbers");
  return ChainNode::dataset(path.empty() ? std::make_shared<CacheNode>(from) : disk_cache(from, path));
}

}  // namespace tenon

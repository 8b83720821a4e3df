// Windows of elements, and elements of batches.
#include <algorithm>
#include <deque>

#include "base/strings.h"
#include "data/chain/verbs/batch_nodes.h"
#include "data/chain/verbs/map_nodes.h"

namespace tenon {
namespace {

class WindowNode : public VerbNode {
 public:
  WindowNode(Node from, int64_t size, int64_t shift, int64_t stride, bool drops)
      : VerbNode(std::move(from)), size_(size), shift_(shift == 0 ? size : shift), stride_(stride), drops_(drops) {}
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  Element value(const ElementRef& ref) const override {
    std::vector<Element> all;
    for (const ElementRef& part : ref.held->parts) all.push_back(value_at(*from_, part));
    return stack_elements(std::move(all));
  }
  std::string where(const ElementRef& ref) const override { return from_->where(ref.held->parts.at(0)); }
  int64_t rows(const ElementRef& ref) const override { return static_cast<int64_t>(ref.held->parts.size()); }
  int64_t cardinality() const override {
    const int64_t all = from_->cardinality(), span = (size_ - 1) * stride_ + 1;
    if (all < 0) return all;
    if (drops_) return all < span ? 0 : (all - span) / shift_ + 1;
    return (all + shift_ - 1) / shift_;
  }
  uint64_t own_fingerprint() const override {
    uint64_t hash = mix_hash(0x317d03, static_cast<uint64_t>(size_));
    return mix_hash(mix_hash(mix_hash(hash, static_cast<uint64_t>(shift_)), static_cast<uint64_t>(stride_)), drops_);
  }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const WindowNode& node, uint64_t pass, ThreadPool* pool)
        : node_(node), from_(node.from_->open(pass, pool)) {}
    bool next(ElementRef& out) override {
      const auto size = static_cast<size_t>(node_.size_), stride = static_cast<size_t>(node_.stride_);
      read((size - 1) * stride + 1);
      HeldElement held;
      for (size_t i = 0; i < size && i * stride < waiting_.size(); ++i) held.parts.push_back(waiting_[i * stride]);
      if (held.parts.empty() || (node_.drops_ && held.parts.size() < size)) return false;
      out = held.parts[0];
      out.held = std::make_shared<const HeldElement>(std::move(held));
      leave(static_cast<size_t>(node_.shift_));
      return true;
    }

   private:
    void read(size_t count) {
      for (ElementRef ref; waiting_.size() < count && from_->next(ref);) waiting_.push_back(std::move(ref));
    }
    void leave(size_t count) {
      const size_t there = std::min(count, waiting_.size());
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(there));
      ElementRef passed;
      for (size_t i = there; i < count && from_->next(passed); ++i) {
      }
    }
    const WindowNode& node_;
    std::unique_ptr<ElementStream> from_;
    std::deque<ElementRef> waiting_;
  };

  int64_t size_, shift_, stride_;
  bool drops_;
};

class UnbatchNode : public HeldNode {
 public:
  using HeldNode::HeldNode;
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  uint64_t own_fingerprint() const override { return 0x07ba7c4; }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const UnbatchNode& node, uint64_t pass, ThreadPool* pool) : node_(node), from_(*node.from_, pass, pool) {}
    bool next(ElementRef& out) override {
      while (row_ == rows_) {
        Result<Element> value = Status();
        if (!from_.next(ref_, value)) return false;
        batch_ = value.ok() ? value.take() : throw PlacedError(value.status());
        rows_ = placed(node_, ref_, [&] { return rows_of(batch_); });
        row_ = 0;
      }
      Element element;
      for (const auto& [name, array] : batch_) element.emplace(name, array.row(row_));
      out = held(ref_, std::move(element));
      out.place = ref_.place + static_cast<uint64_t>(row_++);
      return true;
    }

   private:
    static int64_t rows_of(const Element& batch) {
      int64_t rows = 0;
      for (const auto& [name, array] : batch) {
        if (array.shape().rank() < 1) fail("unbatch: feature '", name, "' is a scalar, expected a row an element");
        if (&array != &batch.begin()->second && array.dim(0) != rows)
          fail("unbatch: feature '", name, "' has ", array.dim(0), " rows, and '", batch.begin()->first, "' ", rows);
        rows = array.dim(0);
      }
      return rows;
    }
    const UnbatchNode& node_;
    ValuesAhead from_;
    ElementRef ref_;
    Element batch_;
    int64_t row_ = 0, rows_ = 0;
  };
};

}  // namespace

Dataset Dataset::window(int64_t size, int64_t shift, int64_t stride, bool drop_remainder) const {
  if (size < 1) fail("window: size is ", size, ", expected 1 or more");
  if (shift < 0) fail("window: shift is ", shift, ", expected 1 or more, or 0 for the size");
  if (stride < 1) fail("window: stride is ", stride, ", expected 1 or more");
  return ChainNode::dataset(std::make_shared<WindowNode>(ChainNode::of(*this), size, shift, stride, drop_remainder));
}

Dataset Dataset::unbatch() const { return ChainNode::dataset(std::make_shared<UnbatchNode>(ChainNode::of(*this))); }

}  // namespace tenon

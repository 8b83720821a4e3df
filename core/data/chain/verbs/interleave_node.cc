#include <deque>

#include "base/strings.h"
#include "data/chain/verbs/map_nodes.h"

namespace tenon {
namespace {

// Datasets made of elements: some are read in turn, and one that ends gives its place to the next.
class InterleaveNode : public VerbNode {
 public:
  using Fn = std::function<Dataset(const Element&)>;
  InterleaveNode(Node from, Fn fn, int cycle, int block)
      : VerbNode(std::move(from)), fn_(std::move(fn)), cycle_(static_cast<size_t>(cycle)), block_(block) {}

  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  Element value(const ElementRef& ref) const override { return ref.held->node->value(ref.held->parts[0]); }
  std::string where(const ElementRef& ref) const override { return ref.held->node->where(ref.held->parts[0]); }
  int64_t rows(const ElementRef& ref) const override { return ref.held->node->rows(ref.held->parts[0]); }
  bool fill(const ElementRef& ref, std::span<const FeatureSpec> specs, Slots& out) const override {
    return ref.held->node->fill(ref.held->parts[0], specs, out);
  }
  int64_t cardinality() const override {
    return from_->cardinality() == kInfiniteCardinality ? kInfiniteCardinality : kUnknownCardinality;
  }
  bool random() const override { return true; }  // for all that is known
  uint64_t own_fingerprint() const override {
    return mix_hash(mix_hash(0x147e41, cycle_), static_cast<uint64_t>(block_));
  }

 private:
  struct Reader {
    Node node;
    std::unique_ptr<ElementStream> stream;
    uint64_t number;
  };

  class Stream : public ElementStream {
   public:
    Stream(const InterleaveNode& node, uint64_t pass, ThreadPool* pool)
        : node_(node), pass_(pass), pool_(pool), from_(node.from_->open(pass, pool)) {}
    bool next(ElementRef& out) override {
      fill_cycle();
      while (!cycle_.empty()) {
        if (turn_ >= cycle_.size()) turn_ = 0;
        Reader& reader = cycle_[turn_];
        ElementRef inner;
        if (reader.stream->next(inner)) {
          give(reader, std::move(inner), out);
          if (++in_block_ == node_.block_) end_turn();
          return true;
        }
        in_block_ = 0;
        if (std::optional<Reader> other = open_next())
          reader = std::move(*other), end_turn();
        else
          cycle_.erase(cycle_.begin() + static_cast<std::ptrdiff_t>(turn_));
      }
      return false;
    }

   private:
    void end_turn() { ++turn_, in_block_ = 0; }
    void fill_cycle() {
      while (!begun_ && cycle_.size() < node_.cycle_) {
        std::optional<Reader> reader = open_next();
        if (!reader) break;
        cycle_.push_back(std::move(*reader));
      }
      begun_ = true;
    }
    std::optional<Reader> open_next() {
      ElementRef ref;
      if (!from_->next(ref)) return std::nullopt;
      return placed(*node_.from_, ref, [&] {
        Node inner = ChainNode::of(node_.fn_(node_.from_->value(ref)));
        std::unique_ptr<ElementStream> stream = inner->open(pass_, pool_);
        return std::optional<Reader>(Reader{std::move(inner), std::move(stream), opened_++});
      });
    }
    // Places of different datasets differ: other numbers are drawn for them.
    void give(const Reader& reader, ElementRef inner, ElementRef& out) {
      inner.place += reader.number << 40;
      out = {};
      out.place = inner.place;
      out.pass = inner.pass;
      HeldElement held{.node = reader.node};
      held.parts.push_back(std::move(inner));
      out.held = std::make_shared<const HeldElement>(std::move(held));
    }

    const InterleaveNode& node_;
    uint64_t pass_, opened_ = 0;
    ThreadPool* pool_;
    std::unique_ptr<ElementStream> from_;
    std::vector<Reader> cycle_;
    size_t turn_ = 0;
    int in_block_ = 0;
    bool begun_ = false;
  };

  Fn fn_;
  size_t cycle_;
  int block_;
};

}  // namespace

Dataset Dataset::interleave(std::function<Dataset(const Element&)> fn, int cycle_length, int block_length) const {
  if (!fn) fail("interleave: there is no function");
  if (cycle_length < 1) fail("interleave: cycle_length is ", cycle_length, ", expected 1 or more");
  if (block_length < 1) fail("interleave: block_length is ", block_length, ", expected 1 or more");
  return ChainNode::dataset(
      std::make_shared<InterleaveNode>(ChainNode::of(*this), std::move(fn), cycle_length, block_length));
}

}  // namespace tenon

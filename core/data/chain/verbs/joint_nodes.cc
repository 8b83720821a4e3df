// Verbs of several inputs: concatenate, sample_from_datasets, zip.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/strings.h"
#include "data/chain/chain_node.h"
#include "data/random_bits.h"

namespace tenon {
namespace {

constexpr uint32_t kSampleStream = 5;

std::vector<Node> nodes_of(const std::vector<Dataset>& datasets) {
  std::vector<Node> nodes;
  for (const Dataset& data : datasets) nodes.push_back(ChainNode::of(data));
  return nodes;
}

// Elements that are each of one of several inputs, which `choice` tells.
class ChoiceNode : public ChainNode {
 public:
  explicit ChoiceNode(std::vector<Node> inputs) : inputs_(std::move(inputs)) {}
  Element value(const ElementRef& ref) const override { return chosen(ref).value(below(ref)); }
  std::string where(const ElementRef& ref) const override { return chosen(ref).where(below(ref)); }
  int64_t rows(const ElementRef& ref) const override { return chosen(ref).rows(below(ref)); }
  bool fill(const ElementRef& ref, std::span<const FeatureSpec> specs, Slots& out) const override {
    return chosen(ref).fill(below(ref), specs, out);
  }
  std::vector<Node> inputs() const override { return inputs_; }
  int64_t cardinality() const override {
    int64_t sum = 0;
    for (const Node& input : inputs_) {
      const int64_t of_one = input->cardinality();
      if (of_one == kInfiniteCardinality) return of_one;
      sum = of_one < 0 || sum < 0 ? kUnknownCardinality : sum + of_one;
    }
    return sum;
  }

 protected:
  void choose(size_t which, ElementRef& ref) const {
    ref.choice = ref.choice * static_cast<uint32_t>(inputs_.size()) + static_cast<uint32_t>(which);
  }
  std::vector<Node> inputs_;

 private:
  const ChainNode& chosen(const ElementRef& ref) const { return *inputs_[ref.choice % inputs_.size()]; }
  ElementRef below(const ElementRef& ref) const {
    ElementRef out = ref;
    out.choice /= static_cast<uint32_t>(inputs_.size());
    return out;
  }
};

class ConcatenateNode : public ChoiceNode {
 public:
  using ChoiceNode::ChoiceNode;
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  uint64_t own_fingerprint() const override { return 0xc07ca7; }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const ConcatenateNode& node, uint64_t pass, ThreadPool* pool) : node_(node), pass_(pass), pool_(pool) {}
    bool next(ElementRef& out) override {
      for (; at_ < node_.inputs_.size(); ++at_, from_.reset()) {
        if (!from_) from_ = node_.inputs_[at_]->open(pass_, pool_);
        if (from_->next(out)) return node_.choose(at_, out), true;
      }
      return false;
    }

   private:
    const ConcatenateNode& node_;
    uint64_t pass_;
    ThreadPool* pool_;
    size_t at_ = 0;
    std::unique_ptr<ElementStream> from_;
  };
};

class MixNode : public ChoiceNode {
 public:
  MixNode(std::vector<Node> inputs, std::vector<double> weights, SampleOptions options)
      : ChoiceNode(std::move(inputs)), weights_(std::move(weights)), options_(options) {}
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  int64_t cardinality() const override {
    return options_.stop_on_empty_dataset ? kUnknownCardinality : ChoiceNode::cardinality();
  }
  uint64_t own_fingerprint() const override {
    uint64_t hash = mix_hash(mix_hash(0x3a3f1e, options_.seed), options_.stop_on_empty_dataset);
    for (const double w : weights_) hash = mix_hash(hash, static_cast<uint64_t>(w * 0x1p40));
    return hash;
  }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const MixNode& node, uint64_t pass, ThreadPool* pool) : node_(node), pass_(pass), weights_(node.weights_) {
      for (const Node& input : node.inputs_) from_.push_back(input->open(pass, pool));
    }
    bool next(ElementRef& out) override {
      for (;;) {
        const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
        if (sum <= 0) return false;
        const size_t which = draw(sum);
        if (from_[which]->next(out)) return node_.choose(which, out), true;
        if (node_.options_.stop_on_empty_dataset) return false;
        weights_[which] = 0;
      }
    }

   private:
    size_t draw(double sum) {
      const uint64_t bits = philox_bits64(node_.options_.seed, kSampleStream, pass_, drawn_++);
      double at = static_cast<double>(bits >> 11) * 0x1p-53 * sum;
      size_t last = 0;
      for (size_t i = 0; i < weights_.size(); ++i) {
        if (weights_[i] <= 0) continue;
        last = i;
        if (at < weights_[i]) return i;
        at -= weights_[i];
      }
      return last;
    }

    const MixNode& node_;
    uint64_t pass_, drawn_ = 0;
    std::vector<double> weights_;  // 0 of those that have ended
    std::vector<std::unique_ptr<ElementStream>> from_;
  };

  std::vector<double> weights_;
  SampleOptions options_;
};

class ZipNode : public ChainNode {
 public:
  explicit ZipNode(std::vector<Node> inputs) : inputs_(std::move(inputs)) {}
  std::vector<Node> inputs() const override { return inputs_; }
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const override {
    return std::make_unique<Stream>(*this, pass, pool);
  }
  Element value(const ElementRef& ref) const override {
    Element out;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Element of_one = value_at(*inputs_[i], ref.held->parts[i]);
      for (auto& [name, array] : of_one)
        if (!out.emplace(name, std::move(array)).second) fail("zip: two datasets have a feature '", name, "'");
    }
    return out;
  }
  std::string where(const ElementRef& ref) const override { return inputs_[0]->where(ref.held->parts[0]); }
  int64_t rows(const ElementRef& ref) const override { return inputs_[0]->rows(ref.held->parts[0]); }
  int64_t cardinality() const override {
    int64_t least = kInfiniteCardinality;
    for (const Node& input : inputs_) {
      const int64_t of_one = input->cardinality();
      if (of_one == kUnknownCardinality) return of_one;
      if (of_one >= 0) least = least < 0 ? of_one : std::min(least, of_one);
    }
    return least;
  }
  uint64_t own_fingerprint() const override { return 0x21b; }

 private:
  class Stream : public ElementStream {
   public:
    Stream(const ZipNode& node, uint64_t pass, ThreadPool* pool) {
      for (const Node& input : node.inputs_) from_.push_back(input->open(pass, pool));
    }
    bool next(ElementRef& out) override {
      HeldElement held;
      held.parts.resize(from_.size());
      for (size_t i = 0; i < from_.size(); ++i)
        if (!from_[i]->next(held.parts[i])) return false;
      out = held.parts[0];
      out.choice = 0;
      out.held = std::make_shared<const HeldElement>(std::move(held));
      return true;
    }

   private:
    std::vector<std::unique_ptr<ElementStream>> from_;
  };
  std::vector<Node> inputs_;
};

}  // namespace

Dataset Dataset::concatenate(const Dataset& next) const {
  return ChainNode::dataset(std::make_shared<ConcatenateNode>(nodes_of({*this, next})));
}

Dataset Dataset::sample_from_datasets(std::vector<Dataset> datasets, std::vector<double> weights,
                                      const SampleOptions& options) {
  if (datasets.empty()) fail("sample_from_datasets: there is no dataset");
  if (weights.empty()) weights.assign(datasets.size(), 1.0);
  if (weights.size() != datasets.size())
    fail("sample_from_datasets: ", weights.size(), " weights, expected one for each of ", datasets.size(), " datasets");
  for (const double w : weights)
    if (!(w >= 0) || !std::isfinite(w)) fail("sample_from_datasets: a weight is ", w, ", expected 0 or more");
  return ChainNode::dataset(std::make_shared<MixNode>(nodes_of(datasets), std::move(weights), options));
}

Dataset Dataset::zip(std::vector<Dataset> datasets) {
  if (datasets.empty()) fail("zip: there is no dataset");
  return ChainNode::dataset(std::make_shared<ZipNode>(nodes_of(datasets)));
}

}  // namespace tenon

// Elements that a function of the user's gives, one after the other.
#include <algorithm>

#include "base/strings.h"
#include "data/chain/sources/stream_node.h"

namespace tenon {
namespace {

class GeneratorNode : public StreamNode {
 public:
  GeneratorNode(std::function<Dataset::Generator()> begin, int64_t cardinality)
      : begin_(std::move(begin)), cardinality_(cardinality) {}
  int64_t cardinality() const override { return cardinality_; }
  uint64_t own_fingerprint() const override { return 0x6e7e4; }
  uint64_t data_fingerprint() const override { return 0; }

 private:
  class Calls : public Reader {
   public:
    explicit Calls(const GeneratorNode& node) : node_(node) {}
    // What the generator throws ends the run: nobody knows what it would give next.
    Result<bool> next(Element& out, uint64_t& index) override {
      index = given_;
      ElementRef ref;
      ref.index = index;
      std::optional<Element> element = placed(node_, ref, [&] {
        if (!generator_) generator_ = node_.begin_();
        return generator_();
      });
      if (!element) return check_count(), false;
      ++given_;
      out = std::move(*element);
      return true;
    }

   private:
    void check_count() const {
      if (node_.cardinality_ >= 0 && given_ != static_cast<uint64_t>(node_.cardinality_))
        fail("from_generator: the generator gave ", given_, " elements, expected the ", node_.cardinality_,
             " of its cardinality");
    }
    const GeneratorNode& node_;
    uint64_t given_ = 0;
    Dataset::Generator generator_;
  };

  std::unique_ptr<Reader> read() const override { return std::make_unique<Calls>(*this); }
  std::string where_index(uint64_t index) const override { return cat("the generator's element ", index); }

  std::function<Dataset::Generator()> begin_;
  int64_t cardinality_;
};

}  // namespace

Dataset Dataset::from_generator(std::function<Generator()> begin, int64_t cardinality) {
  if (!begin) fail("from_generator: there is no function");
  if (cardinality < kUnknownCardinality) fail("from_generator: cardinality is ", cardinality, ", expected 0 or more");
  return ChainNode::dataset(std::make_shared<GeneratorNode>(std::move(begin), cardinality));
}

Dataset Dataset::range(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) fail("range: step is 0");
  const int64_t count = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
  const ExampleFn number = [start, step](int64_t i, const Sample&, Slots& out) -> Status {
    out.get<int64_t>(0)[0] = start + i * step;
    return {};
  };
  const int64_t some = std::max<int64_t>(count, 1);
  return from_function(some, {{"x", {DType::kI64, {}}}}, number, {}).take().take(count > 0 ? -1 : 0);
}

}  // namespace tenon

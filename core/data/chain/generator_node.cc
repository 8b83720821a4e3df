// Elements that a function of the user's gives, one after the other.
#include "base/text.h"
#include "data/chain/map_nodes.h"

namespace tenon {
namespace {

class GeneratorNode : public ChainNode {
 public:
  GeneratorNode(std::function<Dataset::Generator()> begin, int64_t cardinality)
      : begin_(std::move(begin)), cardinality_(cardinality) {}
  std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool*) const override {
    return std::make_unique<Stream>(*this, pass);
  }
  Element value(const ElementRef& ref) const override { return *ref.held->value; }
  std::shared_ptr<const Element> shared_value(const ElementRef& ref) const override {
    return {ref.held, &*ref.held->value};
  }
  std::string where(const ElementRef& ref) const override { return cat("the generator's element ", ref.index); }
  int64_t cardinality() const override { return cardinality_; }
  uint64_t own_fingerprint() const override { return 0x6e7e4; }
  uint64_t data_fingerprint() const override { return 0; }
  bool random() const override { return false; }

 private:
  static constexpr uint64_t kPlacesAPass = uint64_t{1} << 40;

  class Stream : public ElementStream {
   public:
    Stream(const GeneratorNode& node, uint64_t pass) : node_(node), pass_(pass) {}
    bool next(ElementRef& out) override {
      out = {};
      out.index = read_;
      out.place = pass_ * kPlacesAPass + read_;
      out.pass = static_cast<uint32_t>(pass_);
      if (!generator_) generator_ = node_.begin_();
      std::optional<Element> element = placed(node_, out, [&] { return generator_(); });
      if (!element) return check_count(), false;
      ++read_;
      out = held(std::move(out), std::move(*element));
      return true;
    }

   private:
    void check_count() const {
      if (node_.cardinality_ >= 0 && read_ != static_cast<uint64_t>(node_.cardinality_))
        fail("from_generator: the generator gave ", read_, " elements, expected the ", node_.cardinality_,
             " of its cardinality");
    }
    const GeneratorNode& node_;
    uint64_t pass_, read_ = 0;
    Dataset::Generator generator_;
  };

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
  return from_function(count, {{"x", {DType::kI64, {}}}}, number, {}).take();
}

}  // namespace tenon

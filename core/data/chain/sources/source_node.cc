#include "data/chain/sources/source_node.h"

#include <array>

namespace tenon {
namespace {

class SourceStream : public ElementStream {
 public:
  SourceStream(const Dataset::Impl& data, uint64_t pass)
      : order_(data.source->counts(), data.order), left_(data.size), place_(pass * data.size), pass_(pass) {
    order_.seek(place_);
  }
  bool next(ElementRef& out) override {
    if (left_ == 0) return false;
    --left_;
    const RecordRef ref = order_.next();
    out = {uint64_t{ref.part} << 32 | ref.record, place_++, static_cast<uint32_t>(pass_), 0, nullptr};
    return true;
  }

 private:
  Order order_;
  uint64_t left_, place_, pass_;
};

bool same_specs(std::span<const FeatureSpec> a, std::span<const FeatureSpec> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].name != b[i].name || !(a[i].type == b[i].type)) return false;
  return true;
}

}  // namespace

std::unique_ptr<ElementStream> SourceNode::open(uint64_t pass, ThreadPool*) const {
  return std::make_unique<SourceStream>(*data_, pass);
}

PlannedRow SourceNode::row_of(const ElementRef& ref) const {
  return {{static_cast<uint32_t>(ref.index >> 32), static_cast<uint32_t>(ref.index)},
          {ref.place, ref.pass, data_->options.seed, data_->options.training},
          {}};
}

Element SourceNode::value(const ElementRef& ref) const {
  Element element;
  std::array<void*, kMaxFeatures> rows;
  for (size_t i = 0; i < data_->specs.size(); ++i) {
    const FeatureSpec& spec = data_->specs[i];
    rows[i] = element.emplace(spec.name, Array(spec.type)).first->second.bytes().data();
  }
  Slots out({rows.data(), data_->specs.size()}, data_->bytes);
  check(data_->source->fill(row_of(ref), out));
  return element;
}

bool SourceNode::fill(const ElementRef& ref, std::span<const FeatureSpec> specs, Slots& out) const {
  if (!same_specs(specs, data_->specs)) return false;
  check(data_->source->fill(row_of(ref), out));
  return true;
}

std::string SourceNode::where(const ElementRef& ref) const { return data_->source->where(row_of(ref)); }

}  // namespace tenon

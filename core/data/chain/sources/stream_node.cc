#include "data/chain/sources/stream_node.h"

namespace tenon {

class StreamNode::Stream : public ElementStream {
 public:
  Stream(const StreamNode& node, uint64_t pass) : node_(node), pass_(pass) {}
  bool next(ElementRef& out) override {
    if (!reader_) reader_ = node_.read();
    HeldElement held;
    Element element;
    out = {};
    const Result<bool> more = reader_->next(element, out.index);
    if (more.ok() && !*more) return false;
    held.failed = more.status();
    if (more.ok()) held.value = std::move(element);
    out.held = std::make_shared<const HeldElement>(std::move(held));
    out.place = pass_ * kPlacesAPass + read_++;
    out.pass = static_cast<uint32_t>(pass_);
    return true;
  }

 private:
  const StreamNode& node_;
  uint64_t pass_, read_ = 0;
  std::unique_ptr<Reader> reader_;
};

std::unique_ptr<ElementStream> StreamNode::open(uint64_t pass, ThreadPool*) const {
  return std::make_unique<Stream>(*this, pass);
}

std::shared_ptr<const Element> StreamNode::shared_value(const ElementRef& ref) const {
  if (!ref.held->failed.ok()) throw PlacedError(ref.held->failed);
  return {ref.held, &*ref.held->value};
}

}  // namespace tenon

// What a chain of verbs is inside: a tree of nodes. Each gives, in one thread, an order of references to elements, by arithmetic as
// far as that goes, and makes an element of a reference, in many threads.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/random_bits.h"
#include "tenon/dataset.h"

namespace tenon {

class ChainNode;
struct HeldElement;

// An element that nobody has made yet.
struct ElementRef {
  uint64_t index = 0;   // where the source has it
  uint64_t place = 0;   // at the source since its first pass: Sample::index
  uint32_t pass = 0;    // how often the source was begun before
  uint32_t choice = 0;  // which inputs it came through, of verbs that have several
  std::shared_ptr<const HeldElement> held;
};

struct HeldElement {
  std::vector<ElementRef> parts = {};            // of a batch, a window, a zip
  std::optional<Element> value = {};             // of verbs whose order depends on it
  std::shared_ptr<const ChainNode> node = {};    // of which parts[0] is, where the chain below is made while it runs
  Status failed = {};                            // why a source that is read from front to back has no value
};

// One run through a node's elements. One thread. Throws Error.
class ElementStream {
 public:
  virtual ~ElementStream() = default;
  virtual bool next(ElementRef& out) = 0;  // false: it has ended
};

using Node = std::shared_ptr<const ChainNode>;

// Immutable; all is thread safe. A pool may be null.
class ChainNode : public std::enable_shared_from_this<ChainNode> {
 public:
  virtual ~ChainNode() = default;
  virtual std::unique_ptr<ElementStream> open(uint64_t pass, ThreadPool* pool) const = 0;
  virtual Element value(const ElementRef& ref) const = 0;        // throws Error
  // The same; those that are kept are not copied.
  virtual std::shared_ptr<const Element> shared_value(const ElementRef& ref) const {
    return std::make_shared<const Element>(value(ref));
  }
  virtual std::string where(const ElementRef& ref) const = 0;    // "FILE: record at offset N"
  virtual int64_t cardinality() const = 0;
  virtual std::vector<Node> inputs() const { return {}; }
  // A hash of what decides order and values, without the inputs' and what functions do.
  virtual uint64_t own_fingerprint() const = 0;
  virtual uint64_t data_fingerprint() const;
  // Whether values below depend on random numbers.
  virtual bool random() const;
  // The node whose value of a reference this one's is, for verbs of order alone; else null.
  virtual const ChainNode* same_value() const { return nullptr; }
  // Makes the element straight in a row; false: it has to be copied there.
  virtual bool fill(const ElementRef&, std::span<const FeatureSpec>, Slots&) const { return false; }
  // Elements of a batch that need not be made to know it; -1: no.
  virtual int64_t rows(const ElementRef&) const { return -1; }
  virtual std::vector<std::string> lost() const { return {}; }
  // For the error of data without elements: what this verb left out of them. Reads them all.
  virtual std::string left_out() const { return {}; }

  uint64_t fingerprint() const;

  // Between a Dataset and its node.
  static Node of(const Dataset& data);
  static Dataset dataset(Node node);
};

// The first node that makes values: what lies above are verbs of order.
const ChainNode& value_node(const ChainNode& node);

// node.value, whose errors name the place.
Element value_at(const ChainNode& node, const ElementRef& ref);

// What is thrown gets the place, once.
class PlacedError : public Error {
 public:
  using Error::Error;
};
template <class Fn>
auto placed(const ChainNode& node, const ElementRef& ref, const Fn& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const PlacedError&) {
    throw;
  } catch (const Error& e) {
    const std::string place = node.where(ref);
    const std::string& message = e.status().message();
    throw PlacedError(Status(e.status().code(), message.starts_with(place) ? message : place + ": " + message));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw PlacedError(Status(Code::kInternal, node.where(ref) + ": a function of the chain threw: " + e.what()));
  }
}

// Into a row. Throws Error where the element has other features.
void copy_element(const Element& element, std::span<const FeatureSpec> specs, Slots& out);

// A verb with one input, of which everything is but what it says itself.
class VerbNode : public ChainNode {
 public:
  explicit VerbNode(Node from) : from_(std::move(from)) {}
  Element value(const ElementRef& ref) const override { return from_->value(ref); }
  std::string where(const ElementRef& ref) const override { return from_->where(ref); }
  int64_t cardinality() const override { return from_->cardinality(); }
  std::vector<Node> inputs() const override { return {from_}; }

 protected:
  Node from_;
};

// A verb that moves elements and makes none.
class OrderNode : public VerbNode {
 public:
  using VerbNode::VerbNode;
  const ChainNode* same_value() const override { return from_.get(); }
  bool fill(const ElementRef& ref, std::span<const FeatureSpec> specs, Slots& out) const override {
    return from_->fill(ref, specs, out);
  }
  std::shared_ptr<const Element> shared_value(const ElementRef& ref) const override { return from_->shared_value(ref); }
  int64_t rows(const ElementRef& ref) const override { return from_->rows(ref); }
};

}  // namespace tenon
